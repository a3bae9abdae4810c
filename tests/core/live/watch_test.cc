// Tests one watch: what a change of a row means, limits, and reading page by page.
#include "core/live/watch.h"

#include "tests/core/live/live_testing.h"

namespace entitable {
namespace {

using test::filter_of;
using test::index_of;
using test::query_of;
using test::row_of;
using test::text_of;

// A watch on rows of partition "p" that are changed one by one, each in a version of its own.
class Fixture {
 public:
  Fixture(WatchQuery query, const std::vector<Entity>& entities)
      : index_(index_of(entities)), watch_(1, std::move(query), tree_) {}

  // Reads up to `rows_max` rows, and returns their row keys.
  std::string read(std::uint32_t rows_max = 1000) {
    const auto answer = watch_.read(index_, rows_max, OnUnloaded::return_parts_needed);
    std::string keys;
    for (const RowView& row : std::get<Page>(answer).rows) keys += row.row_key();
    return keys;
  }
  // Puts the entities, or erases rows, as one delta. Returns the delta as text.
  std::string put(const Entity& entity) { return change({entity}, {}); }
  std::string erase(std::string_view row) { return change({}, {row}); }
  // REQUIRES: `puts` and `erased` are in key order, `puts` first.
  std::string change(const std::vector<Entity>& puts, const std::vector<std::string_view>& erased) {
    const TableIndex before = index_;
    for (const Entity& entity : puts) index_.put(entity);
    for (const std::string_view row : erased) index_.erase({"p", row});
    delta_ = WatchDelta{1};
    rows_.clear();
    for (const Entity& entity : puts) match(before, entity.key.row);
    for (const std::string_view row : erased) match(before, row);
    watch_.finish(delta_, rows_);
    return text_of(delta_.rows, rows_);
  }
  Watch& watch() { return watch_; }
  // Reads until nothing is left, and tests about `rows_tested_max` rows at a time. Returns how
  // often.
  int count_reads(std::uint64_t rows_tested_max, std::string& keys) {
    int reads = 0;
    for (; !watch_.is_complete(); ++reads) {
      const auto answer =
          watch_.read(index_, 1000, OnUnloaded::return_parts_needed, rows_tested_max);
      const Page& page = std::get<Page>(answer);
      CHECK(page.rows_read + page.ranges_read <= rows_tested_max + 1);
      for (const RowView& row : page.rows) keys += " " + std::string(row.row_key());
    }
    return reads;
  }
  // Returns how many rows are tested to read the next `rows_max` rows.
  std::uint64_t rows_tested(std::uint32_t rows_max) {
    const auto answer = watch_.read(index_, rows_max, OnUnloaded::return_parts_needed);
    return std::get<Page>(answer).rows_read;
  }
  const WatchDelta& delta() const { return delta_; }
  const ListedRows& rows() const { return rows_; }
  const RangeTree& tree() const { return tree_; }

 private:
  void match(const TableIndex& before, std::string_view row) {
    const auto was = test::find(before, row);
    const auto is = test::find(index_, row);
    if (!tree_.covers({"p", row})) return;
    const auto kind = watch_.match(was ? &*was : nullptr, is ? &*is : nullptr);
    if (!kind.has_value()) return;
    delta_.rows.push_back({*kind, static_cast<std::uint32_t>(rows_.size())});
    rows_.push_back({EntityKey("p", row), is});
  }

