#include "core/store/sync_tables.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/base/check.h"
#include "core/index/leaf.h"
#include "core/index/overlay.h"
#include "core/store/change_history.h"
#include "core/store/live_queries.h"
#include "core/store/outbox.h"
#include "core/store/restore.h"
#include "core/store/store_state.h"
#include "core/store/versions.h"
#include "tests/support/catch.h"
#include "tests/support/prng.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;

constexpr Ticks remote_time = noon + 5'000'001;

// Opens a store with an empty table "people" that is synced.
Store synced_store(const TestHost& host = {}) {
  auto opened = host.open();
  REQUIRE(opened.ok());
  Store store = std::move(*opened);
  SyncTables(store).enable();
  publish(store, {create("people"), SyncTables::start("people")});
  return store;
}

using Values = std::map<std::string, std::string>;

Values values_of(const RowView& row) {
  Values values;
  row.for_each_property([&](std::string_view name, const ValueView& value) {
    values[std::string(name)] = value_text(value);
  });
  return values;
}

// Properties are in the order of their names: a store that is opened may have another order.
std::string text_of(const RowView& row) {
  std::string text = std::string(row.partition()) + "|" + std::string(row.row_key()) + ":";
  for (const auto& [name, value] : values_of(row))
    text.append(" ").append(name).append("=").append(value);
  return text;
}

// Returns the rows of a hidden table, or of the table itself, a line each.
std::string rows_in(const TestHost& host, Store& store, std::optional<HiddenTable> hidden,
                    bool with_timestamps = false) {
  std::string text;
  Query query;
  query.top = 3;
  do {
    const auto answer =
        host.with_parts(store, [&] { return SyncTables(store).query("people", hidden, query); });
    const auto* page = std::get_if<Page>(&answer);
    if (page == nullptr) return "not synced";
    for (const RowView& row : page->rows) {
      text += text_of(row);
      if (with_timestamps) text += " @" + std::to_string(row.timestamp() - noon);
      text += "\n";
    }
    query.from = page->next;
  } while (query.from.has_value());
  return text;
}
std::string rows_in(Store& store, std::optional<HiddenTable> hidden) {
  return rows_in(TestHost(), store, hidden);
}

// Returns everything that the store has of a synced table.
std::string content_of(const TestHost& host, Store& store) {
  std::string text = rows_in(host, store, std::nullopt, true);
  for (std::uint8_t kind = 0; kind <= hidden_table_kind_mask; ++kind)
    text += "#" + std::to_string(kind) + "\n" + rows_in(host, store, HiddenTable{kind}, true);
  return text;
}

// The key of an operation in the outbox: that of the `position`th of a commit.
std::string number_of(std::uint64_t commit, std::uint64_t position = 0) {
  std::string text = std::to_string(commit * OutboxWriter::operations_per_commit + position);
  return std::string(16 - text.size(), '0') + text;
}

SyncedRow remote_row(std::string row, std::int32_t value, Ticks timestamp = remote_time) {
  return {std::nullopt, EntityKey("p", std::move(row)), false, timestamp,
          std::vector<Property>{{"value", Value::of_int32(value)}}};
}

WriteResult apply(Store& store, const SyncedChanges& changes) {
  const StageResult staged = store.stage({SyncTables::apply(changes)}, noon);
  REQUIRE(staged.parts_needed.empty());
  if (staged.changes) store.publish();
  return staged.results.at(0);
}

SyncedChanges changes_of(const Store& store, std::vector<SyncedRow> rows) {
  return {"people", store.last_commit(), std::move(rows)};
}

}  // namespace

TEST_CASE("a local write is in the outbox in the same commit, with its Base") {
  Store store = synced_store();
  publish(store, {insert("people", "p", "a", 1)});
  const std::string first = "p|" + number_of(3);
  CHECK(rows_in(store, HiddenTable::outbox) == first + ": _Key=a _Kind=0 value=1\n");
  CHECK(rows_in(store, HiddenTable::bases) == "p|a: _Kind=0\n");
  CHECK(rows_in(store, HiddenTable::base_rows).empty());

  publish(store, {upsert("people", "p", "a", 2)});
  publish(store, {remove("people", "p", "a")});
  CHECK(rows_in(store, HiddenTable::outbox) == first + ": _Key=a _Kind=0 value=1\n" + "p|" +
                                                   number_of(4) + ": _Key=a _Kind=1 value=2\n" +
                                                   "p|" + number_of(5) + ": _Key=a _Kind=2\n");
  CHECK(rows_in(store, HiddenTable::bases) == "p|a: _Kind=0\n");
  CHECK(rows_of(store, "people").empty());
  CHECK(store.verify().empty());
}

