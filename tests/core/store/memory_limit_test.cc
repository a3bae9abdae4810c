// Tests a store that is larger than its memory limit.
#include "core/store/memory_limit.h"

#include "core/store/live_queries.h"
#include "core/store/snapshot_export.h"
#include "core/store/store_state.h"
#include "core/store/versions.h"
#include "tests/support/counted_heap.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;  // request helpers

constexpr int rows = 400;

EntityKey key(int i) {
  return EntityKey("p", std::to_string(10'000 + i));
}

Operation put_large_operation(int i) {
  Operation put = operation(OperationKind::insert_or_replace, "p", key(i).row, i);
  put.properties.push_back({"text", Value::of_string(std::string(10'000, 'x'))});
  return put;
}
WriteRequest put_large(int i) {
  return write("big", put_large_operation(i));
}

// Makes a store of about 4 MB in 5 parts, all in memory.
Store filled(TestHost& host) {
  Store store = new_store();
  publish(store, {create("big")});
  for (int i = 0; i < rows; ++i) publish(store, {put_large(i)});
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  return store;
}

bool is_unloaded(const Store& store, int row) {
  return std::holds_alternative<PartsNeeded>(store.get("big", key(row).view()));
}

}  // namespace

TEST_CASE("without a limit, or below it, nothing is unloaded") {
  TestHost host;
  Store store = filled(host);
  const std::uint64_t memory = store.stats().memory_bytes;
  store.enforce_memory_limit();
  CHECK(store.stats().memory_bytes == memory);
  store.set_memory_limit(memory);
  store.enforce_memory_limit();
  CHECK(store.stats().memory_bytes == memory);
}

TEST_CASE("a store without a limit can be forked after its memory was checked") {
  Store store = new_store();
  publish(store, {create("big"), put_large(1)});
  store.enforce_memory_limit();
  CHECK(Versions(store).fork_store().stats().rows == 1);
}

TEST_CASE("above the limit parts are unloaded until memory is well below it") {
  TestHost host;
  Store store = filled(host);
  store.set_memory_limit(store.stats().memory_bytes - 1);
  const std::uint64_t limit = store.stats().memory_bytes - 1;
  store.enforce_memory_limit();
  CHECK(store.stats().memory_bytes <= limit / 8 * 7);
  CHECK(store.stats().memory_bytes > limit / 2);
  CHECK(store.stats().rows == rows);
  CHECK(store.verify().empty());
  store.set_memory_limit(1);
  store.enforce_memory_limit();
  CHECK(store.stats().memory_bytes < 20'000);
  CHECK(store.verify().empty());
  Query query;
  query.top = 1000;
  const auto all = host.with_parts(store, [&] { return store.query("big", query); });
  CHECK(std::get<Page>(all).rows.size() > 50);
}

TEST_CASE("recently used parts are unloaded last") {
  TestHost host;
  Store store = filled(host);
  const std::uint64_t memory = store.stats().memory_bytes;
  store.set_memory_limit(1);
  store.enforce_memory_limit();  // unloads all parts
  for (const auto& [id, bytes] : host.parts) REQUIRE(store.load_part(id, bytes).ok());
  CHECK_FALSE(is_unloaded(store, 0));
  CHECK_FALSE(is_unloaded(store, rows - 1));
  store.set_memory_limit(memory * 6 / 10);
  store.enforce_memory_limit();
  CHECK_FALSE(is_unloaded(store, 0));
  CHECK_FALSE(is_unloaded(store, rows - 1));
  CHECK(is_unloaded(store, rows / 2));
}

TEST_CASE("changes since the checkpoint stay in memory") {
  TestHost host;
  Store store = filled(host);
  publish(store, {put_large(200)});
  store.set_memory_limit(1);
  store.enforce_memory_limit();
  CHECK(is_unloaded(store, 0));
  CHECK_FALSE(is_unloaded(store, 200));
  CHECK(store.verify().empty());
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  store.enforce_memory_limit();
  CHECK(is_unloaded(store, 200));
}

TEST_CASE("checkpoint_bytes counts changed rows and the rest of their parts") {
  TestHost host;
  Store store = new_store();
  CHECK(store.estimate_checkpoint_bytes() == 0);
  publish(store, {create("big")});
  for (int i = 0; i < rows; ++i) publish(store, {put_large(i)});
  const std::uint64_t all = store.stats().bytes;
  CHECK(store.estimate_checkpoint_bytes() == all);
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  CHECK(store.estimate_checkpoint_bytes() == 0);
  publish(store, {put_large(200)});
  CHECK(store.estimate_checkpoint_bytes() > part_bytes_target / 2);
  CHECK(store.estimate_checkpoint_bytes() < part_bytes_target / 10 * 11);
  store.set_memory_limit(1);
  store.enforce_memory_limit();
  CHECK(store.estimate_checkpoint_bytes() < part_bytes_target / 10 * 11);
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  CHECK(store.estimate_checkpoint_bytes() == 0);
}

TEST_CASE("a key range without rows needs no part") {
  TestHost host;
  { const Store store = filled(host); }
  const auto bring = [&host](Store& store, int row) {
    const auto answer = store.get("big", key(row).view());
    if (const auto* need = std::get_if<PartsNeeded>(&answer)) host.load_parts(store, need->ids);
    CHECK_FALSE(is_unloaded(store, row));
  };
  const auto erase = [&](Store& store, int from, int to) {
    for (int i = from; i < to; ++i) {
      bring(store, i);
      publish(store, {write("big", operation(OperationKind::remove, "p", key(i).row, 0))});
    }
    host.store_pending(store);
    REQUIRE(host.checkpoint(store));
    CHECK(store.verify().empty());
  };
  const std::size_t parts = host.parts.size();
  int first = 0;  // the first row of the last part
  {
    Store store = std::move(*host.open(TestHost::Load::on_demand));
    bring(store, rows - 1);
    while (is_unloaded(store, first)) ++first;
    REQUIRE(first > 0);
    erase(store, first, rows);
    CHECK(host.parts.size() == parts - 1);
  }
  Store store = std::move(*host.open(TestHost::Load::on_demand));
  erase(store, 0, first);
  CHECK(host.parts.empty());
  CHECK(store.stats().rows == 0);
  CHECK(host.open()->stats().rows == 0);
}

TEST_CASE("a leaf that was split off after a new row is found again") {
  TestHost host;
  Store store = new_store();
  publish(store, {create("big")});
  for (const int i : {200, 201}) publish(store, {put_large(i)});
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  publish(store, {put_large(100)});
  store.set_memory_limit(1);
  store.enforce_memory_limit();
  REQUIRE(is_unloaded(store, 200));
  host.load_parts(store, std::get<PartsNeeded>(store.get("big", key(200).view())).ids);
  CHECK_FALSE(is_unloaded(store, 200));
  CHECK(store.verify().empty());
}

TEST_CASE("a part is not unloaded when a new row replaces one that the log deleted") {
  TestHost host;
  {
    Store store = new_store();
    publish(store, {create("big")});
    for (const int i : {200, 201, 202}) publish(store, {put_large(i)});
    host.store_pending(store);
    REQUIRE(host.checkpoint(store));
    publish(store, {write("big", operation(OperationKind::remove, "p", key(200).row, 0))});
    host.store_pending(store);
  }
  Store store = std::move(*host.open(TestHost::Load::on_demand));
  host.load_parts(store, std::get<PartsNeeded>(store.get("big", key(201).view())).ids);
  publish(store, {put_large(200)});
  store.set_memory_limit(1);
  store.enforce_memory_limit();
  CHECK(store.verify().empty());
  for (const int i : {200, 201, 202}) CHECK_FALSE(is_unloaded(store, i));
  CHECK(store.stats().rows == 3);
}

TEST_CASE("nothing is unloaded while a candidate exists") {
  TestHost host;
  Store store = filled(host);
  store.set_memory_limit(1);
  store.stage({put_large(0)}, noon);
  store.enforce_memory_limit();
  CHECK_FALSE(is_unloaded(store, 300));
  store.discard();
  store.enforce_memory_limit();
  CHECK(is_unloaded(store, 300));
}

TEST_CASE("while a part is being stored, its rows stay in memory and other parts are unloaded") {
  TestHost host;
  Store store = filled(host);
  publish(store, {put_large(0)});
  REQUIRE(store.begin_checkpoint());
  std::optional<CheckpointPart> part = host.next_part(store);
  REQUIRE(part.has_value());
  store.set_memory_limit(1);
  store.enforce_memory_limit();
  CHECK_FALSE(is_unloaded(store, 0));
  CHECK(is_unloaded(store, 300));
  SECTION("and it is then stored") {
    host.parts[part->id] = std::move(part->bytes);
    store.mark_checkpoint_part_stored();
    REQUIRE(host.write_checkpoint(store));
  }
  SECTION("and the checkpoint is abandoned") {
    store.abandon_checkpoint();
    REQUIRE(host.checkpoint(store));
  }
  store.enforce_memory_limit();
  CHECK(is_unloaded(store, 0));
  CHECK(store.verify().empty());
  CHECK(host.open()->stats().rows == rows);
}

TEST_CASE("parts are unloaded during a checkpoint and a snapshot") {
  TestHost host;
  Store store = filled(host);
  store.set_memory_limit(1);
  SECTION("a checkpoint") {
    publish(store, {put_large(0)});
    REQUIRE(store.begin_checkpoint());
    store.enforce_memory_limit();
    CHECK(is_unloaded(store, 300));
    CHECK_FALSE(is_unloaded(store, 0));
    REQUIRE(host.write_checkpoint(store));
    store.enforce_memory_limit();
    CHECK(is_unloaded(store, 0));
  }
  SECTION("a snapshot") {
    const SnapshotExport snapshot(store);
    store.enforce_memory_limit();
    CHECK(is_unloaded(store, 300));
  }
  CHECK(store.verify().empty());
}

TEST_CASE("a checkpoint of changes in every part needs the memory of a few parts") {
  TestHost host;
  { filled(host); }
  {
    Store store = std::move(*host.open(TestHost::Load::on_demand));
    for (int i = 0; i < rows; i += 5) host.stage_and_publish(store, put_large(i), noon);
    host.store_pending(store);
  }
  Store store = std::move(*host.open(TestHost::Load::on_demand));
  store.set_memory_limit(1'500'000);
  REQUIRE(store.stats().memory_bytes < 1'500'000);
  const std::size_t before = counted_heap.live_bytes - store.memory_bytes();
  REQUIRE(store.begin_checkpoint());
  std::size_t stored = 0;
  counted_heap.peak_bytes = counted_heap.live_bytes;
  while (std::optional<CheckpointPart> part = host.next_part(store)) {
    stored += part->bytes.size();
    host.parts[part->id] = std::move(part->bytes);
    store.mark_checkpoint_part_stored();
    store.enforce_memory_limit();
  }
  CHECK(stored > 3'500'000);
  CHECK(counted_heap.peak_bytes - stored - before < 3'000'000);
  host.commit_checkpoint(store);
  CHECK(store.unsaved_memory() < 100'000);
  CHECK(store.verify().empty());
  CHECK(host.open()->stats().rows == rows);
}

TEST_CASE("rows that a checkpoint still writes count as memory beside their changes") {
  TestHost host;
  Store store = filled(host);
  const auto change_half = [&store] {
    for (int i = 0; i < rows / 2; ++i) publish(store, {put_large(i)});
  };
  change_half();
  host.store_pending(store);
  const std::uint64_t changed = store.unsaved_memory();
  store.set_memory_limit(store.memory_bytes() + 100'000);
  REQUIRE(store.begin_checkpoint());
  change_half();
  host.store_pending(store);
  const std::size_t before = counted_heap.live_bytes;
  store.enforce_memory_limit();
  CHECK(before - counted_heap.live_bytes > rows / 2 * 9'000);  // the other half
  CHECK(is_unloaded(store, rows - 1));
  CHECK(store.memory_bytes() > changed / 10 * 19);
  CHECK(store.memory_bytes() < changed / 10 * 21);
  CHECK(store.unsaved_memory() > changed / 10 * 19);
  REQUIRE(host.write_checkpoint(store));
  CHECK(store.unsaved_memory() < changed / 10 * 11);
  CHECK(store.verify().empty());
  CHECK(host.open()->stats().rows == rows);
}

TEST_CASE("rows that a checkpoint still writes count as memory although a snapshot shares them") {
  TestHost host;
  Store store = filled(host);
  const auto change_all = [&store] {
    for (int i = 0; i < rows; ++i) publish(store, {put_large(i)});
  };
  change_all();
  host.store_pending(store);
  store.set_memory_limit(100'000'000);
  const std::uint64_t once = store.memory_bytes();
  const SnapshotExport snapshot(store);
  REQUIRE(store.begin_checkpoint());
  change_all();
  store.enforce_memory_limit();
  CHECK(store.memory_bytes() > once / 10 * 19);
  CHECK(store.unsaved_memory() > once / 10 * 19);
}

TEST_CASE("what only a checkpoint's version has is known within a 32nd of the limit") {
  constexpr std::uint64_t limit = 12'000'000;
  TestHost host;
  Store store = filled(host);
  const auto enforce_and_check = [&store] {
    store.enforce_memory_limit();
    const StoreState& state = store.state();
    const std::uint64_t exact =
        unload_growth(store.state().checkpoint->tables(), state.published.catalog, UINT64_MAX);
    CHECK(state.checkpoint_memory <= exact + limit / 32);
    CHECK(state.checkpoint_memory + limit / 32 >= exact);
  };
  for (int i = 0; i < rows / 2; ++i) publish(store, {put_large(i)});
  host.store_pending(store);
  store.set_memory_limit(limit);
  REQUIRE(store.begin_checkpoint());
  for (int i = 0; i < rows; ++i) {
    publish(store, {put_large(i * 37 % rows)});
    if (i % 4 == 0) publish(store, {test::remove("big", "p", key(i * 61 % rows).row)});
    enforce_and_check();
  }
  CHECK(store.state().checkpoint_memory > rows * 9'000);
  host.store_pending(store);
  while (std::optional<CheckpointPart> part = host.next_part(store)) {
    host.parts[part->id] = std::move(part->bytes);
    store.mark_checkpoint_part_stored();
    enforce_and_check();
  }
  host.commit_checkpoint(store);
  REQUIRE(store.begin_checkpoint());
  enforce_and_check();
  publish(store, {drop("big")});
  enforce_and_check();
  CHECK(store.state().checkpoint_memory > rows / 2 * 9'000);
}

TEST_CASE("while a checkpoint runs, enforcing the limit does not visit all rows after each write") {
  TestHost host;
  Store store = filled(host);
  store.set_memory_limit(100'000'000);
  const auto allocations_of_enforcing = [&store](int first) {
    std::size_t allocations = 0;
    for (int i = first; i < first + 20; ++i) {
      publish(store, {put_large(i)});
      const std::size_t before = counted_heap.allocations;
      store.enforce_memory_limit();
      allocations += counted_heap.allocations - before;
    }
    return allocations;
  };
  const std::size_t usual = allocations_of_enforcing(0);
  REQUIRE(store.begin_checkpoint());
  store.enforce_memory_limit();
  CHECK(allocations_of_enforcing(20) <= usual + 40);  // visiting the leaves takes more
}

TEST_CASE("snapshots of a dropped table need the memory of a few parts together") {
  TestHost host;
  { filled(host); }
  Store store = std::move(*host.open(TestHost::Load::on_demand));
  store.set_memory_limit(1'500'000);
  SnapshotExport first(store);
  SnapshotExport second(store);
  publish(store, {drop("big")});
  const std::size_t before = counted_heap.live_bytes;
  counted_heap.peak_bytes = before;
  for (SnapshotExport* snapshot : {&first, &second}) {
    std::size_t exported = 0;
    for (;;) {
      const auto chunk = snapshot->next_chunk();
      if (std::holds_alternative<SnapshotComplete>(chunk)) break;
      if (const auto* need = std::get_if<PartsNeeded>(&chunk)) {
        host.load_parts(store, need->ids);
        continue;
      }
      exported += std::get<std::string>(chunk).size();
      store.enforce_memory_limit();
    }
    CHECK(exported > 3'500'000);
  }
  CHECK(counted_heap.peak_bytes - before < 2'500'000);
}

TEST_CASE("unloading rows of a snapshot does not change which parts were used recently") {
  TestHost host;
  Store store = filled(host);
  store.set_memory_limit(1);
  store.enforce_memory_limit();  // unloads all parts
  store.set_memory_limit(0);
  for (const auto& [id, bytes] : host.parts) REQUIRE(store.load_part(id, bytes).ok());
  const SnapshotExport snapshot(store);
  for (int i = rows / 2; i < rows; ++i) publish(store, {put_large(i)});
  CHECK_FALSE(is_unloaded(store, 0));
  store.set_memory_limit(store.memory_bytes() - 1);
  const std::size_t before = counted_heap.live_bytes;
  store.enforce_memory_limit();
  CHECK(before - counted_heap.live_bytes > rows / 2 * 9'000);  // the old rows
  CHECK_FALSE(is_unloaded(store, 0));
  CHECK(is_unloaded(store, rows / 8));
}

TEST_CASE("memory is short when rows that a checkpoint still writes fill it") {
  TestHost host;
  Store store = filled(host);
  const auto change_half = [&store] {
    for (int i = 0; i < rows / 2; ++i) publish(store, {put_large(i)});
  };
  change_half();
  host.store_pending(store);
  store.set_memory_limit(1);
  store.enforce_memory_limit();
  REQUIRE(is_unloaded(store, rows - 1));
  store.set_memory_limit(store.memory_bytes() * 5 / 2);
  REQUIRE(store.begin_checkpoint());
  change_half();
  store.enforce_memory_limit();
  SECTION("a single write") {
    CHECK(store.write(put_large(rows - 1), noon).parts_needed.empty());
  }
  SECTION("a group") {
    CHECK(store.stage({put_large(rows - 1)}, noon).parts_needed.empty());
    store.publish();
  }
  CHECK(is_unloaded(store, rows - 2));
}

TEST_CASE("memory is short when changes that listeners did not take fill it") {
  TestHost host;
  Store store = filled(host);
  publish(store, {create("other"), write("other", put_large_operation(0))});
  store.set_memory_limit(1);
  store.enforce_memory_limit();
  REQUIRE(is_unloaded(store, rows - 1));
  LiveQueries(store).open_feed({{"other"}, {}, {}});
  const std::uint64_t tables = store.memory_bytes();
  while (store.memory_bytes() < 4 * tables)
    publish(store, {write("other", put_large_operation(0))});
  store.set_memory_limit(3 * tables);
  SECTION("a single write") {
    CHECK(store.write(put_large(rows - 1), noon).parts_needed.empty());
  }
  SECTION("a group") {
    CHECK(store.stage({put_large(rows - 1)}, noon).parts_needed.empty());
    store.publish();
  }
  SECTION("they were taken") {
    LiveQueries(store).take_changes();
    CHECK(!store.write(put_large(rows - 1), noon).parts_needed.empty());
  }
  CHECK(is_unloaded(store, rows - 2));
}

TEST_CASE("a checkpoint frees the rows of the parts that it has written") {
  TestHost host;
  Store store = filled(host);
  const auto change_all = [&store] {
    for (int i = 0; i < rows; ++i) publish(store, {put_large(i)});
  };
  change_all();
  host.store_pending(store);
  store.set_memory_limit(4'000'000);
  REQUIRE(store.begin_checkpoint());
  change_all();
  host.store_pending(store);
  store.enforce_memory_limit();
  const std::uint64_t twice = store.memory_bytes();
  const std::size_t before = counted_heap.live_bytes;
  std::size_t stored = 0;
  while (std::optional<CheckpointPart> part = host.next_part(store)) {
    stored += part->bytes.size();
    host.parts[part->id] = std::move(part->bytes);
    store.mark_checkpoint_part_stored();
    store.enforce_memory_limit();
  }
  CHECK(store.memory_bytes() < twice / 3 * 2);
  CHECK(counted_heap.live_bytes < before - twice / 3 + stored);
  host.commit_checkpoint(store);
  CHECK(store.verify().empty());
  CHECK(host.open()->stats().rows == rows);
}

TEST_CASE("with full memory a page ends at the first unloaded leaf, and all pages have all rows") {
  TestHost host;
  Store store = filled(host);
  store.set_memory_limit(1'200'000);
  store.enforce_memory_limit();
  Query query;
  query.filter = *parse_filter("value ge 0");
  query.top = 1000;
  int pages = 0;
  std::int32_t next = 0;
  do {
    auto answer = store.query("big", query);
    while (const auto* need = std::get_if<PartsNeeded>(&answer)) {
      host.load_parts(store, {need->ids.front()});
      answer = store.query("big", query);
    }
    const Page& page = std::get<Page>(answer);
    for (const RowView& row : page.rows) CHECK(row.find("value")->int32() == next++);
    query.from = page.next;
    ++pages;
    store.enforce_memory_limit();
    CHECK(store.stats().memory_bytes < 3'000'000);
  } while (query.from.has_value());
  CHECK(next == rows);
  CHECK(pages > 2);
}

WriteRequest merge(int i, int value) {
  return write("big", operation(OperationKind::merge, "p", key(i).row, value));
}

WriteRequest erase(int i) {
  return write("big", operation(OperationKind::remove, "p", key(i).row, 0));
}

WriteRequest insert(const std::string& row) {
  Operation put = operation(OperationKind::insert, "p", row, 1);
  put.properties.push_back({"text", Value::of_string(std::string(10'000, 'x'))});
  return write("big", std::move(put));
}

void load_row(TestHost& host, Store& store, int i) {
  auto row = store.get("big", key(i).view());
  if (const auto* need = std::get_if<PartsNeeded>(&row)) host.load_parts(store, need->ids);
}

// Opens the store of filled() with the parts of the rows from `first` on in memory, and with a
// limit of which they take `share`.
Store loaded(TestHost& host, double share, int first = rows / 2) {
  { const Store store = filled(host); }
  Store store = std::move(*host.open(TestHost::Load::on_demand));
  for (int i = first; i < rows; ++i) load_row(host, store, i);
  store.set_memory_limit(
      static_cast<std::uint64_t>(static_cast<double>(store.memory_bytes()) / share));
  return store;
}

Store almost_full(TestHost& host) {
  return loaded(host, 0.98);
}

TEST_CASE("while memory is nearly full, a changed row does not keep its whole part in memory") {
  for (const auto& change :
       {WriteRequest(put_large(rows - 9)), merge(rows - 9, 7), erase(rows - 9)}) {
    for (const bool single : {true, false}) {
      TestHost host;
      Store store = almost_full(host);
      REQUIRE_FALSE(is_unloaded(store, rows - 9));
      if (single) {
        const StageResult written = host.write(store, change, noon);
        REQUIRE(std::holds_alternative<WriteSuccess>(written.results.front()));
      } else {
        host.stage_and_publish(store, change, noon);
      }
      CHECK(store.unsaved_memory() < 100'000);
      CHECK(store.verify().empty());
      host.store_pending(store);
      REQUIRE(host.checkpoint(store));
      CHECK(host.open()->verify().empty());
    }
  }
}

TEST_CASE("while memory is nearly full, a group may change the same part several times") {
  TestHost host;
  Store store = almost_full(host);
  const StageResult staged =
      store.stage({merge(rows - 9, 7), merge(rows - 8, 8), merge(rows - 9, 9)}, noon);
  REQUIRE(staged.parts_needed.empty());
  store.publish();
  CHECK(store.unsaved_memory() < 100'000);
  for (const WriteResult& result : staged.results)
    CHECK(std::holds_alternative<WriteSuccess>(result));
  const auto value = [&](int i) {
    load_row(host, store, i);
    return std::get<PinnedRow>(store.get("big", key(i).view())).row.find("value")->int32();
  };
  CHECK(value(rows - 8) == 8);
  CHECK(value(rows - 9) == 9);
}

TEST_CASE("parts that all fit in memory stay there when they are changed") {
  TestHost host;
  Store store = loaded(host, 0.8);
  for (int n = 0; n < 100; ++n) {
    REQUIRE(store.stage({merge(rows / 2 + 20 + n, n)}, noon).parts_needed.empty());
    store.publish();
  }
}

TEST_CASE("a part that is changed again and again stays in memory, although memory is full") {
  TestHost host;
  Store store = almost_full(host);
  int loads = 0;
  for (int n = 0; n < 100; ++n) {
    const WriteRequest request = merge(rows - 20 + n % 20, n);
    StageResult staged = store.stage({request}, noon);
    for (; !staged.parts_needed.empty(); staged = store.stage({request}, noon)) {
      ++loads;
      host.load_parts(store, staged.parts_needed);
    }
    store.publish();
  }
  CHECK(loads > 0);
  CHECK(loads < 10);
}

TEST_CASE("a write does not unload a part for which a read waits") {
  TestHost host;
  Store store = almost_full(host);
  const auto awaited = store.get("big", key(0).view());
  host.load_parts(store, std::get<PartsNeeded>(awaited).ids);
  SECTION("a single write") {
    host.write(store, put_large(1), noon);
  }
  SECTION("a group") {
    host.stage_and_publish(store, put_large(1), noon);
  }
  CHECK_FALSE(is_unloaded(store, 0));
  // No read waits any more.
  REQUIRE(host.checkpoint(store));
  store.set_memory_limit(store.memory_bytes() + 1000);
  store.enforce_memory_limit();
  CHECK_FALSE(is_unloaded(store, 0));
  host.write(store, put_large(1), noon);
  CHECK(is_unloaded(store, 0));
}

TEST_CASE("trimming memory to a size neither ends waiting nor makes writes unload parts") {
  TestHost host;
  Store store = almost_full(host);
  const std::uint64_t memory = store.memory_bytes();
  SECTION("a read waits") {
    const auto awaited = store.get("big", key(0).view());
    store.trim_memory_to(memory - 1);
    CHECK(store.memory_bytes() < memory);
    host.load_parts(store, std::get<PartsNeeded>(awaited).ids);
    host.write(store, put_large(1), noon);
    CHECK_FALSE(is_unloaded(store, 0));
  }
  SECTION("there is enough memory") {
    store.set_memory_limit(10 * memory);  // writes unload nothing
    store.trim_memory_to(memory - 1);
    CHECK(store.memory_bytes() < memory);
    host.write(store, put_large(rows - 1), noon);
    CHECK_FALSE(is_unloaded(store, rows - 2));
  }
  SECTION("less is in use") {
    store.trim_memory_to(memory);
    CHECK(store.memory_bytes() == memory);
  }
  SECTION("there is no limit") {
    store.set_memory_limit(0);
    store.trim_memory_to(1);
    CHECK(store.memory_bytes() == memory);
  }
  SECTION("a group is staged") {
    host.stage(store, {put_large(rows - 1)}, noon);
    store.trim_memory_to(1);
    CHECK(store.memory_bytes() > memory / 2);
    store.discard();
  }
}

TEST_CASE("row counts stay exact when changes of a part in memory are collected") {
  TestHost host;
  Store store = almost_full(host);
  const auto check_counts = [&](std::uint64_t expected) {
    CHECK(store.parts_with_inexact_counts().empty());
    CHECK(store.stats().rows == expected);
  };
  const std::string between = key(rows - 9).row + "x";
  SECTION("single writes") {
    host.write(store, put_large(rows - 9), noon);
    check_counts(rows);
    host.write(store, insert(between), noon);
    check_counts(rows + 1);
    host.write(store, erase(rows - 9), noon);
    host.write(store, merge(rows - 10, 1), noon);
    check_counts(rows);
  }
  SECTION("a group") {
    host.stage(store,
               {put_large(rows - 9), insert(between), erase(rows - 9), merge(rows - 10, 1),
                erase(rows - 11)},
               noon);
    store.publish();
    check_counts(rows - 1);
  }
  host.store_pending(store);
  const std::uint64_t left = store.stats().rows;
  REQUIRE(host.checkpoint(store));
  check_counts(left);
  CHECK(host.open()->stats().rows == left);
}

TEST_CASE("a part that only a staged group has made whole again is not unloaded") {
  TestHost host;
  Store store = almost_full(host);
  const std::string between = key(rows - 9).row + "x";
  store.set_memory_limit(0);
  host.write(store, insert(between), noon);
  host.store_pending(store);
  store.set_memory_limit(store.memory_bytes() + 1000);
  const WriteRequest removal = write("big", operation(OperationKind::remove, "p", between, 0));
  REQUIRE(store.stage({removal, put_large(rows - 8)}, noon).parts_needed.empty());
  REQUIRE(store.begin_checkpoint());
  host.store_pending(store);
  store.publish();
  CHECK_FALSE(is_unloaded(store, rows - 7));
  REQUIRE(host.write_checkpoint(store));
  Query query;
  query.top = 1000;
  const auto all = host.with_parts(store, [&] { return store.query("big", query); });
  CHECK(store.damage().empty());
  CHECK(std::get<Page>(all).rows.size() > 50);
}

TEST_CASE("a part is replaced although its leaves lose its id while it is written") {
  TestHost host;
  {
    Store store = filled(host);
    publish(store, {put_large(1)});
    host.store_pending(store);
  }
  Store store = std::move(*host.open(TestHost::Load::on_demand));
  const PartId old = std::get<PartsNeeded>(store.get("big", key(0).view())).ids.front();
  store.set_memory_limit(1);  // the part is loaded into the checkpoint's version only
  store.set_part_bytes(100'000);
  REQUIRE(store.begin_checkpoint());
  CheckpointPart first = *host.next_part(store);
  host.parts[first.id] = std::move(first.bytes);
  store.state().checkpoint->tables().find("big")->index.forget_part(old, KeyRange());
  REQUIRE(host.write_checkpoint(store));
  CHECK(host.parts.count(old) == 0);
  Query query;
  query.top = 1000;
  const auto all = host.with_parts(store, [&] { return store.query("big", query); });
  CHECK(store.damage().empty());
  CHECK(std::get<Page>(all).rows.size() > 10);
  CHECK(store.stats().rows == rows);
}

TEST_CASE("versions that are not published free the parts that writes have unloaded") {
  TestHost host;
  Store store = loaded(host, 0.98, 0);
  const SnapshotExport snapshot(store);
  const auto loaded_in_snapshot = [&] {
    std::set<PartId> parts;
    const Table* table = store.state().snapshots.front()->find("big");
    table->index.for_each_leaf([&](const LeafInfo& leaf) {
      if (!leaf.unloaded && leaf.part != 0) parts.insert(leaf.part);
    });
    return parts.size();
  };
  const std::size_t before = loaded_in_snapshot();
  REQUIRE(before > 5);
  for (int i = 0; i < rows; i += 5) {  // few rows of each part, so that no overlay is full
    store.set_memory_limit(store.memory_bytes() + 1000);
    host.write(store, put_large(i), noon);
  }
  CHECK(loaded_in_snapshot() == before);
  store.set_memory_limit(2 * store.memory_bytes());  // only the rule for other versions unloads
  store.enforce_memory_limit();
  CHECK(loaded_in_snapshot() < 5);
}

TEST_CASE("explain counts all rows although writes unload parts between its steps") {
  TestHost host;
  Store store = almost_full(host);
  Query query;
  query.filter = *parse_filter("value ge 0");
  query.top = 1000;
  int steps = 0;
  auto answer = store.explain("big", query, "key");
  while (const auto* need = std::get_if<PartsNeeded>(&answer)) {
    REQUIRE(++steps < 100);
    const std::vector<PartId> ids = need->ids;
    for (const PartId id : ids) {
      host.load_parts(store, {id});
      // Changes rows that were counted, rows that are needed next, and others.
      for (const int row : {1, steps * 30 % rows, rows - 1 - steps}) {
        host.write(store, put_large(row), noon);
      }
    }
    answer = store.explain("big", query, "key");
    const auto* next = std::get_if<PartsNeeded>(&answer);
    REQUIRE((next == nullptr || next->ids.front() != ids.front()));
  }
  CHECK(steps > 1);
  const Explain& explain = std::get<Explain>(answer);
  CHECK(explain.rows_read == rows);
  CHECK(explain.rows_returned == rows);
  CHECK(store.verify().empty());
}

}  // namespace entitable
