// Tests live queries and the change feed of a store.
#include "core/store/live_queries.h"

#include "core/store/restore.h"
#include "core/store/versions.h"
#include "tests/support/counted_heap.h"
#include "tests/support/live_clients.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;  // request helpers

Store people() {
  Store store = new_store();
  publish(store, {create("people"), insert("people", "p", "a", 1), insert("people", "p", "b", 2)});
  return store;
}

FeedId open_feed(Store& store, std::vector<std::string> tables = {}) {
  FeedQuery query;
  query.tables = std::move(tables);
  return LiveQueries(store).open_feed(std::move(query)).value();
}

char letter_of(ChangeOp op) {
  return op == ChangeOp::insert ? '+' : op == ChangeOp::update ? '~' : '-';
}

std::string value_of(const RowView& row) {
  return std::to_string(row.find("value")->int32());
}

// Returns for example "4: +a=1 ~b=2<1; 5: create people; unknown".
std::string text_of(const ChangeBatches& batches) {
  std::string text;
  for (const ChangeBatch& batch : batches) {
    text += (text.empty() ? "" : "; ") + std::to_string(batch.position.commit) + ":";
    if (batch.unknown) text += " unknown";
    for (const RowChange& change : batch.rows) {
      text += std::string(" ") + letter_of(change.op()) + change.key.row;
      if (change.after.has_value()) text += "=" + value_of(*change.after);
      if (change.before.has_value()) text += "<" + value_of(change.before->view());
    }
    for (const TableChange& change : batch.tables) {
      text += (change.created ? " create " : " drop ") + change.table->name.text();
    }
  }
  return text;
}

std::string taken(Store& store) {
  return text_of(LiveQueries(store).take_changes().batches);
}

// Opens a watch and reads its rows.
WatchClient watch(Store& store, std::string_view filter = "",
                  std::optional<std::uint32_t> limit = std::nullopt) {
  WatchQuery query;
  if (!filter.empty()) query.filter = *parse_filter(filter);
  query.limit = limit;
  WatchClient client(store, "people", std::move(query));
  client.read(store, TestHost(), 1000);
  return client;
}

// Applies the deltas of the only watch. Returns how many there were.
std::size_t apply(Store& store, WatchClient& client) {
  const TakenChanges changes = LiveQueries(store).take_changes();
  for (const WatchDelta& delta : changes.deltas) client.apply(delta, changes.rows);
  return changes.deltas.size();
}

std::string keys_of(const WatchClient& client) {
  std::string keys;
  for (const Entity& entity : client.rows()) keys += entity.key.row;
  return keys;
}

}  // namespace

TEST_CASE("each commit of a group is a batch, with its changes in the order of the operations") {
  Store store = people();
  open_feed(store);
  publish(store, {group("people", {operation(OperationKind::insert, "p", "z", 1),
                                   operation(OperationKind::remove, "p", "a"),
                                   operation(OperationKind::merge, "p", "b", 5)}),
                  upsert("people", "p", "z", 7), remove("people", "p", "z")});
  CHECK(taken(store) == "4: +z=1 -a<1 ~b=5<2; 5: ~z=7<1; 6: -z<7");
  CHECK(taken(store) == "");
}

TEST_CASE("a row that is removed and inserted again is removed and inserted") {
  Store store = people();
  open_feed(store);
  publish(store, {remove("people", "p", "a"), insert("people", "p", "a", 9)});
  CHECK(taken(store) == "4: -a<1; 5: +a=9");
}

TEST_CASE("a write in place is a batch of its own, and does not change the rows taken before") {
  Store store = people();
  open_feed(store);
  store.write(upsert("people", "p", "a", 5), noon);
  const TakenChanges first = LiveQueries(store).take_changes();
  store.write(upsert("people", "p", "a", 6), noon);
  CHECK(text_of(first.batches) == "4: ~a=5<1");
  CHECK(taken(store) == "5: ~a=6<5");
}

TEST_CASE("several writes in place may be taken together") {
  Store store = people();
  open_feed(store);
  for (const int value : {5, 6, 7}) store.write(upsert("people", "p", "a", value), noon);
  CHECK(taken(store) == "4: ~a=5<1; 5: ~a=6<5; 6: ~a=7<6");
}

