// Checks that a store survives running out of memory in a write that unloads the part that it
// changes, while changes are recorded and taken, while watches are opened and read, while segments
// are stored, when a recovery ends, in a rollback, and while changes are read from the log. The
// allocator of this test program fails on demand.
#include <new>
#include <set>

#include "core/store/change_history.h"
#include "core/store/feed_readers.h"
#include "core/store/store_state.h"
#include "core/store/versions.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/live_clients.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;  // request helpers

constexpr int rows = 60;

std::string row_key(int i) {
  return std::to_string(100 + i);
}

WriteRequest large(OperationKind kind, int i, int value) {
  Operation change = operation(kind, "p", row_key(i), value);
  if (kind != OperationKind::remove)
    change.properties.push_back({"text", Value::of_string(std::string(3'000, 'x'))});
  return write("big", std::move(change));
}

std::set<PartId> unloaded_parts(Store& store) {
  std::set<PartId> parts;
  store.state().published.catalog.find("big")->index.for_each_leaf([&](const LeafInfo& leaf) {
    if (leaf.unloaded) parts.insert(leaf.part);
  });
  return parts;
}

// A store of several parts, the first of which is unloaded, with nearly full memory.
Store nearly_full(TestHost& host) {
  {
    Store store = new_store();
    publish(store, {create("big")});
    for (int i = 0; i < rows; ++i) publish(store, {large(OperationKind::insert, i, i)});
    host.store_pending(store);
    store.set_part_bytes(40'000);
    REQUIRE(host.checkpoint(store));
  }
  Store store = std::move(*host.open(TestHost::Load::on_demand));
  for (int i = rows / 3; i < rows; ++i) {
    const auto row = store.get("big", KeyView{"p", row_key(i)});
    if (const auto* need = std::get_if<PartsNeeded>(&row)) host.load_parts(store, need->ids);
  }
  store.set_memory_limit(store.memory_bytes() + 1'000);
  store.enforce_memory_limit();  // no read waits for the parts
  return store;
}

// Calls `attempt` until memory suffices, with one more allocation each time. Returns how often
// memory ran out.
template <typename Attempt>
long fail_everywhere(Store& store, Attempt attempt) {
  for (long left = 0;; ++left) {
    CAPTURE(left);
    const StoreStats before = store.stats();
    bool done = true;
    allocations_left = left;
    try {
      attempt();
    } catch (const std::bad_alloc&) {
      done = false;
    }
    allocations_left = never;
    REQUIRE(store.verify() == "");
    if (done) return left;
    const StoreStats after = store.stats();
    REQUIRE(after.rows == before.rows);
    REQUIRE(after.bytes == before.bytes);
    REQUIRE(after.last_commit == before.last_commit);
    REQUIRE(after.pending_bytes == before.pending_bytes);
    REQUIRE(left < 10'000);
  }
}

}  // namespace

TEST_CASE("memory runs out in a write that unloads the part that it changes") {
  TestHost host;
  Store store = nearly_full(host);
  const std::set<PartId> before = unloaded_parts(store);
  REQUIRE(!before.empty());
  const int at = rows - 20;
  const std::vector<std::vector<WriteRequest>> writes = {
      {large(OperationKind::insert_or_replace, at, 1'000)},
      {large(OperationKind::merge, at, 1'000)},
      {large(OperationKind::remove, at, 0)},
      {large(OperationKind::merge, at, 1'000), large(OperationKind::remove, at + 1, 0)}};
  const std::vector<WriteRequest>& requests = writes[GENERATE(0U, 1U, 2U, 3U)];
  const bool is_single = requests.size() == 1 && GENERATE(true, false);
  const std::string old_rows = [&] {
    const auto whole = host.open(TestHost::Load::all_parts);
    return rows_of(*whole, "big");
  }();
  StageResult result;
  const long failures = fail_everywhere(store, [&] {
    result = is_single ? store.write(requests.front(), noon, StageResult())
                       : store.stage(requests, noon);
  });
  REQUIRE(result.parts_needed.empty());
  if (!is_single) store.publish();
  CHECK(failures > 10);
  CHECK(unloaded_parts(store).size() > before.size());
  CHECK(store.verify() == "");
  std::string expected = old_rows;
  const auto replace = [&](int i, const std::string& text) {
    const std::string old = " " + row_key(i) + "=" + std::to_string(i);
    expected.replace(expected.find(old), old.size(), text);
  };
  const bool is_removed = &requests == &writes[2];
  replace(at, is_removed ? "" : " " + row_key(at) + "=1000");
  if (requests.size() > 1) replace(at + 1, "");
  store.set_memory_limit(0);
  host.load_parts(store, [&] {
    const std::set<PartId> unloaded = unloaded_parts(store);
    return std::vector<PartId>(unloaded.begin(), unloaded.end());
  }());
  CHECK(rows_of(store, "big") == expected);
  CHECK(store.parts_with_inexact_counts().empty());
}

TEST_CASE("memory runs out while a watch is opened and read") {
  TestHost host;
  Store store = nearly_full(host);
  const int at = rows - 20;
  WatchQuery query;  // several ranges, a condition, and a limit
  query.filter = *parse_filter("PartitionKey eq 'p' and value ge 0 and (RowKey eq '" + row_key(at) +
                               "' or RowKey ge '" + row_key(at + 2) + "')");
  query.limit = 9;
  std::optional<WatchClient> client;
  const long failures = fail_everywhere(store, [&] { client.emplace(store, "big", query); });
  CHECK(failures > 3);
  // No failed attempt left a watch behind.
  LiveQueries(store).close_watch(client->id());
  CHECK(!store.state().has_listeners());
  CHECK(!store.state().listeners->make_recorder()->covers("big", {"p", row_key(at)}));

  client.emplace(store, "big", query);
  for (const std::uint32_t rows_max : {2U, 100U}) {
    std::optional<WatchPage> page;
    const auto read = [&] {
      page = std::get<WatchPage>(LiveQueries(store).read_watch(client->id(), rows_max));
    };
    CHECK(fail_everywhere(store, read) > 3);
    client->add(*page);
  }
  CHECK(client->is_complete());
  CHECK(client->equals_query(store, host));
  store.write(large(OperationKind::remove, at, 0), noon, StageResult());
  const TakenChanges taken = LiveQueries(store).take_changes();
  REQUIRE(taken.deltas.size() == 1);
  client->apply(taken.deltas.front(), taken.rows);
  client->read(store, host, 1000);
  CHECK(client->equals_query(store, host));
}

TEST_CASE("memory runs out while changes are recorded and taken") {
  TestHost host;
  Store store = nearly_full(host);
  const int at = rows - 20;
  WatchQuery query;
  query.filter = *parse_filter("PartitionKey eq 'p' and RowKey ge '" + row_key(at) + "'");
  query.limit = 5;
  WatchClient client(store, "big", query);
  const FeedId feed = LiveQueries(store).open_feed({}).value();
  client.read(store, host, 1000);
  REQUIRE(client.is_complete());

  const WriteRequest request = large(OperationKind::remove, at, 0);
  const bool is_single = GENERATE(true, false);
  const long failures = fail_everywhere(store, [&] {
    is_single ? store.write(request, noon, StageResult()) : store.stage({request}, noon);
  });
  CHECK(failures > 10);
  if (!is_single) store.publish();
  TakenChanges taken = LiveQueries(store).take_changes();
  REQUIRE(taken.batches.size() == 1);  // the failed attempts left no change behind
  CHECK(taken.batches.front().rows.size() == 1);
  CHECK(LiveQueries(store).feed(feed)->accepts(taken.batches.front().rows.front()));
  REQUIRE(taken.deltas.size() == 1);
  client.apply(taken.deltas.front(), taken.rows);
  client.read(store, host, 1000);
  CHECK(client.equals_query(store, host));

  store.write(large(OperationKind::insert, at, 7), noon, StageResult());
  allocations_left = 0;
  CHECK_THROWS_AS(LiveQueries(store).take_changes(), std::bad_alloc);
  allocations_left = never;
  CHECK(std::get<WatchRefusal>(LiveQueries(store).read_watch(client.id(), 10)) ==
        WatchRefusal::changes_not_taken);
  CHECK(fail_everywhere(store, [&] { taken = LiveQueries(store).take_changes(); }) > 0);
  REQUIRE(taken.batches.size() == 1);
  CHECK(taken.batches.front().unknown);
  REQUIRE(taken.deltas.size() == 1);
  CHECK(taken.deltas.front().reset);
  client.apply(taken.deltas.front(), taken.rows);
  client.read(store, host, 1000);
  CHECK(client.equals_query(store, host));
  CHECK(LiveQueries(store).take_changes().batches.empty());
}

TEST_CASE("memory runs out at the end of a recovery") {
  TestHost host;
  {
    Store store = new_store();
    publish(store, {create("people"), insert("people", "p", "a", 1)});
    for (const char* name : {"a reader with a long name", "another reader with a long name"})
      REQUIRE(FeedReaders(store).add(name, store.position(), noon));
    host.store_pending(store);
    REQUIRE(host.checkpoint(store));
  }
  Store store;
  const auto parts = store.begin_recovery(*host.manifest);
  REQUIRE(parts.ok());
  CHECK(fail_everywhere(store, [&] { store.finish_recovery(); }) > 2);
  for (const PartInfo& part : *parts) REQUIRE(host.load_part(store, part.id).ok());
  CHECK(rows_of(store, "people") == "a=1");
  CHECK(FeedReaders(store).find("another reader with a long name") != nullptr);
}

TEST_CASE("memory runs out in a rollback") {
  Store store = new_store();
  publish(store, {create("people"), insert("people", "p", "a", 1)});
  const std::uint64_t kept = Versions(store).keep();
  publish(store, {insert("people", "p", "b", 2)});
  const FeedPosition before = store.position();
  const auto roll_back = [&] {
    CHECK(store.position() == before);
    Versions(store).rollback(kept);
  };
  CHECK(fail_everywhere(store, roll_back) > 2);
  CHECK(rows_of(store, "people") == "a=1");
  CHECK(store.position() == FeedPosition{before.epoch + 1, before.commit - 1});
}

TEST_CASE("nothing is allocated once a segment is stored, also if a checkpoint ended meanwhile") {
  TestHost host;
  Store store = new_store();
  publish(store, {create("people")});
  REQUIRE(FeedReaders(store).add("reader", store.position(), noon));
  publish(store, {insert("people", "p", "a", 1)});
  host.store_pending(store);
  REQUIRE(store.begin_checkpoint());
  while (auto part = host.next_part(store)) host.parts[part->id] = std::move(part->bytes);
  const FinishedCheckpoint end = store.finish_checkpoint({1'000'000, 1'000, noon});
  REQUIRE(end.first_kept_sequence < end.first_live_sequence);
  publish(store, {insert("people", "p", "b", 2)});
  const auto segment = store.seal();
  store.mark_checkpoint_committed();
  allocations_left = 0;
  CHECK_NOTHROW(store.mark_stored(segment->sequence));
  allocations_left = never;
  CHECK(store.stats().pending_commits == 0);
}

TEST_CASE("memory runs out while changes are read from the log") {
  TestHost host;
  Store store = new_store();
  publish(store, {create("people"), insert("people", "p", "a", 1), insert("people", "p", "b", 2)});
  host.store_pending(store);
  publish(store, {create("pets"), insert("pets", "p", "c", 3), remove("people", "p", "a")});
  ChangeHistory history(store, FeedPosition{});
  const auto& [sequence, segment] = *host.segments.begin();
  std::optional<PastChanges> stored;
  const auto read_segment = [&, number = sequence, bytes = std::string_view(segment)] {
    stored = std::move(*history.read_segment(number, bytes));
  };
  CHECK(fail_everywhere(store, read_segment) > 10);
  CHECK(stored->batches.size() == 3);
  std::optional<PastChanges> pending;
  CHECK(fail_everywhere(store, [&] { pending = history.read_pending(); }) > 10);
  CHECK(pending->batches.size() == 3);
  CHECK(!history.is_truncated());
}

}  // namespace entitable
