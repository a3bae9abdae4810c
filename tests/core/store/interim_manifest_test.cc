// Interim manifests of core/store/checkpoint.h: the log is applied again to rows that contain it.

#include "core/store/checkpoint.h"
#include "core/store/restore.h"
#include "core/store/snapshot_export.h"
#include "core/store/store_state.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;  // request helpers

std::string row_name(std::size_t number) {
  std::string digits = std::to_string(number);
  return std::string(4 - digits.size(), '0') + digits;
}

Operation put(std::size_t number, std::int32_t value) {
  Operation result = operation(OperationKind::insert_or_replace, "p", row_name(number), value);
  result.properties.push_back({"text", Value::of_string(std::string(500, 'x'))});
  return result;
}

// A row of which few fit in a leaf.
Operation put_large(const std::string& row, std::int32_t value) {
  Operation result = operation(OperationKind::insert_or_replace, "p", row, value);
  result.properties.push_back({"text", Value::of_string(std::string(1900, 'x'))});
  return result;
}

// Requires that the host has the part that each of the rows needs.
void require_stored_parts(const Store& store, const TestHost& host,
                          const std::vector<std::string>& rows) {
  for (const std::string& row : rows) {
    const auto found = store.get("aaa", KeyView{"p", row});
    if (const auto* need = std::get_if<PartsNeeded>(&found)) {
      INFO("row " << row << " needs part " << need->ids[0]);
      REQUIRE(host.parts.count(need->ids[0]) == 1);
    }
  }
}

// Puts the rows below `rows`.
void fill(Store& store, const std::string& table, std::size_t rows, std::int32_t value) {
  for (std::size_t i = 0; i < rows; ++i) publish(store, {write(table, put(i, value))});
}

std::uint64_t bytes_of(const std::map<PartId, std::string>& parts) {
  std::uint64_t bytes = 0;
  for (const auto& [id, file] : parts) bytes += file.size();
  return bytes;
}

// A store of several tables in small parts, which a checkpoint covers. Then come changes of every
// kind, which only the log holds.
struct ChangedStore {
  Store store = new_store();
  TestHost host;
  std::string content;

  ChangedStore() {
    store.set_part_bytes(20'000);
    publish(store, {create("aaa"), create("dropped"), create("again"), create("zzz")});
    for (const char* table : {"aaa", "dropped", "again", "zzz"}) fill(store, table, 300, 1);
    host.store_pending(store);
    REQUIRE(host.checkpoint(store));
    publish(store, {drop("dropped"), drop("again"), create("again"), create("new")});
    fill(store, "again", 50, 2);
    fill(store, "new", 200, 2);
    for (std::size_t i = 0; i < 300; i += 3) {
      publish(store, {test::remove("aaa", "p", row_name(i)), write("zzz", put(i, 3))});
      publish(store, {write("aaa", put(i + 1, 4)), test::remove("zzz", "p", row_name(i + 1))});
    }
    // Created and erased since the checkpoint, so no part has this row.
    publish(store, {write("aaa", put(1000, 5)), write("zzz", put(1000, 5))});
    publish(store, {test::remove("aaa", "p", row_name(1000))});
    host.store_pending(store);
    content = host.snapshot(store);
  }

  // Stores the next part of the checkpoint. Returns false if there is none.
  bool store_part() {
    auto part = host.next_part(store);
    if (!part.has_value()) return false;
    host.parts[part->id] = std::move(part->bytes);
    store.mark_checkpoint_part_stored();
    return true;
  }

  // Opens the files, as after a crash.
  void require_same_after_crash() const {
    for (const auto load : {TestHost::Load::all_parts, TestHost::Load::on_demand}) {
      auto reopened = host.open(load);
      REQUIRE(reopened.ok());
      host.load_parts(*reopened, reopened->parts_with_inexact_counts());
      REQUIRE(reopened->damage().empty());
      REQUIRE(reopened->stats().rows == store.stats().rows);
      REQUIRE(reopened->stats().bytes == store.stats().bytes);
      REQUIRE(host.snapshot(*reopened) == content);
      REQUIRE(reopened->verify().empty());
    }
  }
};

}  // namespace

