#include "core/index/table_index.h"

#include <set>

#include "core/base/check.h"
#include "core/index/leaf.h"
#include "core/index/table_index.h"
#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"

namespace entitable {

using test::digits;
using test::entity;
using test::keys_in;
using test::leaves_of;
using test::Prng;
using test::sized;
using test::sorted;

TEST_CASE("an empty index") {
  const TableIndex index;
  CHECK(index.row_count() == 0);
  CHECK(index.bytes() == 0);
  CHECK_FALSE(index.find({"p", "r"}).row);
  CHECK(index.find({"p", "r"}).part_needed == 0);
  CHECK(index.verify() == "");
  CHECK(index.memory_bytes() > 0);
  const std::vector<LeafInfo> leaves = leaves_of(index);
  REQUIRE(leaves.size() == 1);
  CHECK(leaves[0].lower == EntityKey());
  CHECK(leaves[0].part == 0);
  CHECK(leaves[0].part_leaves == 0);
  CHECK(leaves[0].rows == 0);
  CHECK_FALSE(leaves[0].unloaded);
}

TEST_CASE("many keys are found like each key alone") {
  Prng prng(7);
  TableIndex index;
  index.add_unloaded({EntityKey("x", ""), std::nullopt}, 5, 10, 1000);
  const auto key_at = [](std::uint64_t i) {
    return EntityKey(std::string(1 + i % 3, 'p'), digits(i));
  };
  for (std::uint64_t i = 0; i < 900; ++i) {
    const EntityKey key = key_at(i);
    if (prng.chance(2)) index.put(sized(key.partition, key.row, prng.below(300)));
  }
  for (int round = 0; round < 50; ++round) {
    std::vector<EntityKey> keys;
    for (std::uint64_t i = prng.below(60); i > 0; --i) {
      keys.push_back(prng.chance(9) ? EntityKey("y", "r") : key_at(prng.below(1000)));
    }
    if (prng.chance(3)) keys.emplace_back("", "");
    if (prng.chance(3)) keys.emplace_back("p", std::string(2000, '9'));
    std::vector<KeyView> views;
    for (const EntityKey& key : keys) views.push_back(key.view());
    std::vector<TableIndex::Found> found(keys.size());
    index.find_many(views, found);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const TableIndex::Found alone = index.find(views[i]);
      REQUIRE(found[i].part_needed == alone.part_needed);
      REQUIRE(found[i].row.has_value() == alone.row.has_value());
      if (alone.row) REQUIRE(found[i].row->value_address(0) == alone.row->value_address(0));
    }
  }
}