TEST_CASE("creating and dropping tables are table changes") {
  Store store = people();
  open_feed(store);
  publish(store, {create("Orders"), insert("orders", "p", "x", 1), drop("orders"), drop("people"),
                  create("People"), insert("people", "p", "a", 8)});
  CHECK(taken(store) ==
        "4: create Orders; 5: +x=1; 6: drop Orders; 7: drop people; 8: create People; 9: +a=8");
}

TEST_CASE("a feed of some tables records no other rows") {
  Store store = people();
  open_feed(store, {"Orders"});
  publish(store, {upsert("people", "p", "a", 5), create("orders"), insert("orders", "q", "x", 1)});
  CHECK(taken(store) == "5: create orders; 6: +x=1");
}

TEST_CASE("failed and discarded writes make no changes, and neither do access policies") {
  Store store = people();
  open_feed(store);
  store.write(insert("people", "p", "a", 5), noon);
  store.stage({upsert("people", "p", "a", 5)}, noon);
  store.discard();
  publish(store, {WriteRequest{std::nullopt, WriteTableAcl{"people", {}}}});
  CHECK(taken(store) == "");
}

TEST_CASE("a batch tells where its commit came from, and the last timestamp") {
  Store store = people();
  open_feed(store);
  WriteRequest request = upsert("people", "p", "a", 5);
  request.origin = CommitOrigin::other_tab;
  publish(store, {request, upsert("people", "p", "a", 6)});
  const TakenChanges changes = LiveQueries(store).take_changes();
  CHECK(changes.batches.front().origin == CommitOrigin::other_tab);
  CHECK(changes.batches.back().origin == CommitOrigin::local);
  CHECK(changes.batches.back().last_timestamp == changes.batches.back().rows[0].after->timestamp());
}

TEST_CASE("without listeners nothing is recorded, and writes allocate nothing for it") {
  Store store = people();
  const auto count = [&store] {
    store.write(upsert("people", "p", "a", 5), noon);
    const std::size_t before = counted_heap.allocations;
    for (int i = 0; i < 100; ++i) store.write(upsert("people", "p", "a", i), noon);
    return counted_heap.allocations - before;
  };
  const std::size_t never = count();
  const FeedId feed = open_feed(store);
  CHECK(count() > never);
  LiveQueries(store).take_changes();
  LiveQueries(store).close_feed(feed);
  CHECK(count() <= never);
  CHECK(taken(store) == "");
}

TEST_CASE("20,000 watches of single rows take less than 10 MB") {
  Store store = people();
  LiveQueries live(store);
  const std::size_t before = counted_heap.live_bytes;
  constexpr int watches = 20'000;
  for (int i = 0; i < watches; ++i) {
    WatchQuery query;
    query.filter = *parse_filter("PartitionKey eq 'p' and RowKey eq 'row-" +
                                 std::to_string(1'000'000 + i) + "'");
    live.read_watch(live.open_watch("people", std::move(query)), 1);
  }
  CHECK(counted_heap.live_bytes - before < 10'000'000);
  store.write(upsert("people", "p", "row-1000007", 5), noon);
  CHECK(live.take_changes().deltas.size() == 1);
}

TEST_CASE("a watch gets one delta for a group, which leads to the published version") {
  Store store = people();
  WatchClient client = watch(store);
  publish(store,
          {insert("people", "p", "c", 3), upsert("people", "p", "c", 4), remove("people", "p", "a"),
           insert("people", "p", "d", 1), remove("people", "p", "d")});
  CHECK(apply(store, client) == 1);
  CHECK(keys_of(client) == "bc");
  CHECK(client.equals_query(store, TestHost()));
}

TEST_CASE("a watch may be opened before its table exists, and survives dropping it") {
  Store store = new_store();
  WatchClient client = watch(store);
  CHECK(!client.is_complete());
  publish(store, {create("People"), insert("people", "p", "a", 1)});
  CHECK(apply(store, client) == 1);
  CHECK(!client.read(store, TestHost(), 1000));
  CHECK(keys_of(client) == "a");
  publish(store, {drop("people")});
  CHECK(apply(store, client) == 1);
  CHECK(std::holds_alternative<Error>(LiveQueries(store).read_watch(client.id(), 1000)));
  publish(store, {create("people")});
  publish(store, {drop("people"), create("people"), insert("people", "p", "b", 1)});
  CHECK(apply(store, client) == 1);
  client.read(store, TestHost(), 1000);
  CHECK(keys_of(client) == "b");
  CHECK(client.is_complete());
}