TEST_CASE("after each interim manifest the log gives the same content") {
  ChangedStore changed;
  auto& [store, host, content] = changed;
  const auto segments = host.segments;
  const std::uint64_t bytes_before = bytes_of(host.parts);
  std::uint64_t bytes_max = 0;
  std::size_t interim = 0;
  REQUIRE(store.begin_checkpoint());
  while (changed.store_part()) {
    if (host.interim_checkpoint(store)) ++interim;
    bytes_max = std::max(bytes_max, bytes_of(host.parts));
    CHECK(host.segments == segments);
    changed.require_same_after_crash();
  }
  CHECK(interim > 10);
  // All rows are written again, but the parts never take up twice the space: only the new table
  // and the parts of one round are stored in addition.
  CHECK(bytes_max < bytes_before);
  host.commit_checkpoint(store);
  CHECK(host.segments.empty());
  changed.require_same_after_crash();
  CHECK(host.snapshot(store) == content);
}

TEST_CASE("a crash while an interim manifest is stored changes nothing") {
  for (const std::size_t stop : {0, 1}) {
    ChangedStore changed;
    REQUIRE(changed.store.begin_checkpoint());
    for (int i = 0; i < 3; ++i) REQUIRE(changed.store_part());
    CHECK_FALSE(changed.host.interim_checkpoint(changed.store, stop));
    changed.require_same_after_crash();
  }
}

TEST_CASE("an abandoned checkpoint keeps what its interim manifests have replaced") {
  ChangedStore changed;
  auto& [store, host, content] = changed;
  const std::size_t parts = GENERATE(range<std::size_t>(1, 30));
  const bool fails = GENERATE(false, true);
  REQUIRE(store.begin_checkpoint());
  for (std::size_t i = 0; i < parts; ++i) {
    if (!changed.store_part()) break;
    if (i % 3 == 2) host.interim_checkpoint(store);
  }
  std::optional<InterimCheckpoint> failed;
  if (fails) failed = store.interim_checkpoint();
  const std::vector<PartId> unneeded = store.abandon_checkpoint();
  if (failed.has_value() && failed->extra_part.has_value()) {
    CHECK(unneeded == std::vector<PartId>{failed->extra_part->id});
  }
  for (const PartId id : unneeded) host.parts.erase(id);
  changed.require_same_after_crash();
  store.set_memory_limit(1);
  store.enforce_memory_limit();
  CHECK(host.snapshot(store) == content);
  CHECK(store.damage().empty());
  store.set_memory_limit(0);
  REQUIRE(host.checkpoint(store));
  changed.require_same_after_crash();
}

TEST_CASE("parts that an interim manifest has removed are not needed, though memory is short") {
  ChangedStore changed;
  auto& [store, host, content] = changed;
  store.set_memory_limit(1);
  store.enforce_memory_limit();
  REQUIRE(store.begin_checkpoint());
  while (changed.store_part()) {
    store.enforce_memory_limit();
    host.interim_checkpoint(store);
    CHECK(host.snapshot(store) == content);
    REQUIRE(store.damage().empty());
    changed.require_same_after_crash();
  }
  host.commit_checkpoint(store);
  changed.require_same_after_crash();
}

