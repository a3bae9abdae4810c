#include "core/index/cursor.h"

#include <algorithm>

#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"

namespace entitable {

using test::digits;
using test::entity;
using test::keys_in;
using test::Prng;

namespace {

// Returns an index of partitions a, b and c with 200 rows each. It has many leaves, some with two
// partitions.
TableIndex three_partitions() {
  TableIndex index;
  for (const char* partition : {"b", "a", "c"}) {
    for (std::uint64_t i = 0; i < 200; ++i) index.put(test::sized(partition, digits(i), 100));
  }
  return index;
}

std::vector<std::string> expected_keys(std::string_view partition, std::uint64_t from,
                                       std::uint64_t to) {
  std::vector<std::string> keys;
  for (std::uint64_t i = from; i < to; ++i)
    keys.push_back(std::string(partition) + "|" + digits(i));
  return keys;
}

std::vector<std::string> keys_by_runs(const TableIndex& index, const KeyRange& range) {
  std::vector<std::string> keys;
  for (Cursor cursor(index, range); cursor.valid();) {
    const RowBatch run = cursor.batch();
    REQUIRE(run.size() > 0);
    for (std::size_t i = 0; i < run.size(); ++i) {
      REQUIRE((run.shape() == nullptr || &run[i].shape() == run.shape()));
      keys.push_back(std::string(run[i].partition()) + "|" + std::string(run[i].row_key()));
    }
    cursor.skip(run.size());
  }
  return keys;
}

}  // namespace

TEST_CASE("a cursor over nothing is at its end") {
  const TableIndex empty;
  CHECK(Cursor(empty, {}).at_end());
  const TableIndex index = three_partitions();
  CHECK(Cursor(index, KeyRange{EntityKey("b", ""), EntityKey("b", "")}).at_end());
  CHECK(Cursor(index, KeyRange{EntityKey("c", ""), EntityKey("a", "")}).at_end());
  CHECK(Cursor(index, KeyRange::partition("bb")).at_end());
  CHECK(Cursor(index, KeyRange{EntityKey("d", ""), std::nullopt}).at_end());
  CHECK(Cursor(index, KeyRange{EntityKey(), EntityKey("a", "")}).at_end());
}

TEST_CASE("a cursor returns the rows of its range in order") {
  const TableIndex index = three_partitions();
  REQUIRE(index.verify() == "");
  CHECK(keys_in(index).size() == 600);
  CHECK(keys_in(index, KeyRange::partition("a")) == expected_keys("a", 0, 200));
  CHECK(keys_in(index, KeyRange::partition("b")) == expected_keys("b", 0, 200));
  CHECK(keys_in(index, KeyRange::partition("c")) == expected_keys("c", 0, 200));
  CHECK(keys_in(index, KeyRange{EntityKey("b", digits(50)), EntityKey("b", digits(61))}) ==
        expected_keys("b", 50, 61));
  CHECK(keys_in(index, KeyRange::point({"b", digits(7)})) == expected_keys("b", 7, 8));
  std::vector<std::string> across = expected_keys("a", 190, 200);
  for (std::string& key : expected_keys("b", 0, 10)) across.push_back(std::move(key));
  const KeyRange range{EntityKey("a", digits(190)), EntityKey("b", digits(10))};
  CHECK(keys_in(index, range) == across);
  CHECK(keys_by_runs(index, range) == across);
  CHECK(keys_by_runs(index, {}) == keys_in(index));
}

TEST_CASE("runs may be left early") {
  const TableIndex index = three_partitions();
  std::vector<std::string> keys;
  for (Cursor cursor(index, {}); cursor.valid();) {
    const RowBatch run = cursor.batch();
    const std::size_t step = run.size() < 3 ? run.size() : 3;
    for (std::size_t i = 0; i < step; ++i) {
      keys.push_back(std::string(run[i].partition()) + "|" + std::string(run[i].row_key()));
    }
    cursor.skip(step);
  }
  CHECK(keys == keys_in(index));
}

TEST_CASE("a run has the partitions of a leaf, however many there are") {
  TableIndex index;
  std::vector<std::string> expected;
  for (std::uint64_t i = 0; i < 500; ++i) {
    for (std::uint64_t row = 0; row <= i % 3; ++row) {
      index.put(entity(digits(i), digits(row), 1));
      expected.push_back(digits(i) + "|" + digits(row));
    }
  }
  CHECK(keys_by_runs(index, {}) == expected);
  std::vector<std::string> keys;
  for (Cursor cursor(index, {}); cursor.valid();) {  // skips to inside or behind a partition
    const RowBatch run = cursor.batch();
    const std::size_t step = std::min<std::size_t>(run.size(), 1 + keys.size() % 7);
    for (std::size_t i = 0; i < step; ++i) {
      keys.push_back(std::string(run[i].partition()) + "|" + std::string(run[i].row_key()));
    }
    cursor.skip(step);
  }
  CHECK(keys == expected);
}

TEST_CASE("a run returns the shape of its rows, if they share one") {
  TableIndex index;
  const auto put = [&index](std::uint64_t i, std::string name) {
    index.put(entity("p", digits(i), 1, {{std::move(name), Value::of_int32(1)}}));
  };
  const auto name_of = [&index](std::size_t i) {
    return Cursor(index, {}).batch()[i].shape().columns()[0].name;
  };
  for (std::uint64_t i = 0; i < 9; ++i) put(i, "a");
  REQUIRE(Cursor(index, {}).batch().size() == 9);
  REQUIRE(Cursor(index, {}).batch().shape() != nullptr);
  CHECK(Cursor(index, {}).batch().shape()->columns()[0].name == "a");
  for (std::uint64_t i : {2, 3, 8}) put(i, "b");
  REQUIRE(Cursor(index, {}).batch().size() == 9);
  CHECK(Cursor(index, {}).batch().shape() == nullptr);
  for (std::uint64_t i = 0; i < 9; ++i) {
    CHECK(name_of(i) == (i == 2 || i == 3 || i == 8 ? "b" : "a"));
  }
  CHECK(index.verify() == "");
}

TEST_CASE("the values of a column are contiguous when they are requested again") {
  TableIndex index;
  const auto put = [&index](std::uint64_t i, std::int64_t value) {
    index.put(entity("p", digits(i), 1, {{"a", Value::of_int64(value)}}));
  };
  const auto runs_with_values = [&index] {
    int runs = 0;
    for (Cursor cursor(index, KeyRange{EntityKey("p", digits(3)), std::nullopt}); cursor.valid();) {
      RowBatch run = cursor.batch();
      cursor.skip(run.size());
      if (run.shape() == nullptr) continue;
      const std::uint32_t slot = run.shape()->columns()[0].slot;
      run.find_cached_values(0, slot, ColumnForm::eight_bytes);
      if (run.values(0) != nullptr) ++runs;
      for (std::size_t i = 0; i < run.size() && run.values(0) != nullptr; ++i) {
        REQUIRE(row_layout::load<std::int64_t>(run.values(0) + 8 * i) ==
                run[i].fixed_value<std::int64_t>(slot));
      }
    }
    return runs;
  };
  for (std::uint64_t i = 0; i < 9; ++i) put(i, -static_cast<std::int64_t>(i));
  CHECK(runs_with_values() == 0);
  CHECK(runs_with_values() == 1);
  CHECK(runs_with_values() == 1);
  SECTION("not after a change") {
    put(5, 77);
    CHECK(runs_with_values() == 0);
    CHECK(runs_with_values() == 1);
    put(20, 78);
    CHECK(runs_with_values() == 0);
    CHECK(runs_with_values() == 1);
    REQUIRE(index.erase({"p", digits(4)}));
    CHECK(runs_with_values() == 0);
    CHECK(runs_with_values() == 1);
  }
  SECTION("another version has its own") {
    const TableIndex before = index;
    put(5, 77);
    CHECK(runs_with_values() == 0);
    index = before;
    CHECK(runs_with_values() == 1);
  }
  SECTION("not of rows of several shapes") {
    index.put(entity("p", digits(7), 1, {{"b", Value::of_int64(1)}}));
    CHECK(runs_with_values() == 0);
    CHECK(runs_with_values() == 0);
  }
}

TEST_CASE("seek goes forward and back, within the range") {
  const TableIndex index = three_partitions();
  Cursor cursor(index, KeyRange{EntityKey("a", digits(100)), EntityKey("c", digits(100))});
  const auto at = [&cursor] {
    return std::string(cursor.row().partition()) + "|" + std::string(cursor.row().row_key());
  };
  CHECK(at() == "a|" + digits(100));
  cursor.seek({"b", digits(5)});
  CHECK(at() == "b|" + digits(5));
  CHECK(cursor.position() == EntityKey("b", digits(5)));
  cursor.seek({"b", digits(5) + "x"});
  CHECK(at() == "b|" + digits(6));
  cursor.seek({"a", digits(150)});
  CHECK(at() == "a|" + digits(150));
  cursor.seek({"a", digits(3)});
  CHECK(at() == "a|" + digits(100));  // where the range begins
  cursor.seek({"c", digits(99)});
  CHECK(at() == "c|" + digits(99));
  cursor.next();
  CHECK(cursor.at_end());
  cursor.seek({"c", digits(100)});
  CHECK(cursor.at_end());
  cursor.seek({"z", ""});
  CHECK(cursor.at_end());
  cursor.seek({"b", ""});
  CHECK(at() == "b|" + digits(0));

  Cursor nothing(index, KeyRange::partition("bb"));
  nothing.seek({"b", ""});
  CHECK(nothing.at_end());
}

TEST_CASE("bounds may hold U+0000") {
  const TableIndex index = three_partitions();
  const KeyRange range{EntityKey("a", successor(digits(10))),
                       EntityKey("a", successor(digits(12)))};
  CHECK(keys_in(index, range) == expected_keys("a", 11, 13));
  CHECK(keys_in(index, KeyRange{EntityKey(successor("a"), ""), EntityKey(successor("b"), "")}) ==
        expected_keys("b", 0, 200));
}

TEST_CASE("a cursor keeps its version alive") {
  TableIndex index = three_partitions();
  Cursor cursor(index, KeyRange::partition("b"));
  Cursor copy = cursor;
  std::vector<std::string> keys;
  while (cursor.valid()) {
    keys.push_back("b|" + std::string(cursor.row().row_key()));
    index.erase({"b", cursor.row().row_key()});
    index.put(entity("b", "new" + digits(keys.size())));
    cursor.next();
  }
  CHECK(keys == expected_keys("b", 0, 200));
  index = TableIndex();
  keys.clear();
  for (; copy.valid(); copy.next()) keys.push_back("b|" + std::string(copy.row().row_key()));
  CHECK(keys == expected_keys("b", 0, 200));
}

TEST_CASE("a cursor stops at an unloaded leaf in its range, and nowhere else") {
  TableIndex index;
  index.add_unloaded({EntityKey("a", ""), EntityKey("b", "5")}, 11, 10, 100);
  index.add_unloaded({EntityKey("b", "5"), EntityKey("c", "")}, 12, 10, 100);
  index.add_unloaded({EntityKey("d", ""), std::nullopt}, 13, 10, 100);
  index.put(entity("c", "1"));
  index.put(entity("c", "2"));
  index.put(entity("A", "1"));
  REQUIRE(index.verify() == "");

  Cursor all(index, {});
  REQUIRE(all.valid());
  CHECK(all.row().partition() == "A");
  all.next();
  CHECK_FALSE(all.valid());
  CHECK_FALSE(all.at_end());
  CHECK(all.part_needed() == 11);
  CHECK(all.position() == EntityKey("a", ""));

  Cursor inside(index, KeyRange::point({"b", "3"}));
  CHECK(inside.part_needed() == 11);
  CHECK(inside.position() == EntityKey("b", "3"));
  inside.seek({"b", "4"});
  CHECK(inside.at_end());

  CHECK(Cursor(index, KeyRange::partition("c")).valid());
  CHECK(keys_in(index, KeyRange::partition("c")) == std::vector<std::string>{"c|1", "c|2"});
  CHECK(Cursor(index, KeyRange{EntityKey("b", "5"), EntityKey("b", "6")}).part_needed() == 12);
  CHECK(Cursor(index, KeyRange{EntityKey("e", ""), std::nullopt}).part_needed() == 13);

  // A range that ends where an unloaded leaf starts does not need that leaf.
  Cursor before(index, KeyRange{EntityKey("c", ""), EntityKey("d", "")});
  before.next();
  CHECK(before.valid());
  before.next();
  CHECK(before.at_end());
  Cursor into(index, KeyRange{EntityKey("c", "2"), EntityKey("d", "0")});
  REQUIRE(into.valid());
  into.next();
  CHECK(into.part_needed() == 13);
  CHECK(into.position() == EntityKey("d", ""));
}

TEST_CASE("random ranges and seeks agree with a sorted list") {
  const std::uint64_t seed = 23;
  CAPTURE(seed);
  Prng random(seed);
  TableIndex index;
  test::Model model;
  for (int i = 0; i < 1'500; ++i) {
    const Entity row = entity(test::hard_text(random, 2), test::hard_text(random, 4));
    index.put(row);
    model.insert_or_assign(row.key, row);
  }
  REQUIRE(index.verify() == "");
  const auto bound = [&random] {
    std::string row = test::hard_text(random, 4);
    if (random.chance(3)) row = successor(row);
    return EntityKey(test::hard_text(random, 2), row);
  };
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    KeyRange range{bound(), std::nullopt};
    if (!random.chance(5)) range.upper = bound();
    const EntityKey target = bound();
    std::vector<EntityKey> expected;
    std::vector<EntityKey> expected_after;
    for (const auto& [key, row] : model) {
      if (!range.contains(key.view())) continue;
      expected.push_back(key);
      if (compare(key.view(), target.view()) >= 0) expected_after.push_back(key);
    }
    std::vector<EntityKey> found;
    Cursor cursor(index, range);
    for (; cursor.valid(); cursor.next()) found.push_back(cursor.position());
    REQUIRE(found == expected);
    found.clear();
    for (cursor.seek(target.view()); cursor.valid(); cursor.next())
      found.push_back(cursor.position());
    REQUIRE(found == expected_after);
  }
}

TEST_CASE("a cursor names the next leaves, up to the end of the range") {
  TableIndex index;
  for (std::uint64_t i = 0; i < 20; ++i) {
    index.put(entity("p", digits(i), 1, {{"a", Value::of_string(std::string(5000, 'x'))}}));
  }
  const auto ahead = [&index](std::uint64_t from, std::uint64_t to, std::size_t most) {
    std::vector<const Leaf*> leaves(most);
    const Cursor cursor(index, KeyRange{EntityKey("p", digits(from)), EntityKey("p", digits(to))});
    leaves.resize(cursor.current_and_next_leaves(leaves));
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      CHECK(leaves[i]->row_key(0) == digits(from + i));  // each leaf has one row
    }
    return leaves.size();
  };
  CHECK(ahead(0, 20, 1) == 1);
  CHECK(ahead(0, 20, 8) == 8);
  CHECK(ahead(3, 20, 8) == 8);
  CHECK(ahead(18, 20, 8) == 2);
  CHECK(ahead(3, 4, 8) <= 2);  // the leaf after the range may be included
}

}  // namespace entitable