TEST_CASE("a limit is kept full while rows leave and enter") {
  Store store = people();
  publish(store, {insert("people", "p", "c", 3), insert("people", "p", "d", 4)});
  WatchClient client = watch(store, "", 2);
  CHECK(keys_of(client) == "ab");
  publish(store, {remove("people", "p", "a"), remove("people", "p", "c")});
  apply(store, client);
  CHECK(keys_of(client) == "bd");
  publish(store, {insert("people", "p", "a", 3), insert("people", "p", "c", 3)});
  apply(store, client);
  CHECK(keys_of(client) == "ab");
}

TEST_CASE("a rollback and a restore that replaces the content reset watches and feeds") {
  Store store = people();
  const std::uint64_t kept = Versions(store).keep();
  open_feed(store);
  WatchClient client = watch(store);
  publish(store, {remove("people", "p", "a")});
  Versions(store).rollback(kept);
  const TakenChanges changes = LiveQueries(store).take_changes();
  CHECK(text_of(changes.batches) == "3: unknown");
  CHECK(changes.batches.front().origin == CommitOrigin::local);
  REQUIRE(changes.deltas.size() == 1);
  client.apply(changes.deltas.front(), changes.rows);
  client.read(store, TestHost(), 1000);
  CHECK(keys_of(client) == "ab");
  CHECK(!LiveQueries(store).take_changes().batches.size());
}

TEST_CASE("a restore that replaces the content has the origin restore") {
  TestHost host;
  Store store = people();
  host.store_pending(store);
  const std::string file = host.snapshot(store);
  open_feed(store);
  WatchClient client = watch(store);
  publish(store, {remove("people", "p", "a")});
  apply(store, client);
  host.store_pending(store);
  Restore restore(store);
  REQUIRE(host.store_parts(restore, file).ok());
  REQUIRE(restore.finish_reading().ok());
  REQUIRE(restore.begin_replace(std::nullopt));
  host.write_checkpoint(store);
  const TakenChanges changes = LiveQueries(store).take_changes();
  CHECK(text_of(changes.batches) == "5: unknown");
  CHECK(changes.batches.front().origin == CommitOrigin::restore);
  REQUIRE(changes.deltas.size() == 1);
  CHECK(changes.deltas.front().reset);
  publish(store, {remove("people", "p", "b")});
  CHECK(taken(store) == "6: -b<2");
  host.store_pending(store);
  CHECK(host.open()->last_commit() == 6);
}

TEST_CASE("a restore that merges makes commits of the origin restore") {
  TestHost host;
  Store store = people();
  const std::string file = host.snapshot(store);
  publish(store, {remove("people", "p", "a")});
  host.store_pending(store);
  open_feed(store);
  Restore restore(store);
  REQUIRE(host.store_parts(restore, file).ok());
  REQUIRE(restore.finish_reading().ok());
  host.with_parts(store, [&] { return restore.stage_merge_chunk(noon); });
  store.publish();
  const TakenChanges changes = LiveQueries(store).take_changes();
  CHECK(text_of(changes.batches) == "5: +a=1 ~b=2<2");
  CHECK(changes.batches.front().origin == CommitOrigin::restore);
}

namespace {

// A store of one part, which is not in memory.
Store unloaded(TestHost& host) {
  Store store = people();
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  return std::move(*host.open(TestHost::Load::on_demand));
}

bool needs_parts(Store& store, const WriteRequest& request) {
  return !store.write(request, noon).parts_needed.empty();
}

}  // namespace