TEST_CASE("a row is put in place if that requires no copy and no split") {
  TableIndex index;
  const auto put = [&index](const Entity& row) {
    return index.try_put_in_place(row.key.view(), row.timestamp, property_views(row.properties));
  };
  for (std::uint64_t i = 0; i < 2'000; ++i) index.put(sized("p", digits(i), 100));
  REQUIRE(leaves_of(index).size() > 2);
  const std::uint64_t bytes = index.bytes();

  SECTION("it replaces one of its size") {
    CHECK(put(sized("p", digits(1'000), 100, 2)));
    CHECK(index.find({"p", digits(1'000)}).row->timestamp() == 2);
    CHECK(index.row_count() == 2'000);
    CHECK(index.bytes() == bytes);
  }
  SECTION("it is new") {
    CHECK(put(sized("q", "", 100)));
    CHECK(index.row_count() == 2'001);
    CHECK(index.bytes() > bytes);
    CHECK(index.find({"q", ""}).row);
  }
  SECTION("not if it is smaller, since leaves may have to be joined") {
    CHECK_FALSE(put(sized("p", digits(1'000), 99, 2)));
    CHECK(index.find({"p", digits(1'000)}).row->timestamp() == 1);
  }
  SECTION("into a full leaf, of which the node above then has two") {
    const std::size_t leaves = leaves_of(index).size();
    std::uint64_t row = 2'000;
    for (; leaves_of(index).size() == leaves; ++row) {
      REQUIRE(row < 2'200);
      CHECK(put(sized("p", digits(1'000) + "a" + digits(row), 100)));
    }
    CHECK(row > 2'003);  // a leaf that was filled in order has space for some more rows
    CHECK(index.row_count() == row);
    CHECK(index.find({"p", digits(1'000) + "a" + digits(2'000)}).row);
  }
  SECTION("not if it takes a leaf of its own between two others") {
    CHECK_FALSE(put(sized("p", digits(1'000) + "a", leaf_bytes_max)));
    CHECK(index.row_count() == 2'000);
  }
  SECTION("not while another version is there, which stays as it was") {
    TableIndex other = index;
    CHECK_FALSE(put(sized("p", digits(1'000), 100, 2)));
    index.put(sized("p", digits(0), 100, 3));
    CHECK_FALSE(put(sized("p", digits(1'000), 100, 2)));  // put() cloned only the path to row 0
    CHECK(put(sized("p", digits(0), 100, 4)));
    CHECK(other.find({"p", digits(0)}).row->timestamp() == 1);
    other = TableIndex();
    CHECK(put(sized("p", digits(1'000), 100, 2)));
  }
  CHECK(index.verify() == "");
}

TEST_CASE("a row is found until it is erased") {
  TableIndex index;
  const Entity first =
      entity("p", "r", 5, {{"a", Value::of_int32(1)}, {"b", Value::of_string("x")}});
  index.put(first);
  REQUIRE(index.find({"p", "r"}).row);
  CHECK(index.find({"p", "r"}).row->materialize() == first);
  CHECK(index.row_count() == 1);
  CHECK(index.bytes() == index.find({"p", "r"}).row->packed_bytes());
  CHECK_FALSE(index.find({"p", "s"}).row);
  CHECK_FALSE(index.find({"q", "r"}).row);
  CHECK_FALSE(index.find({"", ""}).row);

  const Entity second = entity("p", "r", 6, {{"c", Value::of_double(1.5)}});
  index.put(second);
  CHECK(index.row_count() == 1);
  CHECK(index.find({"p", "r"}).row->materialize() == second);

  CHECK_FALSE(index.erase({"p", "s"}));
  CHECK(index.erase({"p", "r"}));
  CHECK_FALSE(index.erase({"p", "r"}));
  CHECK(index.row_count() == 0);
  CHECK(index.bytes() == 0);
  CHECK(index.verify() == "");
}

TEST_CASE("keys may be empty") {
  TableIndex index;
  index.put(entity("", "", 1));
  index.put(entity("", "a", 2));
  index.put(entity("a", "", 3));
  CHECK(index.find({"", ""}).row->timestamp() == 1);
  CHECK(keys_in(index) == std::vector<std::string>{"|", "|a", "a|"});
}

TEST_CASE("a row may be put from views into the same index") {
  TableIndex index;
  for (std::uint64_t i = 0; i < 500; ++i) {
    index.put(entity("p", digits(i), 1, {{"text", Value::of_string(digits(i, 100))}}));
  }
  for (std::uint64_t i = 0; i < 500; ++i) {
    const RowView row = *index.find({"p", digits(i)}).row;
    const std::vector<PropertyView> grown = {{"text", *row.find("text")},
                                             {"again", *row.find("text")}};
    index.put(row.key(), row.timestamp() + 1, grown);
  }
  REQUIRE(index.verify() == "");
  for (std::uint64_t i = 0; i < 500; ++i) {
    const RowView row = *index.find({"p", digits(i)}).row;
    REQUIRE(row.find("again")->string() == digits(i, 100));
    REQUIRE(row.find("text")->string() == digits(i, 100));
  }
  while (index.row_count() > 0) {
    const Cursor cursor(index, {});
    const RowView row = cursor.row();
    REQUIRE(index.erase(row.key()));
  }
}

TEST_CASE("a copy is an independent version") {
  TableIndex index;
  for (std::uint64_t i = 0; i < 1'000; ++i) index.put(sized("p", digits(i), 100));
  const TableIndex before = index;
  const std::vector<std::string> keys = keys_in(before);
  for (std::uint64_t i = 0; i < 1'000; i += 2) index.erase({"p", digits(i)});
  for (std::uint64_t i = 0; i < 1'000; ++i) index.put(sized("q", digits(i), 100));
  index.put(sized("p", digits(1), 5, 99));
  CHECK(keys_in(before) == keys);
  CHECK(before.find({"p", digits(1)}).row->timestamp() == 1);
  CHECK(index.find({"p", digits(1)}).row->timestamp() == 99);
  CHECK(before.row_count() == 1'000);
  CHECK(index.row_count() == 1'500);
  CHECK(before.verify() == "");
  CHECK(index.verify() == "");
  CHECK(&before.schema() == &index.schema());
}

TEST_CASE("branches of a version get their own schemas when they need them") {
  TableIndex index;
  const auto put = [](TableIndex& into, std::string row, const std::vector<std::string>& names) {
    Entity entity{EntityKey("p", row), 1, {}};
    for (const std::string& name : names) {
      entity.properties.push_back({name, Value::of_int32(1)});
    }
    into.put(entity);
  };
  const auto first_name = [](const TableIndex& in, std::string_view row) {
    return in.find({"p", row}).row->shape().columns()[0].name;
  };
  put(index, "a", {"known"});
  TableIndex one = index;
  TableIndex two = index;
  one.fork_schema();
  two.fork_schema();
  put(one, "b", {"known"});
  CHECK(&one.schema() == &index.schema());
  put(one, "c", {"x", "y"});
  put(two, "c", {"y", "x"});
  CHECK(first_name(one, "c") == "x");
  CHECK(first_name(two, "c") == "y");
  CHECK(&one.schema() != &two.schema());
  CHECK(index.schema().shape_count() == 2);
  const TableIndex later = one;
  put(one, "d", {"z"});
  CHECK(&one.schema() == &later.schema());  // both versions are on the same branch
  for (const TableIndex& each : {index, one, two, later}) CHECK(each.verify() == "");
}

TEST_CASE("a change clones the path to one leaf, and erasing nothing clones nothing") {
  TableIndex index;
  for (std::uint64_t i = 0; i < 20'000; ++i) index.put(sized("p", digits(i), 100));
  const TableIndex pinned = index;
  CHECK_FALSE(index.erase({"p", "none"}));
  const std::vector<LeafInfo> leaves = leaves_of(pinned);
  TableIndex::set_part(pinned, {}, 1);  // marks every leaf that is still shared
  index.put(sized("p", digits(10'000), 100, 2));
  std::size_t unmarked = 0;
  index.for_each_leaf([&unmarked](const LeafInfo& leaf) { unmarked += leaf.part == 0; });
  CHECK(unmarked == 1);
  CHECK(leaves.size() > 100);
}

TEST_CASE("rows that arrive in order fill their leaves, from either end and in the middle") {
  const auto fill_of = [](const TableIndex& index) {
    REQUIRE(index.verify() == "");
    return static_cast<double>(index.bytes()) /
           static_cast<double>(leaves_of(index).size() * leaf_bytes_filled);
  };
  TableIndex rising;
  TableIndex falling;
  TableIndex middle;
  middle.put(sized("p", "0", 100));
  middle.put(sized("p", "9", 100));
  TableIndex random_order;
  Prng random(1);
  for (std::uint64_t i = 0; i < 5'000; ++i) {
    rising.put(sized("p", digits(i), 100));
    falling.put(sized("p", digits(99'999 - i), 100));
    middle.put(sized("p", "5" + digits(i), 100));
    random_order.put(sized("p", digits(random.below(1'000'000)), 100));
  }
  CHECK(fill_of(rising) > 0.85);
  CHECK(fill_of(falling) > 0.85);
  CHECK(fill_of(middle) > 0.85);
  CHECK(fill_of(random_order) > 0.5);

  TableIndex many;  // 50 partitions that get rows in turn
  for (std::uint64_t i = 0; i < 10'000; ++i) many.put(sized("p" + digits(i % 50), digits(i), 100));
  CHECK(fill_of(many) > 0.7);
}

TEST_CASE("leaves that another version does not have are told by their rows, wherever they begin") {
  const std::size_t bytes = GENERATE(500, 3'500, 10'000);
  Prng prng(11);
  TableIndex pinned;
  for (std::uint64_t i = 0; i < 100; ++i) pinned.put(sized("p", digits(prng.below(1000)), bytes));
  TableIndex index = pinned;
  for (int i = 0; i < 300; ++i) {
    const std::string row = digits(prng.below(1000));
    if (prng.chance(2)) {
      index.put(sized("p", row, bytes, 2));
    } else {
      index.erase({"p", row});
    }
    std::set<const Leaf*> leaves;
    for (LeafIterator walk(index); !walk.done(); walk.next()) leaves.insert(&walk.leaf());
    std::uint64_t memory = 0;
    for (LeafIterator walk(pinned); !walk.done(); walk.next()) {
      if (leaves.count(&walk.leaf()) == 0) memory += walk.leaf().totals().memory;
    }
    REQUIRE(pinned.leaves_not_in(index).memory == memory);
  }
}

TEST_CASE("memory stays close to the size of the rows") {
  TableIndex index;
  const std::uint64_t schema_bytes = index.schema().memory_bytes();
  Prng random(2);
  for (std::uint64_t i = 0; i < 20'000; ++i)
    index.put(sized("p", digits(random.below(1'000'000)), 150));
  const auto packed = static_cast<double>(index.bytes());
  CHECK(static_cast<double>(index.memory_bytes() - schema_bytes) < 1.35 * packed);
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    if (i % 10 != 0) index.erase({"p", digits(i)});
  }
  // A tenth of the rows is left, evenly distributed, so leaves must have merged.
  CHECK(static_cast<double>(index.memory_bytes() - schema_bytes) < 0.35 * packed);
  CHECK(index.verify() == "");
}

TEST_CASE("deleting everything leaves a small empty tree, in any order") {
  for (const int order : {0, 1, 2}) {
    CAPTURE(order);
    TableIndex index;
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t i = 0; i < 20'000; ++i) numbers.push_back(i);
    for (const std::uint64_t i : numbers) index.put(sized("p" + digits(i % 7), digits(i), 60));
    if (order == 1) std::reverse(numbers.begin(), numbers.end());
    if (order == 2) {
      Prng random(4);
      for (std::size_t i = numbers.size(); i > 1; --i)
        std::swap(numbers[i - 1], numbers[random.below(i)]);
    }
    for (const std::uint64_t i : numbers) REQUIRE(index.erase({"p" + digits(i % 7), digits(i)}));
    CHECK(index.verify() == "");
    CHECK(index.row_count() == 0);
    CHECK(index.bytes() == 0);
    CHECK(leaves_of(index).size() == 1);
    CHECK(index.memory_bytes() - index.schema().memory_bytes() < 2'000);
  }
}

TEST_CASE("count agrees with a walk over the rows") {
  const std::uint64_t seed = 31;
  CAPTURE(seed);
  Prng random(seed);
  TableIndex index;
  for (int i = 0; i < 4'000; ++i) {
    index.put(
        sized("p" + digits(random.below(20), 2), digits(random.below(3'000)), random.below(200)));
  }
  const auto key = [&random] {
    EntityKey made("p" + digits(random.below(21), 2),
                   random.chance(4) ? "" : digits(random.below(3'000)));
    if (random.chance(4)) made.row = successor(made.row);
    return made;
  };
  for (int round = 0; round < 200; ++round) {
    KeyRange range{key(), std::nullopt};
    if (!random.chance(6)) range.upper = key();
    RangeCount expected;
    for (Cursor cursor(index, range); cursor.valid(); cursor.next()) {
      ++expected.rows;
      expected.bytes += cursor.row().packed_bytes();
    }
    const RangeCount counted = index.count_range(range);
    REQUIRE(counted.rows == expected.rows);
    REQUIRE(counted.bytes == expected.bytes);
    REQUIRE(counted.exact);
  }
  CHECK(index.count_range({}).rows == index.row_count());
  CHECK(index.count_range({}).bytes == index.bytes());
  CHECK(index.count_range(KeyRange::partition("p07")).rows ==
        keys_in(index, KeyRange::partition("p07")).size());
}

TEST_CASE("100,000 rows of 100,000 shapes") {
  TableIndex index;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    index.put(entity("p", digits(i), static_cast<Ticks>(i),
                     {{"common", Value::of_int64(static_cast<std::int64_t>(i))},
                      {"own" + std::to_string(i), Value::of_string(digits(i))}}));
  }
  CHECK(index.row_count() == 100'000);
  CHECK(index.schema().shape_count() == shapes_max + 1);
  CHECK(index.verify() == "");
  for (std::uint64_t i = 0; i < 100'000; i += 997) {
    const RowView row = *index.find({"p", digits(i)}).row;
    REQUIRE(row.shape().is_generic() == (i >= shapes_max));
    REQUIRE(row.find("common")->int64() == static_cast<std::int64_t>(i));
    REQUIRE(row.find("own" + std::to_string(i))->string() == digits(i));
    REQUIRE_FALSE(row.find("own" + std::to_string(i + 1)));
  }
  // Rows of the generic shape contain their property names; the schema does not.
  CHECK(index.schema().memory_bytes() < 1'000'000);
}

TEST_CASE("252 properties merged one by one, in random order, into several rows") {
  const std::uint64_t seed = 252;
  CAPTURE(seed);
  Prng random(seed);
  TableIndex index;
  for (std::uint64_t row = 0; row < 12; ++row) {
    std::vector<std::uint32_t> order(252);
    for (std::uint32_t i = 0; i < 252; ++i) order[i] = i;
    for (std::size_t i = 252; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    Entity merged = entity("p", digits(row));
    for (const std::uint32_t i : order) {
      merged.properties.push_back(
          {"property" + std::to_string(i), Value::of_int32(static_cast<std::int32_t>(i))});
      ++merged.timestamp;
      index.put(merged);
    }
    REQUIRE(sorted(index.find(merged.key.view()).row->materialize()) == sorted(merged));
  }
  CHECK(index.schema().shape_count() <= shapes_max + 1);
  CHECK(index.verify() == "");
  CHECK(index.row_count() == 12);
  // In the end, all rows have the same set of properties.
  const Shape& shape = index.find({"p", digits(0)}).row->shape();
  CHECK(shape.columns().size() == 252);
  CHECK(&index.find({"p", digits(11)}).row->shape() == &shape);
}

TEST_CASE("rows up to a mebibyte among small ones") {
  TableIndex index;
  for (std::uint64_t i = 0; i < 300; ++i) index.put(sized("p", digits(i), 100));
  Entity large = entity("p", digits(150) + "x", 7);
  for (int i = 0; i < 15; ++i) {
    large.properties.push_back(
        {"p" + std::to_string(i), Value::of_binary(std::string(65'536, 'b'))});
  }
  index.put(large);
  REQUIRE(index.verify() == "");
  CHECK(sorted(index.find(large.key.view()).row->materialize()) == sorted(large));
  for (std::uint64_t i = 0; i < 300; i += 10) {
    Entity replaced = large;
    replaced.key.row = digits(i);
    index.put(replaced);
    REQUIRE(index.verify() == "");
  }
  CHECK(index.row_count() == 301);
  CHECK(index.bytes() > 30'000'000);
  for (std::uint64_t i = 0; i < 300; i += 10) index.put(sized("p", digits(i), 10));
  index.erase(large.key.view());
  CHECK(index.verify() == "");
  index.put(sized("p", digits(1), 10));
  CHECK(index.memory_bytes() < 150'000);  // the buffer for packing huge rows was freed too
}

TEST_CASE("a row beside huge neighbours may be erased") {
  TableIndex index;
  for (std::uint64_t i = 0; i < 9; ++i) index.put(sized("p", digits(i), i % 3 == 1 ? 10 : 65'000));
  for (std::uint64_t i = 1; i < 9; i += 3) REQUIRE(index.erase({"p", digits(i)}));
  CHECK(index.verify() == "");
  CHECK(index.row_count() == 6);
}

// ---- Broken requirements ------------------------------------------------------

namespace {

struct CheckFailed {};

// Returns whether an ENTITABLE_CHECK fails in `broken`. The index may then only be destroyed.
template <typename Broken>
bool is_checked(Broken broken) {
  set_check_handler([](const char*, const char*, int) { throw CheckFailed(); });
  bool failed = false;
  try {
    broken();
  } catch (const CheckFailed&) {
    failed = true;
  }
  set_check_handler(nullptr);
  return failed;
}

TableIndex partly_unloaded() {
  TableIndex index;
  index.add_unloaded({EntityKey("b", ""), EntityKey("c", "")}, 3, 10, 100);
  return index;
}

}  // namespace

TEST_CASE("set_part on an unloaded leaf fails a check") {
  TableIndex index = partly_unloaded();
  CHECK(is_checked([&index] { TableIndex::set_part(index, {}, 4); }));
  CHECK_FALSE(is_checked([&index] { index.put(entity("c", "1")); }));
  CHECK(index.verify() == "");
}

TEST_CASE("unloaded leaves come in ascending order, each with a part and a range") {
  const auto add = [](KeyRange range, PartId part) {
    return is_checked([&] {
      TableIndex index = partly_unloaded();
      index.add_unloaded(range, part, 1, 1);
    });
  };
  CHECK_FALSE(add({EntityKey("c", ""), std::nullopt}, 4));
  CHECK_FALSE(add({EntityKey("d", ""), EntityKey("e", "")}, 4));
  CHECK(add({EntityKey("b", "5"), std::nullopt}, 4));
  CHECK(add({EntityKey("a", ""), EntityKey("b", "")}, 4));
  CHECK(add({EntityKey("d", ""), EntityKey("d", "")}, 4));
  CHECK(add({EntityKey("c", ""), std::nullopt}, 0));
  CHECK(is_checked([] {
    TableIndex index = partly_unloaded();
    index.put(entity("z", "1"));  // after a write, no unloaded leaves may be added
    index.add_unloaded({EntityKey("d", ""), std::nullopt}, 4, 1, 1);
  }));
}

TEST_CASE("a part is loaded into its unloaded leaf, in order, and within its range") {
  const auto load = [](PartId part, const std::vector<Entity>& rows) {
    return is_checked([&] {
      TableIndex index = partly_unloaded();
      index.load_part(part, rows);
    });
  };
  CHECK_FALSE(load(3, {entity("b", "1"), entity("b", "2")}));
  CHECK(load(4, {entity("b", "1")}));
  CHECK(load(4, {}));
  CHECK(load(3, {entity("b", "2"), entity("b", "1")}));
  CHECK(load(3, {entity("b", "1"), entity("b", "1")}));
  CHECK(load(3, {entity("a", "1")}));
  CHECK(load(3, {entity("b", "1"), entity("c", "")}));
  CHECK(is_checked([] {
    TableIndex index = partly_unloaded();
    index.load_part(3, {entity("b", "1")});
    index.load_part(3, {entity("b", "1")});
  }));
}

// ---- Parts -------------------------------------------------------------------

TEST_CASE("unloaded leaves return part_needed, and ranges between them are known to be empty") {
  TableIndex index;
  index.add_unloaded({EntityKey("b", ""), EntityKey("d", "5")}, 21, 100, 20'000);
  index.add_unloaded({EntityKey("d", "5"), EntityKey("f", "")}, 22, 50, 9'000);
  index.add_unloaded({EntityKey("h", ""), std::nullopt}, 23, 7, 700);
  CHECK(index.verify() == "");
  CHECK(index.row_count() == 157);
  CHECK(index.bytes() == 29'700);
  CHECK(index.find({"a", "z"}).part_needed == 0);
  CHECK(index.find({"b", ""}).part_needed == 21);
  CHECK(index.find({"d", "4"}).part_needed == 21);
  CHECK(index.find({"d", "5"}).part_needed == 22);
  CHECK(index.find({"f", ""}).part_needed == 0);
  CHECK(index.find({"g", ""}).part_needed == 0);
  CHECK(index.find({"h", "1"}).part_needed == 23);
  CHECK(index.find({"z", "1"}).part_needed == 23);

  const std::vector<LeafInfo> leaves = leaves_of(index);
  REQUIRE(leaves.size() == 5);
  CHECK(leaves[0].lower == EntityKey());
  CHECK_FALSE(leaves[0].unloaded);
  CHECK(leaves[1].unloaded);
  CHECK(leaves[1].part == 21);
  CHECK(leaves[1].part_leaves == 1);
  CHECK(leaves[1].rows == 100);
  CHECK(leaves[1].lower == EntityKey("b", ""));
  CHECK(leaves[2].part == 22);
  CHECK(leaves[3].lower == EntityKey("f", ""));
  CHECK_FALSE(leaves[3].unloaded);
  CHECK(leaves[4].part == 23);

  index.put(entity("g", "1"));
  index.put(entity("a", "1"));
  CHECK(index.verify() == "");
  CHECK(index.row_count() == 159);
  CHECK(index.erase({"g", "1"}));
  CHECK(index.erase({"a", "1"}));
  CHECK(index.verify() == "");
  CHECK(index.row_count() == 157);
  CHECK(index.find({"d", "5"}).part_needed == 22);
}

TEST_CASE("one part may be the whole table") {
  TableIndex index;
  index.add_unloaded({}, 9, 3, 30);
  CHECK(leaves_of(index).size() == 1);
  CHECK(index.find({"", ""}).part_needed == 9);
  CHECK(index.count_range({}).rows == 3);
  CHECK(index.count_range({}).exact);
  CHECK(index.verify() == "");
}

namespace {

// Returns parts as a manifest lists them: each begins where the previous part ends, the first has
// no lower bound, and the last has no upper bound.
std::vector<UnloadedPart> contiguous_parts(std::size_t count) {
  std::vector<UnloadedPart> parts;
  for (std::size_t i = 0; i < count; ++i) {
    KeyRange range;
    if (i > 0) range.lower = EntityKey(digits(i / 10), digits(i));
    if (i + 1 < count) range.upper = EntityKey(digits((i + 1) / 10), digits(i + 1));
    parts.push_back({std::move(range), i + 1, 10 + i, 1'000 + i});
  }
  return parts;
}

// Checks that the leaves of the index are exactly these unloaded parts.
void check_leaves(const TableIndex& index, const std::vector<UnloadedPart>& parts) {
  CHECK(index.verify() == "");
  const std::vector<LeafInfo> leaves = leaves_of(index);
  REQUIRE(leaves.size() == parts.size());
  std::uint64_t rows = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    CHECK(leaves[i].lower == parts[i].range.lower);
    CHECK(leaves[i].part == parts[i].part);
    CHECK(leaves[i].unloaded);
    CHECK(leaves[i].rows == parts[i].rows);
    CHECK(index.find(parts[i].range.lower.view()).part_needed == parts[i].part);
    rows += parts[i].rows;
  }
  CHECK(index.row_count() == rows);
}

}  // namespace

// A node has at most 64 children. If more leaves are added at once, each node gets 56 and there are
// several levels. The counts test both limits.
TEST_CASE("any number of unloaded leaves is added in one call, or in two") {
  for (const std::size_t count : {1u, 2u, 55u, 56u, 57u, 63u, 64u, 65u, 112u, 113u, 4'000u}) {
    CAPTURE(count);
    const std::vector<UnloadedPart> parts = contiguous_parts(count);
    TableIndex at_once;
    at_once.add_unloaded(parts);
    check_leaves(at_once, parts);
    for (const std::size_t first : {1u, 40u, 64u, 100u}) {
      if (first >= count) continue;
      CAPTURE(first);
      const std::span<const UnloadedPart> all(parts);
      TableIndex in_two;
      in_two.add_unloaded(all.first(first));
      in_two.add_unloaded(all.subspan(first));
      check_leaves(in_two, parts);
    }
  }
  TableIndex none;
  none.add_unloaded(std::span<const UnloadedPart>());
  CHECK(none.verify() == "");
  CHECK(leaves_of(none).size() == 1);
}

TEST_CASE("unloaded leaves of one call are in ascending order") {
  const auto add = [](KeyRange first, KeyRange second) {
    return is_checked([&] {
      TableIndex index;
      const UnloadedPart parts[] = {{first, 1, 1, 1}, {second, 2, 1, 1}};
      index.add_unloaded(parts);
    });
  };
  const EntityKey a("a", ""), b("b", ""), c("c", "");
  CHECK_FALSE(add({a, b}, {b, c}));
  CHECK_FALSE(add({EntityKey(), a}, {c, std::nullopt}));
  CHECK(add({b, c}, {a, b}));
  CHECK(add({a, c}, {b, c}));
  CHECK(add({a, std::nullopt}, {b, c}));
}

TEST_CASE("counting over unloaded leaves") {
  TableIndex index;
  index.add_unloaded({EntityKey("b", ""), EntityKey("d", "")}, 21, 100, 20'000);
  index.add_unloaded({EntityKey("d", ""), EntityKey("f", "")}, 22, 50, 9'000);
  index.put(entity("a", "1"));
  index.put(entity("g", "1"));
  const auto count = [&index](EntityKey lower, std::optional<EntityKey> upper) {
    return index.count_range({std::move(lower), std::move(upper)});
  };
  // Ranges of whole leaves have an exact count.
  CHECK(count(EntityKey(), std::nullopt).rows == 152);
  CHECK(count(EntityKey(), std::nullopt).exact);
  CHECK(count(EntityKey("b", ""), EntityKey("d", "")).rows == 100);
  CHECK(count(EntityKey("b", ""), EntityKey("d", "")).bytes == 20'000);
  CHECK(count(EntityKey("b", ""), EntityKey("d", "")).exact);
  // Inexact: the range ends inside a leaf, begins inside a leaf, or both, in two leaves or in one.
  CHECK(count(EntityKey("b", ""), EntityKey("e", "")).rows == 150);
  CHECK_FALSE(count(EntityKey("b", ""), EntityKey("e", "")).exact);
  CHECK(count(EntityKey("c", ""), EntityKey("f", "")).rows == 150);
  CHECK_FALSE(count(EntityKey("c", ""), EntityKey("f", "")).exact);
  CHECK(count(EntityKey("c", ""), EntityKey("e", "")).rows == 150);
  CHECK_FALSE(count(EntityKey("c", ""), EntityKey("e", "")).exact);
  CHECK(count(EntityKey("c", "1"), EntityKey("c", "2")).rows == 100);
  CHECK(count(EntityKey("c", "1"), EntityKey("c", "2")).bytes == 20'000);
  CHECK_FALSE(count(EntityKey("c", "1"), EntityKey("c", "2")).exact);
  CHECK(count(EntityKey("c", ""), std::nullopt).rows == 151);
  CHECK(count(EntityKey("f", ""), std::nullopt).rows == 1);
  CHECK(count(EntityKey("f", ""), std::nullopt).exact);
}

TEST_CASE("set_part marks the leaves of the pinned version that still exist") {
  TableIndex index;
  for (std::uint64_t i = 0; i < 2'000; ++i) index.put(sized("p", digits(i), 100));
  const TableIndex pinned = index;
  const std::vector<LeafInfo> leaves = leaves_of(pinned);
  REQUIRE(leaves.size() > 20);

  // While the part of leaves 0 to 9 is being stored, a row of leaf 5 changes.
  index.put(sized("p", leaves[5].lower.row, 100, 2));
  TableIndex::set_part(pinned, {EntityKey(), leaves[10].lower}, 77);

  const std::vector<LeafInfo> now = leaves_of(index);
  const std::vector<LeafInfo> then = leaves_of(pinned);
  REQUIRE(now.size() == leaves.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    CAPTURE(i);
    CHECK(then[i].part == (i < 10 ? 77u : 0u));
    CHECK(then[i].part_leaves == (i < 10 ? 10u : 0u));
    CHECK(now[i].part == (i < 10 && i != 5 ? 77u : 0u));
    CHECK(now[i].part_leaves == (i < 10 && i != 5 ? 10u : 0u));
  }

  // A later part that starts in the middle of the table.
  TableIndex::set_part(pinned, {leaves[10].lower, std::nullopt}, 78);
  CHECK(leaves_of(index)[10].part == 78);
  CHECK(leaves_of(index).back().part_leaves == leaves.size() - 10);
  CHECK(leaves_of(index)[9].part == 77);
}

TEST_CASE("a removed leaf is missing from its part") {
  TableIndex index;
  for (std::uint64_t i = 0; i < 2'000; ++i) index.put(sized("p", digits(i), 100));
  const std::vector<LeafInfo> leaves = leaves_of(index);
  TableIndex::set_part(index, {}, 5);
  // Erase all rows of leaf 3. The leaf is removed, and no other leaf changes.
  for (Cursor cursor(TableIndex(index), {leaves[3].lower, leaves[4].lower}); cursor.valid();
       cursor.next()) {
    REQUIRE(index.erase(cursor.row().key()));
  }
  std::size_t of_part = 0;
  std::uint32_t part_leaves = 0;
  index.for_each_leaf([&](const LeafInfo& leaf) {
    of_part += leaf.part == 5;
    if (leaf.part == 5) part_leaves = leaf.part_leaves;
  });
  CHECK(index.verify() == "");
  CHECK(part_leaves == leaves.size());
  CHECK(of_part == leaves.size() - 1);
}

TEST_CASE("appending does not change the part of the full leaf before") {
  TableIndex index;
  for (std::uint64_t i = 0; i < 1'000; ++i) index.put(sized("p", digits(i), 100));
  std::uint64_t next = 1'000;
  const std::size_t count = leaves_of(index).size();
  while (leaves_of(index).size() == count) {
    TableIndex::set_part(index, {}, 6);
    index.put(sized("p", digits(next++), 100));
  }
  const std::vector<LeafInfo> leaves = leaves_of(index);
  for (std::size_t i = 0; i + 1 < leaves.size(); ++i) CHECK(leaves[i].part == 6);
  CHECK(leaves.back().part == 0);
  CHECK(leaves.back().rows == 1);
}

}  // namespace entitable