TEST_CASE("the Base of a clean row is the row as the remote had it") {
  Store store = synced_store();
  REQUIRE(succeeded(apply(store, changes_of(store, {remote_row("a", 1), remote_row("b", 2)}))));
  CHECK(rows_in(store, HiddenTable::bases).empty());
  CHECK(rows_in(store, HiddenTable::outbox).empty());
  Operation merge = operation(OperationKind::merge, "p", "a", 5);
  merge.properties.push_back({"more", Value::of_string("x")});
  publish(store, {write("people", merge)});
  publish(store, {write("people", merge)});
  const TestHost host;
  CHECK(rows_in(host, store, HiddenTable::bases, true) ==
        "p|a: _Kind=1 value=1 @" + std::to_string(remote_time - noon) + "\n");
  // The second write makes no difference, but it is an operation: the row has a new Timestamp.
  const std::string number = number_of(store.last_commit() - 1);
  CHECK(rows_in(store, HiddenTable::outbox) == "p|" + number + ": _Key=a _Kind=1 more=x value=5\n" +
                                                   "p|" + number_of(store.last_commit()) +
                                                   ": _Key=a _Kind=1\n");
  CHECK(rows_of(store, "people") == "a=5 b=2");
}

TEST_CASE("properties that a write removes are in the outbox") {
  Store store = synced_store();
  SyncedRow row = remote_row("a", 1);
  row.properties.push_back({"gone", Value::of_string("x")});
  REQUIRE(succeeded(apply(store, changes_of(store, {row}))));
  publish(store, {upsert("people", "p", "a", 1)});
  const std::string number = number_of(store.last_commit());
  CHECK(rows_in(store, HiddenTable::outbox) ==
        "p|" + number + ": _Key=a _Kind=1\n" + "p|" + number + "u: gone=true\n");
}

TEST_CASE("properties that have the name of one of the outbox are in rows of their own") {
  Store store = synced_store();
  SyncedRow row = remote_row("a", 1);
  row.properties.push_back({"_Key", Value::of_string("theirs")});
  REQUIRE(succeeded(apply(store, changes_of(store, {row}))));
  Operation edit = operation(OperationKind::replace, "p", "a", 2);
  edit.properties.push_back({"_Kind", Value::of_int32(9)});
  edit.properties.push_back({"more", Value::of_int32(3)});
  publish(store, {write("people", edit)});
  const std::string number = "p|" + number_of(store.last_commit());
  CHECK(rows_in(store, HiddenTable::outbox) == number + ": _Key=a _Kind=1 value=2\n" + number +
                                                   "s0: _Kind=9 more=3\n" + number +
                                                   "u: _Key=true\n");
  CHECK(rows_in(store, HiddenTable::bases) == "p|a: _Kind=4\n");
  CHECK(rows_in(store, HiddenTable::base_rows) == "p|a: _Key=theirs value=1\n");
}

TEST_CASE("an ETag that does not follow from the Timestamp moves to the Base") {
  Store store = synced_store();
  const SyncedRow etag{HiddenTable::etags, EntityKey("p", "a"), false, 0,
                       std::vector<Property>{{"_Etag", Value::of_string("W/\"7\"")}}};
  REQUIRE(succeeded(apply(store, changes_of(store, {remote_row("a", 1), etag}))));
  CHECK(rows_in(store, HiddenTable::etags) == "p|a: _Etag=W/\"7\"\n");
  publish(store, {upsert("people", "p", "a", 2)});
  CHECK(rows_in(store, HiddenTable::etags).empty());
  CHECK(rows_in(store, HiddenTable::bases) == "p|a: _Etag=W/\"7\" _Kind=1 value=1\n");
}

TEST_CASE("the operations of a transaction are numbered in their order") {
  Store store = synced_store();
  REQUIRE(succeeded(apply(store, changes_of(store, {remote_row("b", 1), remote_row("c", 1)}))));
  publish(store, {group("people", {operation(OperationKind::remove, "p", "c"),
                                   operation(OperationKind::insert, "p", "a", 7),
                                   operation(OperationKind::replace, "p", "b", 8)})});
  const std::uint64_t commit = store.last_commit();
  CHECK(rows_in(store, HiddenTable::outbox) ==
        "p|" + number_of(commit, 0) + ": _Key=c _Kind=2\n" + "p|" + number_of(commit, 1) +
            ": _Key=a _Kind=0 value=7\n" + "p|" + number_of(commit, 2) +
            ": _Key=b _Kind=1 value=8\n");
  CHECK(rows_in(store, HiddenTable::bases) ==
        "p|a: _Kind=0\np|b: _Kind=1 value=1\np|c: _Kind=1 value=1\n");
  CHECK(rows_of(store, "people") == "a=7 b=8");
}

TEST_CASE("a write that fails is not in the outbox") {
  Store store = synced_store();
  const StageResult staged =
      store.stage({remove("people", "p", "a"),
                   group("people", {operation(OperationKind::insert, "p", "a", 1),
                                    operation(OperationKind::replace, "p", "b", 1)})},
                  noon);
  CHECK(code_of(staged.results.at(0)) == ErrorCode::resource_not_found);
  CHECK(code_of(staged.results.at(1)) == ErrorCode::resource_not_found);
  CHECK_FALSE(staged.changes);
  CHECK(rows_in(store, HiddenTable::outbox).empty());
}