TEST_CASE("an upsert needs the row's part if a listener covers the row") {
  TestHost host;
  Store store = unloaded(host);
  store.set_memory_limit(1);
  WatchQuery query;
  query.filter = *parse_filter("PartitionKey eq 'p' and RowKey eq 'a'");
  const WatchId watch = LiveQueries(store).open_watch("people", query);
  CHECK(needs_parts(store, upsert("people", "p", "a", 5)));
  CHECK(!needs_parts(store, upsert("people", "p", "b", 5)));
  LiveQueries(store).close_watch(watch);
  CHECK(!needs_parts(store, upsert("people", "p", "a", 5)));
  open_feed(store);
  CHECK(needs_parts(store, upsert("people", "p", "c", 5)));
  host.write(store, upsert("people", "p", "b", 6), noon);
  host.write(store, upsert("people", "p", "c", 6), noon);
  CHECK(taken(store) == "6: ~b=6<5; 7: +c=6");
}

TEST_CASE("changes that are collected in an overlay are taken from there") {
  TestHost host;
  Store store = unloaded(host);
  open_feed(store);
  host.load_parts(store, {1});
  store.set_memory_limit(store.memory_bytes());  // nearly full: writes unload the parts they change
  host.write(store, upsert("people", "p", "a", 5), noon);
  host.stage(store, {upsert("people", "p", "a", 6), remove("people", "p", "b")}, noon);
  store.publish();
  CHECK(taken(store) == "4: ~a=5<1; 5: ~a=6<5; 6: -b<2");
}

TEST_CASE("reading a watch needs the parts of its rows, and the change feed needs none") {
  TestHost host;
  Store store = unloaded(host);
  const WatchId watch = LiveQueries(store).open_watch("people", {});
  CHECK(std::holds_alternative<PartsNeeded>(LiveQueries(store).read_watch(watch, 10)));
  host.load_parts(store, {1});
  const auto page = LiveQueries(store).read_watch(watch, 1);
  CHECK(std::get<WatchPage>(page).page.rows.size() == 1);
  CHECK(!std::get<WatchPage>(page).complete);
  CHECK(std::get<WatchPage>(page).position == FeedPosition{1, 3});
}

TEST_CASE("rows that are not in memory any more when changes are taken reset the watches") {
  TestHost host;
  Store store = unloaded(host);
  open_feed(store);
  host.write(store, upsert("people", "p", "a", 5), noon);
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  store.set_memory_limit(1);
  store.enforce_memory_limit();
  CHECK(taken(store) == "4: unknown");
  CHECK(taken(store) == "");
}

namespace {

WatchId watch_partition_q(Store& store) {
  WatchQuery query;
  query.filter = *parse_filter("PartitionKey eq 'q'");
  return LiveQueries(store).open_watch("people", query);
}

}  // namespace

TEST_CASE("a listener that is closed before its changes are taken does not reset the others") {
  Store store = people();
  const FeedId feed = open_feed(store);
  const WatchId watch = watch_partition_q(store);
  LiveQueries(store).read_watch(watch, 10);
  publish(store, {upsert("people", "p", "a", 5), insert("people", "q", "x", 1)});
  LiveQueries(store).close_feed(feed);
  publish(store, {remove("people", "p", "a")});
  const TakenChanges changes = LiveQueries(store).take_changes();
  CHECK(text_of(changes.batches) == "5: +x=1");
  REQUIRE(changes.deltas.size() == 1);
  CHECK(!changes.deltas.front().reset);
}

TEST_CASE("changes that were not recorded while no listener covered them reset the watches") {
  Store store = people();
  const FeedId feed = open_feed(store);
  watch_partition_q(store);
  publish(store, {upsert("people", "p", "a", 5)});
  LiveQueries(store).close_feed(feed);
  publish(store, {remove("people", "p", "a")});
  open_feed(store);
  CHECK(taken(store) == "5: unknown");
  CHECK(taken(store) == "");
}

TEST_CASE("damage that loses rows resets watches") {
  TestHost host;
  Store store = unloaded(host);
  WatchClient client = [&] { return WatchClient(store, "people", {}); }();
  REQUIRE(store.load_part(1, "damaged").ok());
  CHECK(store.is_damaged());
  CHECK(apply(store, client) == 1);
  client.read(store, host, 10);
  CHECK(keys_of(client) == "");
}

