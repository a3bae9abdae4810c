#include "core/store/restore.h"

#include "core/log/field_codec.h"
#include "core/log/manifest_codec.h"
#include "core/model/limits.h"
#include "core/store/store_state.h"
#include "core/store/sync_tables.h"
#include "tests/support/prng.h"
#include "tests/support/snapshot_files.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;  // request helpers

// Reads the file, and stores its parts. Stops after `stop_after` parts, as in a crash, and then
// returns an error of the code `internal_error`.
Result<RestoreReport> read(Restore& restore, TestHost& host, std::string_view file,
                           std::size_t chunk = 4096, std::size_t stop_after = SIZE_MAX) {
  std::size_t steps = 0;
  for (std::size_t at = 0; at < file.size(); at += chunk) {
    restore.add(file.substr(at, chunk));
    while (true) {
      auto part = restore.next_part();
      if (!part.ok()) return part.error();
      if (!part->has_value()) break;
      if (steps++ == stop_after) return Error(ErrorCode::internal_error);
      host.parts[(*part)->id] = std::move((*part)->bytes);
    }
  }
  return restore.finish_reading();
}

Result<RestoreReport> read(Restore& restore, std::string_view file, std::size_t chunk = 4096) {
  TestHost host;
  return read(restore, host, file, chunk);
}

// Replaces the store's content. Returns false if it stopped after `stop_after` steps, as in a
// crash.
bool replace(Restore& restore, Store& store, TestHost& host,
             const std::optional<ClientCall>& call = std::nullopt,
             std::size_t stop_after = SIZE_MAX) {
  if (!restore.begin_replace(call)) return true;
  CHECK(restore.unused_parts().empty());
  CHECK(!host.next_part(store).has_value());
  if (stop_after == 0) return false;
  FinishedCheckpoint end = store.finish_checkpoint(no_history);
  host.manifest = std::move(end.manifest);
  host.segments.erase(host.segments.begin(), host.segments.lower_bound(end.first_live_sequence));
  for (const PartId id : end.obsolete_parts) host.parts.erase(id);
  if (stop_after == 1) return false;
  store.mark_checkpoint_committed();
  return true;
}

void merge(Restore& restore, Store& store, TestHost& host, Ticks now = noon) {
  while (true) {
    const auto staged = host.with_parts(store, [&] { return restore.stage_merge_chunk(now); });
    REQUIRE_FALSE(std::holds_alternative<Error>(staged));
    if (std::get<Restore::Merge>(staged) == Restore::Merge::done) break;
    host.store_pending(store);
    store.publish();
  }
}

// Makes a store with tables of many rows and partitions.
Store filled(std::uint64_t seed) {
  Prng prng(seed);
  Store store = new_store();
  publish(store,
          {create("people"),
           create("Zoo"),
           create("none"),
           {std::nullopt, WriteTableAcl{"Zoo", {{"id", noon, std::nullopt, "ra"}}}},
           {std::nullopt, WriteServiceProperties{[](const std::string&) { return "<s/>"; }}}});
  for (int i = 0; i < 2000; ++i) {
    Operation put = operation(OperationKind::insert_or_replace, "p" + std::to_string(prng.below(5)),
                              "r" + std::to_string(prng.below(900)), i);
    if (prng.chance(3))
      put.properties.push_back({"a", Value::of_string(std::string(prng.below(3000), 'a'))});
    if (prng.chance(3)) put.properties.push_back({"z", Value::of_double(0.5)});
    publish(store, {write(prng.chance(2) ? "people" : "Zoo", std::move(put))}, noon + i);
  }
  return store;
}

}  // namespace