TEST_CASE("the largest entity is recorded in rows that obey the limits") {
  TestHost host;
  Store store = synced_store(host);
  Operation large = operation(OperationKind::insert, std::string(limits::key_units_max, 'p'), "");
  large.properties.clear();
  for (int i = 0; i < 15; ++i) {
    large.properties.push_back(
        {"s" + std::to_string(i), Value::of_string(std::string(limits::string_units_max, 'x'))});
  }
  for (std::size_t i = large.properties.size(); i < limits::custom_properties_max; ++i)
    large.properties.push_back({"p" + std::to_string(i), Value::of_boolean(true)});
  publish(store, {write("people", large)});
  Operation other = operation(OperationKind::replace, large.key.partition, "");
  publish(store, {write("people", other)});
  const std::string before = content_of(host, store);
  host.store_pending(store);
  auto reopened = host.open();
  REQUIRE(reopened.ok());
  CHECK_FALSE(reopened->is_damaged());
  CHECK(content_of(host, *reopened) == before);
}

TEST_CASE("hidden tables cannot be named, and are not listed or counted") {
  TestHost host;
  Store store = synced_store(host);
  publish(store, {insert("people", "p", "a", 1)});
  const auto page = store.tables({}, 1000, "");
  REQUIRE(page.ok());
  CHECK(page->names == std::vector<std::string>{"people"});
  CHECK(store.stats().tables.size() == 1);
  CHECK(store.stats().rows == 1);
  for (const char* const name : {"", "$outbox", "$3.outbox", "2147483680"}) {
    CHECK(std::get<Error>(store.query(name, {})).code == ErrorCode::table_not_found);
    CHECK(std::get<Error>(store.get(name, {"p", "a"})).code == ErrorCode::table_not_found);
    const StageResult staged =
        store.stage({create(name), drop(name), insert(name, "p", "a")}, noon);
    for (const WriteResult& result : staged.results) CHECK_FALSE(succeeded(result));
    CHECK_FALSE(staged.changes);
  }
  // A snapshot has only the table.
  TestHost other;
  Store restored = new_store();
  Restore restore(restored);
  REQUIRE(other.store_parts(restore, host.snapshot(store)).ok());
  const auto report = restore.finish_reading();
  REQUIRE(report.ok());
  CHECK(report->tables == 1);
  CHECK(report->entities == 1);
}

TEST_CASE("listeners and the change feed do not see hidden tables") {
  TestHost host;
  Store store = synced_store(host);
  LiveQueries live(store);
  const auto feed = live.open_feed({});
  REQUIRE(feed.has_value());
  publish(store, {insert("people", "p", "a", 1)});
  REQUIRE(succeeded(
      apply(store, changes_of(store, {{HiddenTable::marks, EntityKey("p", "a"), false, 0, {}}}))));
  const auto taken = live.take_changes();
  REQUIRE(taken.batches.size() == 1);
  CHECK(taken.batches.front().rows.size() == 1);
  host.store_pending(store);
  ChangeHistory history(store, FeedPosition{1, 2});
  std::size_t rows = 0;
  for (const auto& [sequence, bytes] : host.segments) {
    const auto past = history.read_segment(sequence, bytes);
    REQUIRE(past.ok());
    for (const ChangeBatch& batch : past->batches) rows += batch.rows.size();
  }
  CHECK_FALSE(history.is_truncated());
  CHECK(rows == 1);
}

TEST_CASE("changes are applied only to the version that was seen") {
  Store store = synced_store();
  SyncedChanges changes = changes_of(store, {remote_row("a", 1)});
  publish(store, {insert("people", "p", "b", 2)});
  CHECK(code_of(apply(store, changes)) == ErrorCode::update_condition_not_satisfied);
  CHECK(rows_of(store, "people") == "b=2");
  changes.seen_commit = store.last_commit();
  CHECK(succeeded(apply(store, changes)));
  CHECK(rows_of(store, "people") == "a=1 b=2");
  CHECK(code_of(apply(store, changes)) == ErrorCode::update_condition_not_satisfied);
}

TEST_CASE("changes keep the remote's Timestamp, and later writes have later ones") {
  TestHost host;
  Store store = synced_store(host);
  REQUIRE(succeeded(apply(store, changes_of(store, {remote_row("a", 1), remote_row("b", 1, 7)}))));
  publish(store, {insert("people", "p", "c", 2)});
  const auto get = [&](const char* row) {
    return std::get<PinnedRow>(store.get("people", {"p", row})).row.timestamp();
  };
  CHECK(get("a") == remote_time);
  CHECK(get("b") == 7);
  CHECK(get("c") > remote_time);
}