  TableIndex index_;
  RangeTree tree_;
  Watch watch_;
  WatchDelta delta_{1};
  ListedRows rows_;
};

const std::vector<Entity> abcd = {row_of("a", 1), row_of("b", 2), row_of("c", 3), row_of("d", 4)};

}  // namespace

TEST_CASE("without a filter, every change of a row that was read matters") {
  Fixture test(query_of(""), abcd);
  CHECK(test.read() == "abcd");
  CHECK(test.watch().is_complete());
  CHECK(test.put(row_of("bb", 1)) == "+bb");
  CHECK(test.put(row_of("bb", 2, 2)) == "~bb");
  CHECK(test.erase("bb") == "-bb");
}

TEST_CASE("a row enters and leaves by its properties, and its key decides the range") {
  Fixture test(query_of("PartitionKey eq 'p' and RowKey lt 'c' and n gt 1"), abcd);
  CHECK(test.read() == "b");
  CHECK(test.put(row_of("a", 2)) == "+a");
  CHECK(test.put(row_of("a", 3)) == "~a");
  CHECK(test.put(row_of("a", 1)) == "-a");
  CHECK(test.put(row_of("a", 0)) == "");
  CHECK(test.erase("a") == "");
  CHECK(test.put(row_of("c", 5)) == "");
}

TEST_CASE("each range of an or is watched") {
  Fixture test(query_of("PartitionKey eq 'p' and (RowKey eq 'a' or RowKey eq 'c')"), abcd);
  CHECK(test.read() == "ac");
  CHECK(test.put(row_of("a", 9)) == "~a");
  CHECK(test.put(row_of("b", 9)) == "");
  CHECK(test.erase("c") == "-c");
}

TEST_CASE("a query that matches no key watches nothing") {
  Fixture test(query_of("PartitionKey gt 'b' and PartitionKey lt 'a'"), abcd);
  CHECK(test.tree().empty());
  CHECK(test.read() == "");
  CHECK(test.watch().is_complete());
}

TEST_CASE("rows below `from` are neither read nor watched") {
  WatchQuery query = query_of("");
  query.from = EntityKey("p", "b");
  Fixture test(std::move(query), abcd);
  CHECK(test.read() == "bcd");
  CHECK(test.put(row_of("a", 9)) == "");
  CHECK(test.put(row_of("b", 9)) == "~b");
}

TEST_CASE(
    "a write that leaves all properties as they are is an update, because it changes the ETag") {
  Fixture test(query_of("n gt 1"), abcd);
  CHECK(test.read() == "bcd");
  CHECK(test.put(row_of("b", 2, 9)) == "~b");
  REQUIRE(test.delta().rows.size() == 1);
  CHECK(test.rows()[test.delta().rows.front().row].row->timestamp() == 9);
}

TEST_CASE("changes of rows that were not read yet do not matter") {
  Fixture test(query_of(""), abcd);
  CHECK(test.put(row_of("a", 9)) == "");
  CHECK(test.read(2) == "ab");
  CHECK(!test.watch().is_complete());
  CHECK(test.put(row_of("c", 9)) == "");
  CHECK(test.put(row_of("bb", 9)) == "+bb");  // before the next row to read
  CHECK(!test.delta().complete);
  CHECK(test.erase("c") == "");
  CHECK(test.read() == "d");
  CHECK(test.watch().is_complete());
  CHECK(test.put(row_of("z", 9)) == "+z");
  CHECK(test.delta().complete);
  CHECK(test.read() == "");
}

TEST_CASE("a reset watch is read again from its start") {
  Fixture test(query_of("n gt 1", 2), abcd);
  CHECK(test.read() == "bc");
  test.watch().reset();
  CHECK(!test.watch().is_complete());
  CHECK(test.put(row_of("b", 9)) == "");
  CHECK(test.read() == "bc");
}

TEST_CASE("a row that enters a full limit makes the last row leave") {
  Fixture test(query_of("", 2), abcd);
  CHECK(test.read(1) == "a");
  CHECK(test.read() == "b");
  CHECK(test.watch().is_complete());
  CHECK(test.put(row_of("c", 9)) == "");  // beyond the limit
  CHECK(test.put(row_of("aa", 1)) == "+aa -b");
  CHECK(test.delta().complete);
  CHECK(test.put(row_of("b", 9)) == "");
  CHECK(test.put(row_of("0", 1)) == "+0 -aa");
  CHECK(test.put(row_of("a", 9)) == "~a");
}

TEST_CASE("a row that enters behind the last row of a full limit does not matter") {
  Fixture test(query_of("", 4), abcd);
  CHECK(test.read() == "abcd");
  CHECK(test.put(row_of("e", 1)) == "");
  CHECK(test.erase("d") == "-d");
  CHECK(!test.delta().complete);
  CHECK(test.read() == "e");
  CHECK(test.watch().is_complete());
}

TEST_CASE("a row that leaves a full limit makes room for the next row") {
  Fixture test(query_of("n gt 1", 2), abcd);
  CHECK(test.read() == "bc");
  CHECK(test.put(row_of("b", 0)) == "-b");
  CHECK(!test.watch().is_complete());
  CHECK(test.read() == "d");
  CHECK(test.watch().is_complete());
  CHECK(test.erase("c") == "-c");
  CHECK(test.read() == "");  // there are no more rows
  CHECK(test.watch().is_complete());
  CHECK(test.put(row_of("x", 5)) == "+x");
  CHECK(test.put(row_of("y", 5)) == "");
}

TEST_CASE("a full limit does not search for the row that follows") {
  std::vector<Entity> entities = {row_of("a", 1), row_of("b", 1)};
  for (int i = 0; i < 1000; ++i) entities.push_back(row_of("c" + std::to_string(i), 0));
  Fixture test(query_of("n gt 0", 2), entities);
  CHECK(test.rows_tested(1) == 1);
  CHECK(test.rows_tested(1000) == 1);
  CHECK(test.watch().is_complete());
  CHECK(test.put(row_of("bb", 1)) == "");  // beyond the limit
  CHECK(test.put(row_of("aa", 1)) == "+aa -b");
  CHECK(test.erase("a") == "-a");
  CHECK(test.read() == "b");
}

TEST_CASE("a read that tests a bounded number of rows counts ranges, too") {
  std::string filter;
  std::vector<Entity> entities;
  std::string all;
  const bool are_points = GENERATE(true, false);
  for (int i = 100; i < 200; ++i) {
    const std::string key = std::to_string(i);
    filter += (i == 100 ? "" : " or ") + std::string("(PartitionKey eq 'p' and RowKey ") +
              (are_points ? "eq '" + key + "')" : "ge '" + key + "' and RowKey lt '" + key + "5')");
    entities.push_back(row_of(key, 1));
    all += " " + key;
  }
  std::string keys;
  Fixture none(query_of(filter), {row_of("150", 1)});
  CHECK(none.count_reads(25, keys) == 5);  // 100 ranges and a row
  CHECK(keys == " 150");
  keys.clear();
  Fixture each(query_of(filter), entities);
  CHECK(each.count_reads(25, keys) == 8);  // 100 ranges and 100 rows
  CHECK(keys == all);
  keys.clear();
  Fixture one(query_of(filter), entities);
  CHECK(one.count_reads(1, keys) == 100);
  CHECK(keys == all);
}

TEST_CASE("one delta may fill a limit, replace its rows and update them") {
  Fixture test(query_of("", 3), abcd);
  CHECK(test.read() == "abc");
  // "c" is updated and pushed out.
  CHECK(test.change({row_of("aa", 1), row_of("c", 9)}, {}) == "+aa -c");
  // More rows enter than the limit has.
  CHECK(test.change({row_of("0", 1), row_of("1", 1), row_of("2", 1), row_of("3", 1)}, {}) ==
        "+0 +1 +2 -a -aa -b");
  // As many rows leave as enter.
  CHECK(test.change({row_of("00", 1)}, {"1"}) == "+00 -1");
  // "00" is updated and pushed out, and "2" leaves behind it.
  CHECK(test.change({row_of("!", 1), row_of("#", 1), row_of("00", 9)}, {"2"}) == "+! +# -00 -2");
  CHECK(test.delta().complete);
  CHECK(test.watch().is_complete());
}

TEST_CASE("a watch covers all keys if nothing limits them") {
  RangeTree tree;
  const auto covers = [&](WatchQuery query) {
    return Watch(1, std::move(query), tree).covers_all_keys();
  };
  CHECK(covers(query_of("")));
  CHECK(covers(query_of("value eq 1", 3)));
  CHECK(!covers(query_of("PartitionKey eq 'a'")));
  CHECK(!covers(query_of("PartitionKey gt 'a'")));
  CHECK(!covers(query_of("PartitionKey lt 'a' or PartitionKey gt 'b'")));
  CHECK(!covers(query_of("PartitionKey lt 'a' and PartitionKey gt 'b'")));
  WatchQuery from = query_of("");
  from.from = EntityKey("a", "");
  CHECK(!covers(std::move(from)));
}

TEST_CASE("a watch removes its ranges from the tree") {
  RangeTree tree;
  {
    const Watch one(1, query_of("PartitionKey eq 'a' or PartitionKey eq 'c'"), tree);
    const Watch other(2, query_of("PartitionKey eq 'a'"), tree);
    CHECK(tree.covers({"c", ""}));
  }
  CHECK(tree.empty());
}

}  // namespace entitable