// The rows inserted below the first row of a part are in leaves of their own. The part is then
// whole in memory, but starts above the lower bound that the manifest lists.
TEST_CASE("a part with an overlay may be unloaded after an extra part has replaced it") {
  const std::size_t at = GENERATE(5, 8, 10);
  const std::size_t inserted = GENERATE(3, 7, 12);
  INFO("inserted " << inserted << " rows at " << at);
  TestHost host;
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < 100; ++i) rows.push_back(row_name(i) + "m");
  {
    Store first = new_store();
    first.set_part_bytes(20'000);
    publish(first, {create("aaa")});
    for (const std::string& row : rows) publish(first, {write("aaa", put_large(row, 1))});
    host.store_pending(first);
    REQUIRE(host.checkpoint(first));
    // Changes of each part, which only the log holds.
    for (std::size_t i = 3; i < rows.size(); i += 5)
      publish(first, {write("aaa", put_large(rows[i], 2))});
    host.store_pending(first);
  }
  auto opened = host.open(TestHost::Load::on_demand);
  REQUIRE(opened.ok());
  Store& store = *opened;
  store.set_part_bytes(20'000);
  host.snapshot(store);  // loads all parts
  for (std::size_t i = 0; i < inserted; ++i) {
    const std::string row = row_name(at) + "a" + row_name(i);
    host.stage_and_publish(store, write("aaa", put_large(row, 3)), 0);
  }
  host.store_pending(store);
  const std::string content = host.snapshot(store);
  REQUIRE(store.begin_checkpoint());
  while (auto part = host.next_part(store)) {
    host.parts[part->id] = std::move(part->bytes);
    store.mark_checkpoint_part_stored();
    if (!host.interim_checkpoint(store)) continue;
    store.set_memory_limit(1);
    store.enforce_memory_limit();
    require_stored_parts(store, host, rows);
    REQUIRE(host.snapshot(store) == content);
    REQUIRE(store.damage().empty());
    store.set_memory_limit(0);
  }
  host.commit_checkpoint(store);
  CHECK(host.snapshot(store) == content);
}

TEST_CASE("there is no interim manifest while the log lacks commits of the checkpoint") {
  ChangedStore changed;
  publish(changed.store, {test::remove("aaa", "p", row_name(1))});  // deferred: not stored yet
  REQUIRE(changed.store.begin_checkpoint());
  for (int i = 0; i < 5; ++i) REQUIRE(changed.store_part());
  CHECK_FALSE(changed.store.interim_checkpoint().has_value());
  changed.host.store_pending(changed.store);
  CHECK(changed.store.interim_checkpoint().has_value());
}

TEST_CASE("there is no interim manifest that removes no parts") {
  ChangedStore changed;
  REQUIRE(changed.store.begin_checkpoint());
  // The dropped tables are part of the first round.
  REQUIRE(changed.host.interim_checkpoint(changed.store));
  CHECK_FALSE(changed.store.interim_checkpoint().has_value());
  changed.require_same_after_crash();
}

TEST_CASE("a snapshot and a restore exclude interim manifests") {
  ChangedStore changed;
  auto& [store, host, content] = changed;
  SECTION("snapshot") {
    const SnapshotExport snapshot(store);
    REQUIRE(store.begin_checkpoint());
    for (int i = 0; i < 5; ++i) REQUIRE(changed.store_part());
    CHECK_FALSE(store.interim_checkpoint().has_value());
  }
  SECTION("restore") {
    Restore restore(store);
    REQUIRE(host.store_parts(restore, content).ok());
    REQUIRE(restore.finish_reading().ok());
    REQUIRE(restore.begin_replace(std::nullopt));
    CHECK_FALSE(store.interim_checkpoint().has_value());
    CHECK_FALSE(changed.store_part());
    CHECK_FALSE(store.interim_checkpoint().has_value());
    host.commit_checkpoint(store);
    changed.require_same_after_crash();
  }
}

TEST_CASE("interim manifests keep the parts of a file that is being restored apart") {
  ChangedStore changed;
  auto& [store, host, content] = changed;
  Restore restore(store);
  const auto half = content.size() / 2;
  REQUIRE(host.store_parts(restore, std::string_view(content).substr(0, half)).ok());
  REQUIRE_FALSE(restore.unused_parts().empty());
  REQUIRE(store.begin_checkpoint());
  std::size_t interim = 0;
  for (int i = 0; i < 5; ++i) {
    REQUIRE(changed.store_part());
    if (host.interim_checkpoint(store)) ++interim;
  }
  CHECK(interim > 0);
  REQUIRE(host.store_parts(restore, std::string_view(content).substr(half)).ok());
  while (changed.store_part()) host.interim_checkpoint(store);
  changed.require_same_after_crash();
  host.commit_checkpoint(store);
  for (const PartId id : restore.unused_parts()) CHECK(host.parts.count(id) == 1);
  changed.require_same_after_crash();
  REQUIRE(restore.finish_reading().ok());
  REQUIRE(restore.begin_replace(std::nullopt));
  REQUIRE(host.write_checkpoint(store));
  changed.require_same_after_crash();
  CHECK(host.snapshot(store) == content);
  CHECK(store.damage().empty());
}

TEST_CASE("a part that a snapshot keeps during interim manifests is deleted after it") {
  ChangedStore changed;
  auto& [store, host, content] = changed;
  REQUIRE(store.begin_checkpoint());
  for (int i = 0; i < 3; ++i) REQUIRE(changed.store_part());
  host.interim_checkpoint(store);
  {
    const SnapshotExport first(store);
    SnapshotExport second(store);
    while (changed.store_part()) CHECK_FALSE(host.interim_checkpoint(store));
    host.commit_checkpoint(store);
    store.set_memory_limit(1);
    store.enforce_memory_limit();
    std::string file;
    while (true) {
      const auto chunk = host.with_parts(store, [&] { return second.next_chunk(); });
      const auto* bytes = std::get_if<std::string>(&chunk);
      if (bytes == nullptr) break;
      file += *bytes;
      store.enforce_memory_limit();
    }
    CHECK(file == content);
    CHECK(store.damage().empty());
  }
  store.set_memory_limit(0);
  host.stage_and_publish(store, write("zzz", put(2, 3)), noon);
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  CHECK(host.parts.size() == store.state().parts.ids().size());
  CHECK(host.open()->damage().empty());
}

}  // namespace entitable