TEST_CASE("a watch that is read while a part is found damaged must be taken first") {
  TestHost host;
  Store store = unloaded(host);
  LiveQueries live(store);
  const WatchId watch = live.open_watch("people", {});
  REQUIRE(std::holds_alternative<PartsNeeded>(live.read_watch(watch, 10)));
  REQUIRE(store.load_part(1, "damaged").ok());
  CHECK(std::get<WatchRefusal>(live.read_watch(watch, 10)) == WatchRefusal::changes_not_taken);
  CHECK(live.take_changes().deltas.size() == 1);
  CHECK(std::get<WatchPage>(live.read_watch(watch, 10)).complete);
}

TEST_CASE("a watch that is opened while a group is staged is reset when it is published") {
  Store store = people();
  const bool is_first = GENERATE(true, false);
  std::optional<WatchClient> earlier;
  if (!is_first) earlier.emplace(watch(store));
  REQUIRE(store.stage({upsert("people", "p", "a", 5), remove("people", "p", "b")}, noon).changes);
  WatchClient later = watch(store);
  CHECK(keys_of(later) == "ab");
  store.publish();
  CHECK(std::get<WatchRefusal>(LiveQueries(store).read_watch(later.id(), 10)) ==
        WatchRefusal::changes_not_taken);
  const TakenChanges changes = LiveQueries(store).take_changes();
  REQUIRE(changes.deltas.size() == (is_first ? 1 : 2));
  if (!is_first) {
    CHECK(!changes.deltas.front().reset);
    earlier->apply(changes.deltas.front(), changes.rows);
    CHECK(earlier->equals_query(store, TestHost()));
  }
  CHECK(changes.deltas.back().reset);
  later.apply(changes.deltas.back(), changes.rows);
  later.read(store, TestHost(), 1000);
  CHECK(later.equals_query(store, TestHost()));
  publish(store, {upsert("people", "p", "a", 6)});
  for (const WatchDelta& delta : LiveQueries(store).take_changes().deltas) CHECK(!delta.reset);
}

TEST_CASE("a watch that is opened while a group is staged needs no reset if it is discarded") {
  Store store = people();
  REQUIRE(store.stage({remove("people", "p", "b")}, noon).changes);
  WatchClient client = watch(store);
  store.discard();
  CHECK(apply(store, client) == 0);
  CHECK(client.equals_query(store, TestHost()));
}

TEST_CASE("a feed cannot be opened while a group is staged, and other listeners do not notice") {
  TestHost host;
  const bool is_unloaded = GENERATE(true, false);
  Store store = is_unloaded ? unloaded(host) : people();
  if (is_unloaded) store.set_memory_limit(1);
  const bool is_first = GENERATE(true, false);
  if (!is_first) open_feed(store, {"others"});
  REQUIRE(
      store.stage({upsert("people", "p", "a", 5), upsert("people", "p", "b", 6)}, noon).changes);
  CHECK(!LiveQueries(store).open_feed({}).has_value());
  const bool is_published = GENERATE(true, false);
  is_published ? store.publish() : store.discard();
  CHECK(taken(store) == "");
  if (is_unloaded) host.load_parts(store, {1});
  open_feed(store);
  publish(store, {remove("people", "p", "b")});
  CHECK(taken(store) == (is_published ? "6: -b<6" : "4: -b<2"));
}

TEST_CASE("a watch that is opened before changes are taken reads what they led to") {
  Store store = people();
  open_feed(store);
  publish(store, {remove("people", "p", "a")});
  LiveQueries live(store);
  const WatchId id = live.open_watch("people", {});
  CHECK(live.take_changes().deltas.empty());
  CHECK(std::get<WatchPage>(live.read_watch(id, 10)).page.rows.size() == 1);
}