TEST_CASE("replacing a store by a snapshot makes it equal") {
  constexpr std::uint64_t seed = 4;
  CAPTURE(seed);
  Store source = filled(seed);
  const std::string file = TestHost().snapshot(source);
  Store target = new_store();
  TestHost host;
  publish(target, {create("old"), create("People"), insert("People", "p", "gone")});
  host.store_pending(target);
  Restore restore(target);
  const auto report = read(restore, host, file);
  REQUIRE(report.ok());
  CHECK(report->tables == 3);
  CHECK(report->entities == source.stats().rows);
  REQUIRE(replace(restore, target, host));
  CHECK(target.verify().empty());
  CHECK((TestHost().snapshot(target) == file));
  CHECK(host.segments.empty());
  const auto reopened = host.open();
  REQUIRE(reopened.ok());
  CHECK(reopened->damage().empty());
  CHECK(reopened->verify().empty());
  CHECK((TestHost().snapshot(const_cast<Store&>(*reopened)) == file));
  // The store continues with writes, checkpoints and timestamps newer than all existing ones.
  for (int i = 0; i < 50; ++i)
    publish(target, {upsert("people", "p1", "r" + std::to_string(i))}, 1);
  const auto answer = target.get("people", {"p1", "r1"});
  CHECK(std::get<PinnedRow>(answer).row.timestamp() > noon + 1999);
  host.store_pending(target);
  REQUIRE(host.checkpoint(target));
  auto again = host.open();
  REQUIRE(again.ok());
  CHECK(again->damage().empty());
  CHECK((TestHost().snapshot(*again) == TestHost().snapshot(target)));
  CHECK(host.parts.size() == again->begin_recovery(*host.manifest)->size());
}

TEST_CASE("a crash during a replacement leaves the old or the new content") {
  Store source = filled(5);
  const std::string file = TestHost().snapshot(source);
  bool finished = false;
  std::size_t new_ones = 0;
  std::size_t parts = SIZE_MAX;  // the steps before the manifest is stored
  for (std::size_t stop = 0; !finished; ++stop) {
    Store target = new_store();
    TestHost host;
    publish(target, {create("old"), insert("old", "p", "r", 5)});
    host.store_pending(target);
    REQUIRE(host.checkpoint(target));
    publish(target, {insert("old", "p", "s", 6)});
    host.store_pending(target);
    const std::string before = TestHost().snapshot(target);
    Restore restore(target);
    const bool whole = read(restore, host, file, 4096, stop).ok();
    if (whole) parts = std::min(parts, stop);
    finished = whole && replace(restore, target, host, std::nullopt, stop - parts);
    auto reopened = host.open();
    REQUIRE(reopened.ok());
    CAPTURE(stop);
    CHECK(reopened->damage().empty());
    const std::string after = host.snapshot(*reopened);
    CHECK((after == before || after == file));
    if (after == file) ++new_ones;
  }
  CHECK((parts > 2 && parts < 1000));
  CHECK(new_ones == 2);  // the last two runs: the manifest was stored
}

TEST_CASE("an abandoned replacement changes nothing") {
  Store source = filled(6);
  Store target = new_store();
  TestHost host;
  publish(target, {create("old"), insert("old", "p", "r", 5)});
  host.store_pending(target);
  const std::string before = TestHost().snapshot(target);
  Restore restore(target);
  REQUIRE(read(restore, host, TestHost().snapshot(source)).ok());
  const std::vector<PartId> parts = restore.unused_parts();
  REQUIRE(parts.size() == host.parts.size());
  REQUIRE(restore.begin_replace(std::nullopt));
  CHECK(target.abandon_checkpoint() == parts);
  for (const PartId id : parts) host.parts.erase(id);
  CHECK((TestHost().snapshot(target) == before));
  publish(target, {insert("old", "p", "s", 5)});
  host.store_pending(target);
  REQUIRE(host.checkpoint(target));
  CHECK(host.parts.begin()->first > parts.back());
  CHECK(rows_of(*host.open(), "old") == rows_of(target, "old"));
}

