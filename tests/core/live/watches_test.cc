// Tests the set of watches: which watches a change reaches, and their deltas.
#include "core/live/watches.h"

#include "tests/core/live/live_testing.h"

namespace entitable {
namespace {

using test::filter_of;
using test::find;
using test::index_of;
using test::query_of;
using test::row_of;
using test::text_of;

// Reads all rows of the watch.
void read(Watches& watches, WatchId id, const TableIndex& index) {
  Watch& watch = *watches.find(id)->watch;
  while (!watch.is_complete()) {
    const auto answer = watch.read(index, 1000, OnUnloaded::return_parts_needed);
    REQUIRE(std::holds_alternative<Page>(answer));
  }
}

// Returns for example "1: +a ~b; 3: reset".
std::string text_of(const std::vector<WatchDelta>& deltas, const ListedRows& rows) {
  std::string text;
  for (const WatchDelta& delta : deltas) {
    text += (text.empty() ? "" : "; ") + std::to_string(delta.watch) + ": ";
    text += delta.reset ? "reset" : text_of(delta.rows, rows);
    if (!delta.reset && !delta.complete) text += " ...";
  }
  return text;
}

// Matches the rows `keys`, as they are in both versions of the table "people". Returns the deltas
// as text.
std::string match(Watches& watches, const TableIndex& before, const TableIndex& after,
                  const std::vector<std::string>& keys) {
  ListedRows rows;
  Watches::DeltaBuilder builder(watches, rows);
  for (const std::string& key : keys) {
    const auto was = find(before, key);
    const auto is = find(after, key);
    builder.match("people", was ? &*was : nullptr, is ? &*is : nullptr);
  }
  return text_of(
      builder.finish([&](std::string_view table) { return table == "people" ? &after : nullptr; }),
      rows);
}

}  // namespace

TEST_CASE("a change reaches the watches of its table whose ranges hold its key") {
  const TableIndex before = index_of({row_of("a", 1)});
  const TableIndex after = index_of({row_of("a", 2), row_of("b", 1)});
  Watches watches;
  const WatchId all = watches.open("People", query_of(""));
  const WatchId point = watches.open("people", query_of("PartitionKey eq 'p' and RowKey eq 'a'"));
  const WatchId other = watches.open("people", query_of("PartitionKey eq 'q'"));
  const WatchId elsewhere = watches.open("orders", query_of(""));
  for (const WatchId id : {all, point, other, elsewhere}) read(watches, id, before);
  CHECK(watches.covers("people", {"p", "a"}));
  CHECK(watches.covers("people", {"z", ""}));
  CHECK(!watches.covers("other", {"p", "a"}));
  CHECK(match(watches, before, after, {"a", "b"}) == "1: ~a +b; 2: ~a");
  watches.close(all);
  CHECK(!watches.covers("people", {"z", ""}));
  CHECK(match(watches, before, after, {"a", "b"}) == "2: ~a");
  for (const WatchId id : {point, other, elsewhere}) watches.close(id);
  CHECK(watches.empty());
  CHECK(!watches.covers("people", {"p", "a"}));
}

TEST_CASE("a watch has the name of its table, folded") {
  Watches watches;
  const WatchId id = watches.open("PeoplE", query_of(""));
  CHECK(watches.find(id)->table == "people");
}

TEST_CASE("ids are not used again") {
  Watches watches;
  const WatchId first = watches.open("people", query_of(""));
  CHECK(watches.close(first));
  CHECK(!watches.close(first));
  CHECK(!watches.find(first).has_value());
  CHECK(watches.open("people", query_of("")) != first);
}

TEST_CASE("a delta of a watch with a limit contains the rows that follow those that left") {
  const TableIndex before = index_of({row_of("a", 1), row_of("b", 1), row_of("c", 1)});
  const TableIndex after = index_of({row_of("b", 1), row_of("c", 1)});
  Watches watches;
  read(watches, watches.open("people", query_of("", 2)), before);
  read(watches, watches.open("people", query_of("", 1)), before);
  CHECK(match(watches, before, after, {"a"}) == "1: -a +c; 2: -a +b");
}

TEST_CASE("a delta is not complete if the row that follows is not in memory") {
  TableIndex before = index_of({row_of("a", 1), row_of("b", 1)});
  TableIndex after = index_of({row_of("b", 1)});
  for (TableIndex* index : {&before, &after})
    index->add_unloaded({EntityKey("q", ""), std::nullopt}, 7, 1, 10);
  Watches watches;
  read(watches, watches.open("people", query_of("", 2)), before);
  CHECK(match(watches, before, after, {"a"}) == "1: -a ...");
  CHECK(std::holds_alternative<PartsNeeded>(
      watches.find(1)->watch->read(after, 10, OnUnloaded::return_parts_needed)));
  after.load_part(7, {{EntityKey("q", "x"), 1, {}}});
  const auto answer = watches.find(1)->watch->read(after, 10, OnUnloaded::return_parts_needed);
  CHECK(std::get<Page>(answer).rows.size() == 1);
  CHECK(watches.find(1)->watch->is_complete());
}

TEST_CASE("a watch that no key matches is reset with its table, too") {
  Watches watches;
  watches.open("people", query_of("PartitionKey gt 'b' and PartitionKey lt 'a'"));
  watches.open("orders", query_of(""));
  ListedRows rows;
  Watches::DeltaBuilder builder(watches, rows);
  builder.reset_table("people");
  CHECK(text_of(builder.finish(nullptr), rows) == "1: reset");
}

TEST_CASE("a reset comes without rows, and later changes of the same call are ignored") {
  const TableIndex before = index_of({row_of("a", 1)});
  const TableIndex after = index_of({row_of("a", 2)});
  Watches watches;
  read(watches, watches.open("people", query_of("")), before);
  read(watches, watches.open("orders", query_of("")), before);
  ListedRows rows;
  Watches::DeltaBuilder builder(watches, rows);
  builder.reset_table("people");
  builder.reset_table("unwatched");
  const auto was = find(before, "a");
  const auto is = find(after, "a");
  builder.match("people", &*was, &*is);
  builder.match("orders", &*was, &*is);
  const std::vector<WatchDelta> deltas = builder.finish([&](std::string_view) { return &after; });
  CHECK(text_of(deltas, rows) == "1: reset; 2: ~a");
  CHECK(!deltas.front().complete);
  Watches::DeltaBuilder all(watches, rows);
  all.reset_all();
  CHECK(text_of(all.finish(nullptr), rows) == "1: reset; 2: reset");
}

TEST_CASE("a row is listed once, however many watches it concerns") {
  const TableIndex before = index_of({row_of("a", 1), row_of("b", 1)});
  const TableIndex after = index_of({row_of("a", 2)});
  Watches watches;
  for (int i = 0; i < 100; ++i) read(watches, watches.open("people", query_of("")), before);
  ListedRows rows;
  Watches::DeltaBuilder builder(watches, rows);
  const auto was = find(before, "a");
  const auto is = find(after, "a");
  builder.match("people", &*was, &*is);
  const auto removed = find(before, "b");
  builder.match("people", &*removed, nullptr);
  const std::vector<WatchDelta> deltas = builder.finish(nullptr);
  CHECK(deltas.size() == 100);
  CHECK(rows.size() == 2);
  CHECK(text_of(std::vector<WatchDelta>{deltas.back()}, rows) == "100: ~a -b");
}

TEST_CASE("a watch of which very many rows have changed is reset") {
  TableIndex after;
  const auto key = [](std::size_t i) { return std::to_string(1'000'000 + i); };
  for (std::size_t i = 0; i <= delta_rows_max; ++i) after.put(row_of(key(i), 1));
  const TableIndex before;
  Watches watches;
  read(watches, watches.open("people", query_of("")), before);
  read(watches, watches.open("people", query_of("RowKey ge '" + key(1) + "'")), before);
  ListedRows rows;
  Watches::DeltaBuilder builder(watches, rows);
  for (std::size_t i = 0; i <= delta_rows_max; ++i) {
    const auto row = find(after, key(i));
    builder.match("people", nullptr, &*row);
  }
  const std::vector<WatchDelta> deltas = builder.finish(nullptr);
  REQUIRE(deltas.size() == 2);
  CHECK(deltas.front().reset);
  CHECK(deltas.front().rows.empty());
  CHECK(deltas.back().rows.size() == delta_rows_max);
}

}  // namespace entitable