TEST_CASE("a limit that reads on tests a bounded number of rows in each call") {
  Store store = new_store();
  publish(store, {create("people"), insert("people", "", "first", 1)});
  constexpr int rows = 45'000;
  for (int row = 0; row < rows;) {
    std::vector<Operation> inserts;
    for (; inserts.size() < 100; ++row)
      inserts.push_back(operation(OperationKind::insert, "p", std::to_string(100'000 + row), 0));
    publish(store, {group("people", std::move(inserts))});
  }
  publish(store, {insert("people", "z", "last", 1)});
  WatchClient client = watch(store, "value eq 1", 1);
  REQUIRE(client.is_complete());
  publish(store, {remove("people", "", "first")});
  CHECK(apply(store, client) == 1);
  CHECK(client.rows().empty());
  CHECK_FALSE(client.is_complete());
  // Taking the changes has tested as many rows as each of the following calls, and ended with a
  // leaf.
  LiveQueries live(store);
  constexpr std::uint64_t leaf_rows = 1000;
  std::uint64_t tested = limits::watch_rows_tested_max;
  while (!client.is_complete()) {
    const auto answer = live.read_watch(client.id(), 1000);
    const auto& page = std::get<WatchPage>(answer);
    CHECK(page.page.rows_read <= limits::watch_rows_tested_max + leaf_rows);
    tested += page.page.rows_read;
    client.add(page);
  }
  CHECK(tested + leaf_rows >= rows);
  CHECK(tested <= rows + leaf_rows);
  CHECK(client.equals_query(store, TestHost()));
}

TEST_CASE("a listener that is not open is refused") {
  Store store = people();
  LiveQueries live(store);
  const WatchId watch = live.open_watch("people", {});
  const FeedId feed = open_feed(store);
  CHECK(live.close_watch(watch));
  CHECK(!live.close_watch(watch));
  CHECK(std::get<WatchRefusal>(live.read_watch(watch, 10)) == WatchRefusal::closed);
  CHECK(live.feed(feed) != nullptr);
  CHECK(live.close_feed(feed));
  CHECK(!live.close_feed(feed));
  CHECK(live.feed(feed) == nullptr);
}

namespace {

// Replaces a row by one of 480,000 characters.
WriteRequest replace_by_large(int value, std::string row = "a", std::string_view character = "x") {
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += character;
  Operation large = operation(OperationKind::insert_or_replace, "p", std::move(row), value);
  for (int i = 0; i < 16; ++i)
    large.properties.push_back({"text" + std::to_string(i), Value::of_string(text)});
  return write("people", std::move(large));
}

constexpr int too_many = 80;  // rows of that size

}  // namespace

TEST_CASE("the memory of recorded changes is counted") {
  Store store = people();
  store.write(replace_by_large(0), noon);
  open_feed(store);
  const std::uint64_t before = store.memory_bytes();
  store.write(replace_by_large(1), noon);
  CHECK(store.memory_bytes() > before + 480'000);
  CHECK(store.memory_bytes() == store.stats().memory_bytes);
  LiveQueries(store).take_changes();
  CHECK(store.memory_bytes() < before + 1'000);
}

TEST_CASE("changes that take too much memory are dropped, and not known any more") {
  Store store = people();
  store.write(replace_by_large(0), noon);
  WatchClient client = watch(store);
  const bool is_group = GENERATE(true, false);
  std::vector<WriteRequest> requests;
  for (int i = 1; i <= too_many; ++i) {
    if (is_group) {
      requests.push_back(replace_by_large(i));
    } else {
      store.write(replace_by_large(i), noon);
      store.mark_stored(store.seal()->sequence);
    }
  }
  if (is_group) publish(store, std::move(requests));
  CHECK(store.memory_bytes() < 3'000'000);
  const TakenChanges changes = LiveQueries(store).take_changes();
  REQUIRE(changes.batches.size() == 1);
  CHECK(changes.batches.front().unknown);
  REQUIRE(changes.deltas.size() == 1);
  client.apply(changes.deltas.front(), changes.rows);
  client.read(store, TestHost(), 1000);
  CHECK(client.equals_query(store, TestHost()));
  store.write(upsert("people", "p", "b", 7), noon);
  CHECK(apply(store, client) == 1);
  CHECK(client.equals_query(store, TestHost()));
}

TEST_CASE("recorded changes are freed when the last listener is closed") {
  Store store = people();
  Store other = people();  // without listeners
  const FeedId feed = open_feed(store);
  WatchClient client = watch(store);
  const bool is_staged = GENERATE(true, false);
  for (Store* const each : {&store, &other}) {
    each->write(replace_by_large(0), noon);
    if (is_staged) {
      REQUIRE(each->stage({replace_by_large(1)}, noon).changes);
    } else {
      each->write(replace_by_large(1), noon);
    }
  }
  LiveQueries(store).close_feed(feed);
  CHECK((is_staged || store.memory_bytes() > other.memory_bytes() + 480'000));
  LiveQueries(store).close_watch(client.id());
  if (is_staged) {
    store.publish();
    other.publish();
  }
  CHECK(store.memory_bytes() == other.memory_bytes());
  open_feed(store);
  CHECK(taken(store) == "");
  store.write(upsert("people", "p", "b", 7), noon);
  CHECK(taken(store) == "6: ~b=7<2");
}

TEST_CASE("what is not known of changes is forgotten when the last listener is closed") {
  Store store = people();
  const std::uint64_t kept = Versions(store).keep();
  const FeedId feed = open_feed(store);
  Versions(store).rollback(kept);
  LiveQueries(store).close_feed(feed);
  open_feed(store);
  CHECK(taken(store) == "");
}

TEST_CASE("recorded changes take an eighth of the memory limit at most") {
  Store store = people();
  constexpr std::uint64_t limit = 160 * 1'048'576;
  store.set_memory_limit(limit);
  store.write(replace_by_large(0), noon);
  const std::uint64_t before = store.memory_bytes();
  open_feed(store);
  for (int i = 1; i <= 43; ++i) store.write(replace_by_large(i), noon);
  CHECK(store.memory_bytes() > before + 43 * 480'000);
  store.write(replace_by_large(44), noon);
  CHECK(store.memory_bytes() < before + 1'000'000);
  CHECK(taken(store) == "48: unknown");
  // Ordinary writes are known with the smallest limit, too.
  store.set_memory_limit(1);
  store.write(upsert("people", "p", "b", 7), noon);
  CHECK(taken(store) == "49: ~b=7<2");
}

TEST_CASE("the changes of 16 large rows are known with the smallest memory limit, too") {
  Store store = people();
  store.write(replace_by_large(0, "a", "é"), noon);
  store.set_memory_limit(1);
  open_feed(store);
  const bool is_group = GENERATE(true, false);
  std::vector<WriteRequest> requests;
  for (int i = 1; i <= 16; ++i) {
    if (is_group) {
      requests.push_back(replace_by_large(i, "a", "é"));
    } else {
      store.write(replace_by_large(i, "a", "é"), noon);
    }
  }
  if (is_group) publish(store, std::move(requests));
  const TakenChanges changes = LiveQueries(store).take_changes();
  REQUIRE(changes.batches.size() == 16);
  CHECK(!changes.batches.front().unknown);
}

TEST_CASE("the host is to take changes before the next write if they take much memory") {
  Store store = people();
  store.write(replace_by_large(0), noon);
  CHECK(!store.must_take_changes());
  open_feed(store);
  for (int i = 1; i <= 8; ++i) store.write(replace_by_large(i), noon);
  CHECK(!store.must_take_changes());
  store.write(replace_by_large(9), noon);
  CHECK(store.must_take_changes());
  LiveQueries(store).take_changes();
  CHECK(!store.must_take_changes());
}

TEST_CASE("that a large table was dropped is known with the smallest memory limit, too") {
  Store store = people();
  for (int i = 0; i < 40; ++i) store.write(replace_by_large(i, std::to_string(i)), noon);
  store.set_memory_limit(1);
  open_feed(store);
  publish(store, {upsert("people", "p", "b", 7)});
  publish(store, {drop("people")});
  const std::uint64_t with_table = store.memory_bytes();
  CHECK(with_table > 40 * 480'000);
  CHECK(taken(store) == "44: ~b=7<2; 45: drop people");
  CHECK(store.memory_bytes() < 1'000'000);
}

TEST_CASE("a dropped table is kept only while changes of its rows were not taken") {
  Store store = people();
  store.write(replace_by_large(0), noon);
  open_feed(store);
  publish(store, {drop("people")});
  const TakenChanges none = LiveQueries(store).take_changes();
  CHECK(!none.batches.front().tables.front().dropped.has_value());
  publish(store, {create("people"), insert("people", "p", "a", 1)});
  publish(store, {drop("people")});
  CHECK(taken(store) == "6: create people; 7: +a=1; 8: drop people");
}

}  // namespace entitable