TEST_CASE("changes are checked before any is applied") {
  Store store = synced_store();
  const auto code = [&](std::vector<SyncedRow> rows) {
    rows.insert(rows.begin(), remote_row("first", 1));
    const WriteResult result = apply(store, changes_of(store, std::move(rows)));
    return succeeded(result) ? ErrorCode::internal_error : code_of(result);
  };
  SyncedRow row = remote_row("first", 2);
  CHECK(code({row}) == ErrorCode::invalid_input);
  row = remote_row("a", 1, -1);
  CHECK(code({row}) == ErrorCode::invalid_input);
  row = remote_row("a", 1, limits::date_time_ticks_max - 199);
  CHECK(code({row}) == ErrorCode::invalid_input);
  row = remote_row("a", 1);
  row.key.row = "a/b";
  CHECK(code({row}) != ErrorCode::internal_error);
  row = remote_row("a", 1);
  row.properties.push_back({"value", Value::of_int32(2)});
  CHECK(code({row}) == ErrorCode::duplicate_properties);
  row = remote_row("a", 1);
  for (int i = 0; i < 16; ++i)
    row.properties.push_back({"b" + std::to_string(i), Value::of_binary(std::string(65'536, 'x'))});
  CHECK(code({row}) == ErrorCode::entity_too_large);
  CHECK(rows_of(store, "people").empty());
  CHECK(code({remote_row("a", 1, limits::date_time_ticks_max - 200)}) == ErrorCode::internal_error);
  SyncedChanges other = changes_of(store, {});
  other.table = "cities";
  CHECK(code_of(apply(store, other)) == ErrorCode::table_not_found);
}

TEST_CASE("a store keeps the rows of hidden tables whose kind it does not know") {
  constexpr HiddenTable unknown{hidden_table_kind_mask};
  TestHost host;
  Store store = synced_store(host);
  publish(store, {insert("people", "p", "a", 1)});
  REQUIRE(
      succeeded(apply(store, changes_of(store, {{unknown, EntityKey("p", "a"), false, 0, {}}}))));
  host.store_pending(store);
  const std::string content = content_of(host, store);
  auto replayed = host.open();
  REQUIRE(replayed.ok());
  CHECK(content_of(host, *replayed) == content);
  // Also across checkpoints, and after writes.
  SyncTables(*replayed).enable();
  publish(*replayed, {insert("people", "p", "b", 1)});
  host.store_pending(*replayed);
  REQUIRE(replayed->begin_checkpoint());
  REQUIRE(host.write_checkpoint(*replayed));
  auto opened = host.open(TestHost::Load::on_demand);
  REQUIRE(opened.ok());
  CHECK_FALSE(opened->is_damaged());
  CHECK(rows_in(host, *opened, unknown) == "p|a:\n");
  CHECK(content_of(host, *opened) == content_of(host, *replayed));
}

TEST_CASE("pending operations are not lost without a word") {
  TestHost host;
  Store store = synced_store(host);
  const auto has_pending = [&](Store& of) {
    return std::get<bool>(
        host.with_parts(of, [&] { return SyncTables(of).has_pending_operations(); }));
  };
  const auto code = [&](Store& of, const WriteRequest& request) {
    const StageResult staged = host.stage(of, {request}, noon);
    CHECK_FALSE(staged.changes);
    return code_of(staged.results.at(0));
  };
  CHECK_FALSE(has_pending(store));
  REQUIRE(succeeded(apply(store, changes_of(store, {remote_row("a", 1)}))));
  CHECK_FALSE(has_pending(store));
  publish(store, {insert("people", "p", "b", 1), create("cities"), drop("cities")});
  CHECK(has_pending(store));
  CHECK(code(store, drop("people")) == ErrorCode::table_has_pending_operations);
  CHECK(code(store, SyncTables::stop("people", false)) == ErrorCode::table_has_pending_operations);
  host.store_pending(store);
  REQUIRE(store.begin_checkpoint());
  REQUIRE(host.write_checkpoint(store));
  auto opened = host.open(TestHost::Load::on_demand);
  REQUIRE(opened.ok());
  CHECK(has_pending(*opened));
  auto other = host.open(TestHost::Load::on_demand);
  REQUIRE(other.ok());
  CHECK(code(*other, drop("people")) == ErrorCode::table_has_pending_operations);
  // A parked group is pending, too.
  const std::string number = number_of(store.last_commit() - 2);
  SyncedChanges park =
      changes_of(store, {{HiddenTable::outbox, EntityKey("p", number), true, 0, {}},
                         {HiddenTable::outbox, EntityKey("p", number + "s0"), true, 0, {}},
                         {HiddenTable::parked, EntityKey("p", "1"), false, 0, {}}});
  REQUIRE(succeeded(apply(store, park)));
  CHECK(rows_in(host, store, HiddenTable::outbox).empty());
  CHECK(code(store, drop("people")) == ErrorCode::table_has_pending_operations);
  REQUIRE(succeeded(
      apply(store, changes_of(store, {{HiddenTable::parked, EntityKey("p", "1"), true, 0, {}}}))));
  CHECK_FALSE(has_pending(store));
  publish(store, {insert("people", "p", "c", 1)});
  publish(store, {SyncTables::stop("people", true)});
  publish(store, {drop("people")});
  CHECK(store.verify().empty());
}

TEST_CASE("a row of sync that is malformed is as if it were absent") {
  Store store = synced_store();
  for (const Value& etag : {Value::of_int32(7), Value::of_binary("W")}) {
    const std::string key = etag.type() == EdmType::int32 ? "a" : "b";
    REQUIRE(
        succeeded(apply(store, changes_of(store, {remote_row(key, 1),
                                                  {HiddenTable::etags, EntityKey("p", key), false,
                                                   0, std::vector<Property>{{"_Etag", etag}}}}))));
    publish(store, {upsert("people", "p", key.c_str(), 2)});
  }
  CHECK(rows_in(store, HiddenTable::bases) == "p|a: _Kind=1 value=1\np|b: _Kind=1 value=1\n");
  CHECK(rows_in(store, HiddenTable::etags).empty());
}

TEST_CASE("changes that change nothing make no commit") {
  Store store = synced_store();
  const std::uint64_t before = store.last_commit();
  REQUIRE(succeeded(apply(store, changes_of(store, {}))));
  REQUIRE(succeeded(
      apply(store, changes_of(store, {{HiddenTable::marks, EntityKey("p", "a"), true, 0, {}},
                                      {std::nullopt, EntityKey("p", "a"), true, 0, {}}}))));
  CHECK(store.last_commit() == before);
}

TEST_CASE("one commit may change any number of rows") {
  Store store = synced_store();
  std::vector<SyncedRow> rows;
  for (int i = 0; i < 100'001; ++i)
    rows.push_back({HiddenTable::outbox, EntityKey("p", std::to_string(i)), true, 0, {}});
  rows.push_back(remote_row("a", 1));
  CHECK(succeeded(apply(store, changes_of(store, std::move(rows)))));
  CHECK(rows_of(store, "people") == "a=1");
}

TEST_CASE("statistics and snapshots load no hidden parts") {
  TestHost host;
  Store store = synced_store(host);
  publish(store, {insert("people", "p", "a", 1)});
  host.store_pending(store);
  REQUIRE(store.begin_checkpoint());
  REQUIRE(host.write_checkpoint(store));
  // Recovery adds changes of rows that it does not know to the overlays of hidden parts.
  publish(store, {upsert("people", "p", "b", 1)});
  host.store_pending(store);
  auto opened = host.open(TestHost::Load::on_demand);
  REQUIRE(opened.ok());
  const TableId people = opened->state().published.catalog.find("people")->id();
  for (const PartId id : opened->parts_with_inexact_counts())
    CHECK(opened->state().parts.find(id)->table == people);
  host.snapshot(*opened);
  const Table* const outbox =
      opened->state().published.catalog.find_hidden(people, HiddenTable::outbox);
  for (LeafIterator walk(outbox->index); !walk.done(); walk.next())
    CHECK(walk.leaf_info().unloaded);
}

TEST_CASE("writes do not become slower with the number of pending operations") {
  TestHost host;
  Store store = synced_store(host);
  publish(store, {insert("people", "p", "a", 1)});
  host.store_pending(store);
  REQUIRE(store.begin_checkpoint());
  REQUIRE(host.write_checkpoint(store));
  auto opened = host.open(TestHost::Load::on_demand);
  REQUIRE(opened.ok());
  SyncTables(*opened).enable();
  // A write that is stored before it is published copies the overlay of a part that is not in
  // memory, so the overlay must not grow with each operation.
  std::uint64_t overlay_max = 0;
  for (int i = 0; i < 4000; ++i) {
    const StageResult staged =
        host.stage(*opened, {upsert("people", "p", ("k" + std::to_string(i)).c_str(), i)}, noon);
    REQUIRE(staged.changes);
    opened->publish();
    for (const Ref<Table>& table : opened->state().published.catalog.tables()) {
      for (LeafIterator walk(table->index); !walk.done(); walk.next()) {
        if (walk.leaf().is_unloaded() && walk.leaf().overlay())
          overlay_max = std::max(overlay_max, walk.leaf().overlay()->memory_bytes());
      }
    }
  }
  CHECK(overlay_max > Overlay::bytes_max / 2);
  CHECK(overlay_max < Overlay::bytes_max + 1000);
  CHECK(opened->verify().empty());
}

TEST_CASE("syncing begins with an empty table, and ends with its rows") {
  Store store = synced_store();
  publish(store, {create("cities"), insert("cities", "p", "a", 1), create("orders")});
  const auto code = [&](WriteRequest request) {
    const StageResult staged = store.stage({request}, noon);
    CHECK_FALSE(staged.changes);
    return code_of(staged.results.at(0));
  };
  CHECK(code(SyncTables::start("people")) == ErrorCode::table_already_exists);
  CHECK(code(SyncTables::start("cities")) == ErrorCode::invalid_input);
  CHECK(code(SyncTables::start("absent")) == ErrorCode::table_not_found);
  CHECK(code(SyncTables::stop("orders", true)) == ErrorCode::table_not_found);
  publish(store, {insert("people", "p", "a", 1)});
  CHECK(store.has_synced_tables());
  publish(store, {SyncTables::stop("PEOPLE", true), insert("people", "p", "b", 2)});
  CHECK_FALSE(store.has_synced_tables());
  CHECK(rows_in(store, HiddenTable::outbox) == "not synced");
  CHECK(rows_of(store, "people") == "a=1 b=2");
  publish(store, {SyncTables::start("orders"), drop("orders")});
  CHECK_FALSE(store.has_synced_tables());
  CHECK(store.verify().empty());
}

TEST_CASE("a restore begins syncing tables with the rows of its file, and leaves the others out") {
  Store source = new_store();
  publish(source, {create("cities"), insert("cities", "p", "x", 9), create("People"),
                   insert("People", "p", "a", 1), insert("People", "p", "b", 2), create("zoo"),
                   insert("zoo", "p", "y", 9)});
  TestHost host;
  auto opened = host.open();
  REQUIRE(opened.ok());
  Store& store = *opened;
  {
    Restore restore(store);
    restore.keep_as_synced({"people", "none"});
    REQUIRE(host.store_parts(restore, host.snapshot(source)).ok());
    const auto report = restore.finish_reading();
    REQUIRE(report.ok());
    REQUIRE(restore.begin_replace(std::nullopt));
    CHECK(!host.next_part(store).has_value());
    FinishedCheckpoint end = store.finish_checkpoint(no_history);
    host.manifest = std::move(end.manifest);
    store.mark_checkpoint_committed();
  }
  CHECK(store.has_synced_tables());
  CHECK(SyncTables(store).is_synced("people"));
  CHECK(store.stats().rows == 2);
  CHECK(host.parts.size() == 1);
  // No write comes between the two: one is not staged without the code that records it.
  const StageResult early = store.stage({upsert("people", "p", "a", 3)}, noon);
  CHECK(early.parts_needed == std::vector<PartId>{outbox_code});
  auto again = host.open();
  REQUIRE(again.ok());
  for (Store* const both : {&store, &*again}) {
    SyncTables(*both).enable();
    CHECK(rows_in(host, *both, std::nullopt) == "p|a: value=1\np|b: value=2\n");
    CHECK(rows_in(host, *both, HiddenTable::outbox).empty());
    CHECK(rows_in(host, *both, HiddenTable::bases).empty());
    host.stage(*both, {upsert("people", "p", "a", 2)}, noon);
    both->publish();
    CHECK(rows_in(host, *both, HiddenTable::bases) == "p|a: _Kind=1 value=1\n");
    CHECK(both->verify().empty());
  }
}

TEST_CASE("a write of a synced table needs the code that records it") {
  TestHost host;
  Store store = synced_store(host);
  publish(store, {insert("people", "p", "a", 1), create("cities")});
  host.store_pending(store);
  auto reopened = host.open();
  REQUIRE(reopened.ok());
  CHECK(reopened->has_synced_tables());
  const std::vector<PartId> code_needed = {outbox_code};
  const std::vector<WriteRequest> writes = {insert("cities", "p", "b", 1),
                                            upsert("people", "p", "a", 2)};
  CHECK(reopened->stage(writes, noon).parts_needed == code_needed);
  CHECK(reopened->write(writes[1], noon).parts_needed == code_needed);
  CHECK(rows_of(*reopened, "people") == "a=1");
  publish(*reopened, {insert("cities", "p", "a", 1)});
  SyncTables(*reopened).enable();
  publish(*reopened, {upsert("people", "p", "a", 2)});
  CHECK(rows_of(*reopened, "people") == "a=2");
}

TEST_CASE("a fork records the writes of its synced tables") {
  Store store = synced_store();
  Store fork = Versions(store).fork_store();
  publish(fork, {insert("people", "p", "a", 1)});
  CHECK(rows_in(fork, HiddenTable::bases) == "p|a: _Kind=0\n");
  CHECK(rows_in(store, HiddenTable::bases).empty());
}

// ---- Random runs --------------------------------------------------------------------------------

namespace {

// The state of a synced table by key, as sync reads it.
struct SyncedState {
  struct Operation {
    std::int32_t kind = 0;
    Values set;
    std::vector<std::string> unset;
  };
  std::map<std::string, Values> rows;
  std::map<std::string, std::int32_t> bases;  // BaseKind
  std::map<std::string, Values> base_rows;
  std::map<std::string, std::vector<Operation>> operations;  // in their order
};

template <typename OnRow>
void for_each_row(const TestHost& host, Store& store, std::optional<HiddenTable> hidden,
                  OnRow on_row) {
  Query query;
  query.top = 5;
  do {
    const auto answer =
        host.with_parts(store, [&] { return SyncTables(store).query("people", hidden, query); });
    const Page& page = std::get<Page>(answer);
    for (const RowView& row : page.rows) on_row(std::string(row.row_key()), values_of(row));
    query.from = page.next;
  } while (query.from.has_value());
}

SyncedState state_of(const TestHost& host, Store& store) {
  SyncedState state;
  for_each_row(host, store, std::nullopt,
               [&](const std::string& key, const Values& values) { state.rows[key] = values; });
  for_each_row(host, store, HiddenTable::bases, [&](const std::string& key, const Values& values) {
    const std::int32_t kind = state.bases[key] = std::stoi(values.at("_Kind"));
    if (kind != static_cast<std::int32_t>(BaseKind::row)) return;
    state.base_rows[key] = values;
    state.base_rows[key].erase("_Kind");
  });
  for_each_row(
      host, store, HiddenTable::base_rows,
      [&](const std::string& key, const Values& values) { state.base_rows[key] = values; });
  SyncedState::Operation* last = &state.operations["none"].emplace_back();
  for_each_row(host, store, HiddenTable::outbox,
               [&](const std::string& number, const Values& values) {
                 constexpr std::size_t digits = 16;
                 if (number.size() == digits) {
                   last = &state.operations[values.at("_Key")].emplace_back();
                   last->kind = std::stoi(values.at("_Kind"));
                   last->set = values;
                   last->set.erase("_Key");
                   last->set.erase("_Kind");
                 } else if (number[digits] == 's') {
                   last->set.insert(values.begin(), values.end());
                 } else {
                   for (const auto& [name, value] : values) last->unset.push_back(name);
                 }
               });
  if (state.operations["none"].front().set.empty()) state.operations.erase("none");
  return state;
}

// Returns the row that the operations make of the Base, or "error" if one has no meaning.
std::optional<Values> apply_operations(std::optional<Values> row,
                                       const std::vector<SyncedState::Operation>& operations) {
  const Values error = {{"error", ""}};
  for (const auto& [kind, set, unset] : operations) {
    if (kind == static_cast<std::int32_t>(OutboxOperation::create)) {
      if (row.has_value()) return error;
      row = set;
    } else if (!row.has_value()) {
      return error;
    } else if (kind == static_cast<std::int32_t>(OutboxOperation::remove)) {
      row.reset();
    } else {
      for (const std::string& name : unset) {
        if (row->erase(name) != 1) return error;
      }
      for (const auto& [name, value] : set) (*row)[name] = value;
    }
  }
  return row;
}

// Returns what is wrong: a row that is neither the remote's nor its Base with its operations.
// `remote`: the rows that were applied last.
std::string check_state(const SyncedState& state, const std::map<std::string, Values>& remote) {
  std::map<std::string, bool> keys;
  for (const auto& [key, row] : state.rows) keys[key];
  for (const auto& [key, row] : remote) keys[key];
  for (const auto& [key, kind] : state.bases) keys[key];
  for (const auto& [key, operations] : state.operations) keys[key];
  const auto find = [](const std::map<std::string, Values>& rows, const std::string& key) {
    const auto at = rows.find(key);
    return at == rows.end() ? std::nullopt : std::optional<Values>(at->second);
  };
  for (const auto& [key, ignored] : keys) {
    const std::optional<Values> theirs = find(remote, key);
    const auto base = state.bases.find(key);
    if (base == state.bases.end()) {
      if (state.operations.count(key) != 0) return key + " has operations without a Base";
      if (find(state.rows, key) != theirs) return key + " is clean, but not the remote's";
      continue;
    }
    const std::optional<Values> kept = find(state.base_rows, key);
    if (kept != theirs) return key + " has another Base than the remote's row";
    if (kept.has_value() != (base->second != static_cast<std::int32_t>(BaseKind::absent)))
      return key + " has a Base of the wrong kind";
    if (state.operations.count(key) == 0) return key + " has a Base without operations";
    if (apply_operations(kept, state.operations.at(key)) != find(state.rows, key))
      return key + " is not its Base with its operations";
  }
  return {};
}

// Random writes, changes of the remote and checkpoints, half of them with a memory limit. After
// each file that is stored, a store is opened from the files: it must have what the live store had
// after the last commit in the files.
class RandomRun {
 public:
  RandomRun(std::uint64_t seed, Store store) : prng_(seed), store_(std::move(store)) {
    store_.set_part_bytes(400);
    if (seed % 2 == 0) store_.set_memory_limit(40'000);
    host_.store_pending(store_);
    note();
  }

  // Returns the first violation, or an empty text.
  std::string run(int steps) {
    for (int step = 0; step < steps && wrong_.empty(); ++step) {
      switch (prng_.below(8)) {
        case 0:
          apply_remote();
          break;
        case 1:
          settle();
          break;
        case 2:
          checkpoint();
          break;
        case 3:
          host_.store_pending(store_);
          check_crash();
          break;
        default:
          write();
      }
      note();
      store_.enforce_memory_limit();
    }
    host_.store_pending(store_);
    check_crash();
    return wrong_;
  }

 private:
  void note() {
    contents_[store_.last_commit()] = content_of(host_, store_);
    fail_if(check_state(state_of(host_, store_), remote_));
    fail_if(store_.verify());
  }

  void fail_if(std::string wrong) {
    if (wrong_.empty()) wrong_ = std::move(wrong);
  }

  void check_crash() {
    auto opened = host_.open(TestHost::Load::on_demand);
    REQUIRE(opened.ok());
    if (opened->is_damaged()) return fail_if("the files are damaged");
    const auto expected = contents_.find(opened->last_commit());
    if (expected == contents_.end()) return fail_if("the files have another commit");
    if (content_of(host_, *opened) != expected->second) fail_if("the content differs");
    fail_if(opened->verify());
  }

  void checkpoint() {
    if (!store_.begin_checkpoint()) return;
    const bool ends = host_.write_checkpoint(store_, prng_.chance(2) ? prng_.below(4) : SIZE_MAX);
    check_crash();
    if (!ends) store_.abandon_checkpoint();
  }

  void write() {
    std::vector<Operation> operations;
    for (char row = 'a'; row < 'j'; ++row) {
      if (!prng_.chance(5)) continue;
      Operation next = operation(
          prng_.chance(3) ? OperationKind::insert_or_merge : OperationKind::insert_or_replace, "p",
          std::string(1, row), static_cast<std::int32_t>(prng_.below(3)));
      if (prng_.chance(2)) next.properties.push_back({"more", Value::of_string("x")});
      if (prng_.chance(6)) next.properties.push_back({"_Kind", Value::of_string("y")});
      if (prng_.chance(4)) next = operation(OperationKind::remove, "p", std::string(1, row));
      operations.push_back(std::move(next));
    }
    if (operations.empty()) return;
    const StageResult staged = host_.stage(store_, {group("people", operations)}, noon);
    if (staged.changes) store_.publish();
  }

  SyncedRow random_remote_row(const std::string& key, Values& values) {
    const auto value = static_cast<std::int32_t>(prng_.below(9));
    SyncedRow row = remote_row(key, value, static_cast<Ticks>(store_.last_commit()) + 9);
    values = {{"value", std::to_string(value)}};
    if (!prng_.chance(3)) return row;
    const std::string name = prng_.chance(2) ? "_Key" : "theirs";  // "_Key": its Base is apart
    row.properties.push_back({name, Value::of_boolean(true)});
    values[name] = "true";
    return row;
  }

  // Applies rows of the remote to clean keys.
  void apply_remote() {
    const SyncedState state = state_of(host_, store_);
    std::vector<SyncedRow> rows;
    for (char letter = 'a'; letter < 'j'; ++letter) {
      const std::string key(1, letter);
      if (state.bases.count(key) != 0 || !prng_.chance(2)) continue;
      rows.push_back({HiddenTable::marks, EntityKey("p", key), prng_.chance(2), 0, {}});
      if (prng_.chance(4)) {
        rows.push_back({std::nullopt, EntityKey("p", key), true, 0, {}});
        remote_.erase(key);
      } else {
        rows.push_back(random_remote_row(key, remote_[key]));
      }
    }
    commit(std::move(rows));
  }

  // The remote has accepted all operations: all keys become clean.
  void settle() {
    const SyncedState state = state_of(host_, store_);
    std::vector<SyncedRow> rows;
    for (const auto& [key, kind] : state.bases) {
      rows.push_back({HiddenTable::bases, EntityKey("p", key), true, 0, {}});
      rows.push_back({HiddenTable::base_rows, EntityKey("p", key), true, 0, {}});
      const auto row = state.rows.find(key);
      if (row == state.rows.end()) {
        remote_.erase(key);
      } else {
        remote_[key] = row->second;
      }
    }
    for_each_row(host_, store_, HiddenTable::outbox, [&](const std::string& number, const Values&) {
      rows.push_back({HiddenTable::outbox, EntityKey("p", number), true, 0, {}});
    });
    commit(std::move(rows));
  }

  void commit(std::vector<SyncedRow> rows) {
    const SyncedChanges changes = changes_of(store_, std::move(rows));
    const StageResult staged = host_.stage(store_, {SyncTables::apply(changes)}, noon);
    REQUIRE(succeeded(staged.results.at(0)));
    if (staged.changes) store_.publish();
  }

  Prng prng_;
  TestHost host_;
  Store store_;
  std::map<std::uint64_t, std::string> contents_;  // by commit
  std::map<std::string, Values> remote_;
  std::string wrong_;
};

// An outbox with a defect: it leaves out one kind of its rows, if there are any.
class BrokenOutbox final : public OutboxWriter {
 public:
  explicit BrokenOutbox(HiddenTable left_out) : left_out_(left_out) {}
  std::unique_ptr<OutboxWriter> make_another() const override {
    return std::make_unique<BrokenOutbox>(left_out_);
  }
  std::optional<Failure> add_operations(const LocalWrite& write, StagedMutations& staged) override {
    if (auto failed = outbox_.add_operations(write, staged)) return failed;
    const auto at = std::find_if(
        staged.mutations.begin(), staged.mutations.end(), [&](const Mutation& mutation) {
          const auto* put = std::get_if<PutRow>(&mutation);
          return put != nullptr && is_hidden_table(put->table) &&
                 kind_of_hidden_table(put->table) == static_cast<std::uint8_t>(left_out_);
        });
    if (at != staged.mutations.end()) staged.mutations.erase(at);
    return std::nullopt;
  }

 private:
  HiddenTable left_out_;
  Outbox outbox_;
};

}  // namespace

TEST_CASE("in random runs, each row is the remote's or its Base with its operations") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    CHECK(RandomRun(seed, synced_store()).run(60) == "");
  }
}

TEST_CASE("a random run finds an outbox that leaves out rows") {
  for (const HiddenTable left_out :
       {HiddenTable::bases, HiddenTable::base_rows, HiddenTable::outbox}) {
    Store store = synced_store();
    store.state().scratch.outbox = std::make_unique<BrokenOutbox>(left_out);
    CHECK_FALSE(RandomRun(3, std::move(store)).run(60).empty());
  }
}

}  // namespace entitable
