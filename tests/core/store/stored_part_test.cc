// Tests parts that are loaded on demand: a part that is not needed stays on disk, and a part that
// is needed is in memory for the next call.
#include "core/store/stored_part.h"

#include <optional>
#include <set>
#include <utility>

#include "core/store/restore.h"
#include "core/store/snapshot_export.h"
#include "core/store/store_state.h"
#include "tests/support/log_files.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;  // request helpers

constexpr int rows = 400;

std::string row_name(int i) {
  return std::to_string(10'000 + i);
}

WriteRequest put_large(int i, char fill = 'x') {
  Operation put = operation(OperationKind::insert_or_replace, "p", row_name(i), i);
  put.properties.push_back({"text", Value::of_string(std::string(10'000, fill))});
  return write("big", std::move(put));
}

// Makes a store of about 4 MB in 5 parts, and a small table.
TestHost large_disk() {
  TestHost host;
  Store store = new_store();
  publish(store, {create("big"), create("small"), insert("small", "p", "a", 1)});
  for (int i = 0; i < rows; ++i) publish(store, {put_large(i)});
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  REQUIRE(host.parts.size() >= 5);
  return host;
}

Store all_of(const TestHost& host) {
  return std::move(*host.open());
}

Store opened(const TestHost& host) {
  auto store = host.open(TestHost::Load::on_demand);
  REQUIRE(store.ok());
  REQUIRE_FALSE(store->is_damaged());
  return std::move(*store);
}

std::set<PartId> parts_needed_by(const TestHost& host, Store& store, const Query& query) {
  std::set<PartId> ids;
  for (;;) {
    const auto answer = store.query("big", query);
    const auto* need = std::get_if<PartsNeeded>(&answer);
    if (need == nullptr) return ids;
    ids.insert(need->ids.front());
    REQUIRE(host.load_part(store, need->ids.front()).ok());
  }
}

bool needs_parts(Store& store, int row) {
  return std::holds_alternative<PartsNeeded>(store.get("big", {"p", row_name(row)}));
}

std::string text_of(const TestHost& host, Store& store, int row) {
  const auto answer = host.with_parts(store, [&] {
    return store.get("big", {"p", row_name(row)});
  });
  const auto* found = std::get_if<PinnedRow>(&answer);
  if (found == nullptr) return "none";
  const auto text = found->row.find("text");
  return text.has_value() ? std::string(text->string()) : "";
}

// The large disk with segments that change and delete a row of the first part, add a row after the
// last part, and drop and create the small table.
TestHost disk_with_log() {
  TestHost host = large_disk();
  Store store = all_of(host);
  publish(store, {put_large(7, 'y'), test::remove("big", "p", row_name(8)), put_large(rows)});
  publish(store, {drop("small"), create("small"), insert("small", "p", "b", 2)});
  host.store_pending(store);
  return host;
}

void check_logged(const TestHost& host, Store& store) {
  CHECK(text_of(host, store, 6) == std::string(10'000, 'x'));
  CHECK(text_of(host, store, 7) == std::string(10'000, 'y'));
  CHECK(text_of(host, store, 8) == "none");
  CHECK(text_of(host, store, 200) == std::string(10'000, 'x'));
  CHECK(text_of(host, store, rows) == std::string(10'000, 'x'));
}

}  // namespace

TEST_CASE("a store opens without its parts, and reading a row needs one part") {
  const TestHost host = large_disk();
  Store store = opened(host);
  CHECK(store.stats().rows == rows + 1);
  CHECK(store.stats().memory_bytes < 20'000);
  CHECK(store.verify().empty());
  const auto answer = store.get("big", {"p", row_name(200)});
  REQUIRE(std::holds_alternative<PartsNeeded>(answer));
  const std::vector<PartId> ids = std::get<PartsNeeded>(answer).ids;
  REQUIRE(ids.size() == 1);
  host.load_parts(store, ids);
  const auto again = store.get("big", {"p", row_name(200)});
  REQUIRE(std::holds_alternative<PinnedRow>(again));
  CHECK(store.stats().memory_bytes < 1'200'000);
  CHECK(store.stats().rows == rows + 1);
  CHECK(store.verify().empty());
}

// Otherwise the call that needs the part would be repeated without end.
TEST_CASE("an unloaded part that no manifest lists is reported as damage") {
  StoreState state;
  auto name = TableName::parse("rows");
  REQUIRE(name.ok());
  Catalog& catalog = state.published.catalog;
  catalog.restore_table(1, std::move(*name), {}).index.add_unloaded({}, 7, 3, 300);
  REQUIRE(state.load_part(8, std::nullopt, {&catalog}).ok());
  CHECK(state.damage.empty());
  REQUIRE(state.load_part(7, std::nullopt, {&catalog}).ok());
  REQUIRE(state.damage.size() == 1);
  CHECK(state.damage[0].file == "part-0000000000000007");
  CHECK_FALSE(catalog.find(1)->index.any_key_in_unloaded_part(7).has_value());
  CHECK(catalog.find(1)->index.row_count() == 0);
}

TEST_CASE("a part that is already loaded or not listed is ignored") {
  const TestHost host = large_disk();
  Store store = opened(host);
  for (int times = 0; times < 2; ++times) {
    for (const auto& [id, bytes] : host.parts) REQUIRE(store.load_part(id, bytes).ok());
  }
  CHECK(store.load_part(host.parts.begin()->first, std::nullopt).ok());
  CHECK(store.load_part(4711, std::nullopt).ok());
  CHECK_FALSE(store.is_damaged());
  CHECK(store.verify().empty());
  CHECK(store.stats().rows == rows + 1);
}

TEST_CASE("replaying needs no part, and the changes appear when the part is loaded") {
  const TestHost host = disk_with_log();
  Store store = opened(host);
  CHECK(store.stats().memory_bytes < 100'000);
  CHECK(needs_parts(store, 7));
  CHECK(needs_parts(store, rows));
  CHECK(rows_of(store, "small") == "b=2");
  check_logged(host, store);
  CHECK(store.verify().empty());
}

TEST_CASE("rows that segments changed are counted exactly once their parts are loaded") {
  const TestHost host = disk_with_log();
  Store store = opened(host);
  const std::vector<PartId> uncounted = store.parts_with_inexact_counts();
  CHECK(uncounted.size() == 2);
  host.load_parts(store, {uncounted[0]});
  CHECK(store.parts_with_inexact_counts() == std::vector<PartId>{uncounted[1]});
  host.load_parts(store, {uncounted[1]});
  CHECK(store.parts_with_inexact_counts().empty());
  CHECK(store.stats().rows == rows + 1);
  CHECK(store.stats().bytes == all_of(host).stats().bytes);
  store.set_memory_limit(1);
  store.enforce_memory_limit();
  CHECK(needs_parts(store, 7));
  CHECK(store.stats().rows == rows + 1);
  CHECK(store.parts_with_inexact_counts().empty());
  check_logged(host, store);
}

TEST_CASE("a checkpoint needs the parts that segments changed, and writes no others") {
  TestHost host = disk_with_log();
  const auto before = host.parts;
  Store store = opened(host);
  CHECK(store.estimate_checkpoint_bytes() > part_bytes_target);
  SECTION("after opening") {}
  SECTION("when they were loaded and dropped") {
    host.load_parts(store, store.parts_with_inexact_counts());
    store.set_memory_limit(1);
    store.enforce_memory_limit();
  }
  REQUIRE(host.checkpoint(store));
  std::size_t kept = 0;
  for (const auto& [id, bytes] : before) kept += host.parts.count(id);
  CHECK(kept == before.size() - 2 - 1);  // two changed parts, and the dropped table's part
  CHECK(host.segments.empty());
  CHECK(store.estimate_checkpoint_bytes() == 0);
  check_logged(host, store);
  Store again = opened(host);
  CHECK(again.parts_with_inexact_counts().empty());
  CHECK(again.stats().rows == rows + 1);
  check_logged(host, again);
}

TEST_CASE("rows of parts that segments changed can be changed again") {
  TestHost host = disk_with_log();
  {
    Store store = opened(host);
    const StageResult staged = host.stage(store,
                                          {insert("big", "p", row_name(8), -8), put_large(7, 'z'),
                                           test::remove("big", "p", row_name(9))},
                                          noon);
    for (const WriteResult& answer : staged.results) CHECK(succeeded(answer));
    store.publish();
    CHECK(code_of(host.stage(store, {insert("big", "p", row_name(rows))}, noon).results[0]) ==
          ErrorCode::entity_already_exists);
    host.store_pending(store);
    CHECK(text_of(host, store, 7) == std::string(10'000, 'z'));
  }
  Store store = opened(host);
  CHECK(text_of(host, store, 7) == std::string(10'000, 'z'));
  CHECK(text_of(host, store, 8).empty());
  CHECK(text_of(host, store, 9) == "none");
  CHECK(store.verify().empty());
}

TEST_CASE("a snapshot counts the rows that segments changed") {
  const TestHost host = disk_with_log();
  Store store = opened(host);
  Store whole = all_of(host);
  CHECK((host.snapshot(store) == host.snapshot(whole)));
}

TEST_CASE("dropping a table drops the overlays of its parts") {
  TestHost host = disk_with_log();
  SECTION("in memory") {
    Store store = opened(host);
    std::optional<SnapshotExport> snapshot(std::in_place, store);  // of the content before the drop
    publish(store, {drop("big")});
    CHECK(store.parts_with_inexact_counts().empty());
    const auto first = snapshot->next_chunk();
    CHECK(std::get<PartsNeeded>(first).ids.size() == 2);
    snapshot.reset();
    host.store_pending(store);
    REQUIRE(host.checkpoint(store));
    CHECK(host.parts.size() == 1);
  }
  SECTION("in the log") {
    {
      Store store = opened(host);
      publish(store, {drop("big")});
      host.store_pending(store);
    }
    Store store = opened(host);
    CHECK(store.parts_with_inexact_counts().empty());
    CHECK(store.stats().rows == 1);
    REQUIRE(host.checkpoint(store));
    CHECK(host.parts.size() == 1);
  }
}

TEST_CASE("rows that segments wrote to a damaged part remain") {
  TestHost host = disk_with_log();
  Store store = opened(host);
  const PartId id = std::get<PartsNeeded>(store.get("big", {"p", row_name(7)})).ids.front();
  host.parts.erase(id);
  host.load_parts(store, {id});
  CHECK(store.is_damaged());
  CHECK(store.damage()[0].file == part_name(id));
  CHECK(text_of(host, store, 7) == std::string(10'000, 'y'));
  CHECK(text_of(host, store, 6) == "none");
  CHECK(store.verify().empty());
}

TEST_CASE("replaying commits that the manifest covers needs no part") {
  TestHost host = large_disk();
  const std::uint64_t sequence = [&] {
    Store store = all_of(host);
    publish(store, {put_large(7, 'y')});
    // The segment is stored after the checkpoint began. The checkpoint covers its commits.
    auto segment = store.seal();
    REQUIRE(host.checkpoint(store));
    host.segments[segment->sequence] = segment->bytes;
    return segment->sequence;
  }();
  Store store = opened(host);
  CHECK(store.stats().next_sequence == sequence + 1);
  CHECK(needs_parts(store, 7));
}

TEST_CASE("a write returns the parts of all its keys at once") {
  const TestHost host = large_disk();
  Store store = opened(host);
  const std::vector<WriteRequest> requests = {put_large(0, 'y'), insert("small", "p", "b", 2),
                                              put_large(200, 'y'), put_large(rows - 1, 'y'),
                                              put_large(201, 'y')};
  const StageResult staged = store.stage(requests, noon);
  CHECK(staged.results.empty());
  CHECK_FALSE(staged.changes);
  CHECK(staged.parts_needed.size() == 4);
  CHECK(std::holds_alternative<PartsNeeded>(store.get("small", {"p", "a"})));
  host.load_parts(store, staged.parts_needed);
  publish(store, requests);
  CHECK(store.stats().rows == rows + 2);
  CHECK(store.verify().empty());
}

TEST_CASE("a part loaded while there is a candidate is still loaded after publishing") {
  const TestHost host = large_disk();
  Store store = opened(host);
  const StageResult staged = host.stage(store, {put_large(0, 'y')}, noon);
  REQUIRE(staged.changes);
  host.load_parts(store, {std::get<PartsNeeded>(store.get("big", {"p", row_name(300)})).ids});
  CHECK_FALSE(needs_parts(store, 300));
  SECTION("published") {
    store.publish();
  }
  SECTION("discarded") {
    store.discard();
  }
  CHECK_FALSE(needs_parts(store, 300));
  CHECK(store.verify().empty());
}

TEST_CASE("a checkpoint keeps unloaded parts") {
  TestHost host = large_disk();
  const auto before = host.parts;
  Store store = opened(host);
  host.stage(store, {put_large(0, 'y')}, noon);
  store.publish();
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  std::size_t kept = 0;
  for (const auto& [id, bytes] : before) kept += host.parts.count(id);
  CHECK(kept == before.size() - 1);
  CHECK(needs_parts(store, 300));
  Store again = opened(host);
  CHECK(again.stats().rows == rows + 1);
  CHECK(parts_needed_by(host, again, Query()).size() + 1 == host.parts.size());
  CHECK(again.damage().empty());
}

TEST_CASE("damage found later is reported, and no row of the part is returned") {
  TestHost host = large_disk();
  Store store = opened(host);
  const PartId id = std::get<PartsNeeded>(store.get("big", {"p", row_name(300)})).ids.front();
  const std::string good = host.parts[id];
  SECTION("a flipped bit") {
    host.parts[id][good.size() / 2] ^= 1;
    REQUIRE(store.load_part(id, host.parts[id]).ok());
  }
  SECTION("a missing file") {
    REQUIRE(store.load_part(id, std::nullopt).ok());
  }
  SECTION("another part") {
    for (const auto& [other, bytes] : host.parts) {
      if (other == id) continue;
      REQUIRE(store.load_part(id, bytes).ok());
      break;
    }
  }
  CHECK(store.is_damaged());
  REQUIRE(store.damage().size() == 1);
  CHECK(store.damage()[0].file == part_name(id));
  const auto answer = store.get("big", {"p", row_name(300)});
  REQUIRE(std::holds_alternative<Error>(answer));
  CHECK(std::get<Error>(answer).code == ErrorCode::resource_not_found);
  CHECK(store.verify().empty());
  host.load_parts(store, std::get<PartsNeeded>(store.get("big", {"p", row_name(0)})).ids);
  CHECK_FALSE(needs_parts(store, 0));
  CHECK(code_of(store.stage({put_large(0)}, noon).results[0]) == ErrorCode::read_only);
  CHECK_FALSE(store.begin_checkpoint());
}

TEST_CASE("a part of a newer format changes nothing") {
  const TestHost host = large_disk();
  Store store = opened(host);
  const PartId id = std::get<PartsNeeded>(store.get("big", {"p", row_name(300)})).ids.front();
  const auto loaded =
      store.load_part(id, file_of(FileKind::part, records_of(host.parts.at(id)), format_major + 1));
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().code == ErrorCode::format_too_new);
  CHECK_FALSE(store.is_damaged());
  CHECK(needs_parts(store, 300));
}

TEST_CASE("a snapshot loads what it needs, whatever a checkpoint replaces meanwhile") {
  TestHost host = large_disk();
  Store store = opened(host);
  const std::string whole = [&] {
    Store all = all_of(host);
    return host.snapshot(all);
  }();
  std::optional<SnapshotExport> snapshot(std::in_place, store);
  host.stage(store, {put_large(0, 'y')}, noon);
  store.publish();
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  std::string file;
  while (true) {
    const auto chunk = host.with_parts(store, [&] { return snapshot->next_chunk(); });
    const auto* bytes = std::get_if<std::string>(&chunk);
    if (bytes == nullptr) break;
    file += *bytes;
  }
  snapshot.reset();
  CHECK((file == whole));
  CHECK(store.verify().empty());
}

TEST_CASE("merging a snapshot into a store loads what it needs") {
  TestHost host = large_disk();
  Store source = all_of(host);
  publish(source, {put_large(300, 'z')});
  Store store = opened(host);
  Restore restore(store);
  REQUIRE(host.store_parts(restore, host.snapshot(source)).ok());
  REQUIRE(restore.finish_reading().ok());
  while (std::get<Restore::Merge>(host.with_parts(
             store, [&] { return restore.stage_merge_chunk(noon); })) == Restore::Merge::staged) {
    store.publish();
  }
  CHECK(store.stats().rows == rows + 1);
  const auto answer = store.get("big", {"p", row_name(300)});
  CHECK(std::get<PinnedRow>(answer).row.find("text")->string() == std::string(10'000, 'z'));
}

}  // namespace entitable