TEST_CASE("checkpoints during a restore keep its parts, and use other ids") {
  Store source = filled(11);
  const std::string file = TestHost().snapshot(source);
  Store target = new_store();
  TestHost host;
  publish(target, {create("old"), insert("old", "p", "r", 5)});
  host.store_pending(target);
  Restore restore(target);
  for (std::size_t at = 0, writes = 0; at < file.size(); at += 100'000) {
    restore.add(std::string_view(file).substr(at, 100'000));
    while (true) {
      auto part = restore.next_part();
      REQUIRE(part.ok());
      if (!part->has_value()) break;
      CHECK(host.parts.emplace((*part)->id, std::move((*part)->bytes)).second);
      publish(target, {upsert("old", "p", "s" + std::to_string(++writes))});
      host.store_pending(target);
      REQUIRE(host.checkpoint(target));
    }
  }
  REQUIRE(restore.finish_reading().ok());
  CHECK(rows_of(*host.open(), "old") == rows_of(target, "old"));
  REQUIRE(replace(restore, target, host));
  CHECK((host.snapshot(target) == file));
  auto reopened = host.open();
  REQUIRE(reopened.ok());
  CHECK((host.snapshot(*reopened) == file));
  CHECK(host.parts.size() == reopened->begin_recovery(*host.manifest)->size());
}

TEST_CASE("a restore keeps few rows in memory") {
  Store source = new_store();
  publish(source, {create("big")});
  for (int i = 0; i < 4000; ++i) {
    Operation put = operation(OperationKind::insert, "p" + std::to_string(i / 1000),
                              std::to_string(10'000 + i));
    put.properties.push_back({"text", Value::of_string(std::string(1000, 'x'))});
    publish(source, {write("big", std::move(put))});
  }
  const std::string file = TestHost().snapshot(source);
  constexpr std::uint64_t limit = 1'000'000;
  for (const bool merges : {false, true}) {
    Store target = new_store();
    target.set_memory_limit(limit);
    TestHost host;
    std::uint64_t peak = 0;
    const auto note = [&] {
      target.enforce_memory_limit();
      peak = std::max(peak, target.memory_bytes() + memory_of(target.state().restored->catalog()));
    };
    Restore restore(target);
    for (std::size_t at = 0; at < file.size(); at += 100'000) {
      restore.add(std::string_view(file).substr(at, 100'000));
      for (auto part = restore.next_part(); part->has_value(); part = restore.next_part()) {
        host.parts[(*part)->id] = std::move((*part)->bytes);
        note();
      }
    }
    REQUIRE(restore.finish_reading().ok());
    if (!merges) {
      CHECK(peak < 700'000);
      REQUIRE(replace(restore, target, host));
      CHECK(target.memory_bytes() < 700'000);
      CHECK(target.state().has_unloaded_parts);
    } else {
      while (true) {
        auto staged = restore.stage_merge_chunk(noon);
        if (const auto* need = std::get_if<PartsNeeded>(&staged)) {
          host.load_parts(target, need->ids);
          peak = std::max(peak, memory_of(target.state().restored->catalog()));
          continue;
        }
        if (std::get<Restore::Merge>(staged) == Restore::Merge::done) break;
        host.store_pending(target);
        target.publish();
        REQUIRE(host.checkpoint(target));
        note();
      }
      CHECK(peak < limit + 1'500'000);
    }
    CHECK(target.stats().rows == 4000);
    CHECK((rows_of(*host.open(), "big") == rows_of(source, "big")));
  }
}

TEST_CASE("a part of the file that is lost before it is merged is an error, not damage") {
  Store source = filled(12);
  Store target = new_store();
  target.set_memory_limit(1);
  TestHost host;
  Restore restore(target);
  REQUIRE(read(restore, host, TestHost().snapshot(source)).ok());
  target.enforce_memory_limit();
  host.parts.clear();
  const auto stage = [&] { return restore.stage_merge_chunk(noon); };
  auto staged = host.with_parts(target, stage);  // creates a table without rows
  REQUIRE(!std::holds_alternative<Error>(staged));
  target.publish();
  staged = host.with_parts(target, stage);
  REQUIRE(std::holds_alternative<Error>(staged));
  CHECK(std::get<Error>(staged).code == ErrorCode::corrupted);
  CHECK(!target.is_damaged());
}

TEST_CASE("a replacement that is sent again is done once") {
  Store source = filled(7);
  const std::string file = TestHost().snapshot(source);
  const ClientCall call{ClientId{1, 2, 3}, 9, {}};
  Store target = new_store();
  TestHost host;
  Restore first(target);
  REQUIRE(read(first, host, file).ok());
  REQUIRE(replace(first, target, host, call));
  auto next_owner = host.open();
  REQUIRE(next_owner.ok());
  publish(*next_owner, {insert("none", "p", "r", 5)});
  host.store_pending(*next_owner);
  for (Store* store : {&target, &*next_owner}) {
    const std::string before = TestHost().snapshot(*store);
    Restore restore(*store);
    REQUIRE(read(restore, host, file).ok());
    CHECK(!restore.begin_replace(call));
    CHECK(!restore.unused_parts().empty());
    CHECK((TestHost().snapshot(*store) == before));
  }
}

TEST_CASE("damaged snapshots change nothing") {
  Store source = new_store();
  publish(source, {create("people"), insert("people", "p", "1", 7), insert("people", "q", "1", 7)});
  const std::string file = TestHost().snapshot(source);
  Store target = new_store();
  publish(target, {create("old"), insert("old", "p", "r", 5)});
  const std::string before = TestHost().snapshot(target);
  for_each_damage(file, [&](const std::string& what, const std::string& damaged) {
    Restore restore(target);
    const auto report = read(restore, damaged, 50);
    if (!report.ok() && report.error().code == ErrorCode::corrupted) return;
    CAPTURE(what);
    REQUIRE(!report.ok());
    REQUIRE(report.error().code == ErrorCode::corrupted);
  });
  CHECK((TestHost().snapshot(target) == before));
  Restore newer_restore(target);
  const auto newer =
      read(newer_restore, file_of(FileKind::snapshot, records_of(file), format_major + 1, 0));
  REQUIRE(!newer.ok());
  CHECK(newer.error().code == ErrorCode::format_too_new);
}

TEST_CASE("bytes after the end of a file are rejected when they arrive") {
  Store target = new_store();
  Store source = filled(4);
  const std::string file = TestHost().snapshot(source);
  Restore restore(target);
  restore.add(file);
  while (true) {
    const auto part = restore.next_part();
    REQUIRE(part.ok());
    if (!part->has_value()) break;
  }
  CHECK(restore.finish_reading().ok());
  restore.add("x");
  const auto part = restore.next_part();
  REQUIRE(!part.ok());
  CHECK(part.error().code == ErrorCode::corrupted);
}

TEST_CASE("a crafted snapshot is rejected before it is replaced or merged") {
  Store target = new_store();
  const auto error_of = [&](const SnapshotContent& content) {
    Restore restore(target, [](std::string_view document) { return document == "<s/>"; });
    const auto report = read(restore, bytes_of(content));
    if (!report.ok()) CHECK(report.error().code == ErrorCode::corrupted);
    return report.ok() ? std::string() : report.error().message;
  };
  const auto ends_with = [](const std::string& text, std::string_view end) {
    CAPTURE(text);
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
  };
  const AccessPolicy good{"a", std::nullopt, std::nullopt, "raud"};
  const AccessPolicy bad{"a", std::nullopt, std::nullopt, "zzz"};
  SnapshotContent content;
  content.header = {1, 1, "<s/>"};
  content.tables = {{{"abc", {good}, 1}, {{EntityKey("p", "r"), 1, {}}}}};
  CHECK(error_of(content).empty());
  content.tables[0].info.acl = {bad};
  CHECK(ends_with(error_of(content), "the permission of an access policy is not allowed"));
  content.tables[0].info.acl = {good, good};
  CHECK(ends_with(error_of(content), "two access policies have the same id"));
  content.tables[0].info.acl = {};
  content.header.service_properties = "<other/>";
  CHECK(error_of(content) == "the service properties are not such a document");
  content.header.service_properties = "<s/>";
  content.tables[0].rows[0].timestamp = limits::date_time_ticks_max - 200;
  CHECK(error_of(content).empty());
  content.tables[0].rows[0].timestamp = limits::date_time_ticks_max - 199;
  CHECK(error_of(content) == "the timestamp of a row is later than any that is issued");
}

TEST_CASE("a snapshot needs no more table ids than the store has left") {
  SnapshotContent content;
  content.header = {1, 0, ""};
  content.tables = {{{"abc", {}, 0}, {}}};
  for (const TableId left : {1, 0}) {
    Manifest manifest;
    manifest.next_table = table_id_max + 1 - left;
    Store target;
    REQUIRE(target.begin_recovery(encode_manifest(manifest)).ok());
    target.finish_recovery();
    Restore restore(target);
    const auto report = read(restore, bytes_of(content));
    CHECK(report.ok() == (left == 1));
    if (!report.ok()) {
      CHECK(report.error().message == "there are more tables than the store has ids left");
    }
  }
}

// A group of them would be too large to be pushed to Cosmos DB.
TEST_CASE("merging into a synced table writes each row by itself") {
  Store source = new_store();
  publish(source, {create("people")});
  for (const std::string row : {"a", "b"}) {
    Operation put = operation(OperationKind::insert, "p", row);
    for (int i = 0; i < 16; ++i)
      put.properties.push_back(
          {"b" + std::to_string(i), Value::of_binary(std::string(60'000, 'b'))});
    publish(source, {write("people", std::move(put))});
  }
  Store target = new_store();
  TestHost host;
  SyncTables(target).enable();
  publish(target, {create("people"), SyncTables::start("people")});
  SyncedChanges remote{"people", target.last_commit(), {}};
  remote.rows.push_back({HiddenTable::state, EntityKey("client remote", ""), false, 0,
                         std::vector<Property>{{"V0", Value::of_binary(R"([1,"cosmos"])")}}});
  publish(target, {SyncTables::apply(remote)});
  host.store_pending(target);
  Restore restore(target);
  REQUIRE(read(restore, host, TestHost().snapshot(source)).ok());
  const std::uint64_t before = target.last_commit();
  merge(restore, target, host);
  CHECK(rows_of(target, "people") == "a=0 b=0");
  CHECK(target.last_commit() == before + 2);
}

TEST_CASE("merging keeps other rows and writes the snapshot's rows") {
  constexpr std::uint64_t seed = 8;
  CAPTURE(seed);
  Store source = filled(seed);
  Store target = new_store();
  TestHost host;
  publish(target, {create("PEOPLE"), insert("PEOPLE", "mine", "r", 5),
                   upsert("PEOPLE", "p1", "r1", -1), create("old"), insert("old", "p", "r")});
  host.store_pending(target);
  const std::uint64_t before = target.stats().rows;
  const auto there = source.get("people", {"p1", "r1"});
  Restore restore(target);
  REQUIRE(read(restore, host, TestHost().snapshot(source)).ok());
  merge(restore, target, host, noon + 5000);
  CHECK(target.verify().empty());
  const bool both = std::holds_alternative<PinnedRow>(there);
  CHECK(target.stats().rows == before + source.stats().rows - (both ? 1 : 0));
  CHECK(target.tables(Filter{}, 100, "")->names ==
        std::vector<std::string>{"none", "old", "PEOPLE", "Zoo"});
  CHECK(*target.table_acl("Zoo") == *source.table_acl("Zoo"));
  CHECK(target.service_properties().empty());
  CHECK(rows_of(target, "Zoo") == rows_of(source, "Zoo"));
  if (both) {
    const auto row = target.get("people", {"p1", "r1"});
    CHECK(std::get<PinnedRow>(row).row.timestamp() > noon + 4999);
  }
  auto reopened = host.open();
  REQUIRE(reopened.ok());
  CHECK(reopened->damage().empty());
  CHECK((TestHost().snapshot(*reopened) == TestHost().snapshot(target)));
}

TEST_CASE("merging creates a table again that was dropped meanwhile") {
  Store source = new_store();
  publish(source, {create("big")});
  for (int i = 0; i < 1000; ++i) {
    Operation put = operation(OperationKind::insert, "p", std::to_string(10'000 + i));
    put.properties.push_back({"text", Value::of_string(std::string(3000, 'x'))});
    publish(source, {write("big", std::move(put))});
  }
  Store target = new_store();
  Restore restore(target);
  REQUIRE(read(restore, TestHost().snapshot(source)).ok());
  const auto merge_more = [&] {
    return std::get<Restore::Merge>(restore.stage_merge_chunk(noon)) == Restore::Merge::staged;
  };
  REQUIRE(merge_more());
  target.publish();
  const std::uint64_t first = target.stats().rows;
  CHECK((first > 100 && first < 300));
  publish(target, {drop("big")});
  while (merge_more()) target.publish();
  CHECK(target.stats().rows == 1000 - first);
}

}  // namespace entitable
