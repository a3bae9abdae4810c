#include "core/index/table_index.h"

#include "core/index/leaf.h"
#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"

namespace entitable {

using test::digits;
using test::entity;
using test::keys_in;
using test::leaves_of;
using test::sized;

namespace {

std::vector<Entity> rows_of(std::string_view partition, std::uint64_t count,
                            std::size_t bytes = 100) {
  std::vector<Entity> rows;
  for (std::uint64_t i = 0; i < count; ++i) rows.push_back(sized(partition, digits(i), bytes, 7));
  return rows;
}

}  // namespace

TEST_CASE("a loaded part replaces its unloaded leaf and is remembered") {
  TableIndex index;
  index.add_unloaded({EntityKey("b", ""), EntityKey("c", "")}, 31, 1'000, 130'000);
  index.add_unloaded({EntityKey("c", ""), EntityKey("d", "")}, 32, 10, 1'300);
  index.load_part(31, rows_of("b", 1'000));
  REQUIRE(index.verify() == "");
  CHECK(index.row_count() == 1'010);
  CHECK(index.find({"b", digits(500)}).row->timestamp() == 7);
  CHECK(index.find({"c", "1"}).part_needed == 32);
  std::size_t of_part = 0;
  std::uint32_t part_leaves = 0;
  index.for_each_leaf([&](const LeafInfo& leaf) {
    if (leaf.part != 31) return;
    ++of_part;
    part_leaves = leaf.part_leaves;
    CHECK_FALSE(leaf.unloaded);
  });
  CHECK(of_part > 10);
  CHECK(of_part == part_leaves);

  index.load_part(32, rows_of("c", 10));
  CHECK(index.verify() == "");
  CHECK(index.row_count() == 1'010);
  CHECK(keys_in(index, KeyRange::partition("c")).size() == 10);
  index.put(entity("c", "new"));
  index.put(sized("b", digits(3), 100, 8));
  CHECK(index.verify() == "");
  CHECK(index.row_count() == 1'011);
}

TEST_CASE("loaded leaves are full and their memory is tight") {
  TableIndex index;
  index.add_unloaded({}, 1, 20'000, 1);
  index.load_part(1, rows_of("p", 20'000, 150));
  CHECK(index.verify() == "");
  const auto packed = static_cast<double>(index.bytes());
  CHECK(static_cast<double>(index.memory_bytes() - index.schema().memory_bytes()) < 1.1 * packed);
  CHECK(leaves_of(index).size() * leaf_bytes_filled < index.bytes() * 12 / 10);
}

TEST_CASE("loading changes this version only") {
  TableIndex index;
  index.add_unloaded({EntityKey("b", ""), std::nullopt}, 31, 100, 13'000);
  const TableIndex before = index;
  index.load_part(31, rows_of("b", 100));
  CHECK(before.find({"b", digits(5)}).part_needed == 31);
  CHECK(before.verify() == "");
  CHECK(index.find({"b", digits(5)}).row);
}

TEST_CASE("a part may be empty, hold one huge row, or many partitions") {
  TableIndex index;
  index.add_unloaded({EntityKey("a", ""), EntityKey("b", "")}, 1, 0, 0);
  index.add_unloaded({EntityKey("b", ""), EntityKey("c", "")}, 2, 1, 1'000'000);
  index.add_unloaded({EntityKey("c", ""), std::nullopt}, 3, 500, 1);
  index.load_part(1, {});
  index.load_part(2, {sized("b", "huge", 1'000'000)});
  std::vector<Entity> many;
  for (std::uint64_t i = 0; i < 500; ++i) many.push_back(sized("c" + digits(i), "only", 20));
  index.load_part(3, many);
  CHECK(index.verify() == "");
  CHECK(index.row_count() == 501);
  CHECK(index.find({"a", "x"}).part_needed == 0);
  CHECK_FALSE(index.find({"a", "x"}).row);
  CHECK(index.find({"b", "huge"}).row);
  for (std::uint64_t i = 0; i < 500; ++i) REQUIRE(index.find({"c" + digits(i), "only"}).row);
  const std::vector<LeafInfo> leaves = leaves_of(index);
  REQUIRE(leaves.size() > 3);
  CHECK(leaves[1].part == 1);
  CHECK(leaves[1].part_leaves == 1);
  CHECK(leaves[2].part == 2);
  CHECK(leaves[3].part == 3);
}

TEST_CASE("a loader that is destroyed before finish leaves the index unchanged") {
  TableIndex index;
  index.add_unloaded({EntityKey("b", ""), std::nullopt}, 31, 100, 13'000);
  {
    PartLoader loader(index, 31);
    const std::vector<PropertyView> properties = {{"a", ValueView::of_int32(1)}};
    for (std::uint64_t i = 0; i < 300; ++i) loader.add({"b", digits(i)}, 1, properties);
  }
  CHECK(index.find({"b", digits(5)}).part_needed == 31);
  CHECK(index.row_count() == 100);
  CHECK(index.verify() == "");
}

TEST_CASE("many parts form a whole table") {
  TableIndex table;
  for (std::uint64_t i = 0; i < 30'000; ++i)
    table.put(sized("p" + digits(i / 3'000), digits(i), 60));
  // Cut it into parts of 20 leaves, as a checkpoint would.
  const std::vector<LeafInfo> leaves = leaves_of(table);
  TableIndex opened;
  std::vector<KeyRange> ranges;
  for (std::size_t i = 0; i < leaves.size(); i += 20) {
    KeyRange range{leaves[i].lower, std::nullopt};
    if (i + 20 < leaves.size()) range.upper = leaves[i + 20].lower;
    const RangeCount count = table.count_range(range);
    opened.add_unloaded(range, ranges.size() + 1, count.rows, count.bytes);
    ranges.push_back(range);
  }
  REQUIRE(opened.verify() == "");
  CHECK(opened.row_count() == table.row_count());
  // Loaded in any order.
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::size_t part = (i * 7) % ranges.size();
    if (opened.find(ranges[part].lower.view()).part_needed == 0) continue;
    std::vector<Entity> rows;
    for (Cursor cursor(table, ranges[part]); cursor.valid(); cursor.next()) {
      rows.push_back(cursor.row().materialize());
    }
    opened.load_part(part + 1, rows);
  }
  for (std::size_t part = 0; part < ranges.size(); ++part) {
    if (opened.find(ranges[part].lower.view()).part_needed == 0) continue;
    std::vector<Entity> rows;
    for (Cursor cursor(table, ranges[part]); cursor.valid(); cursor.next()) {
      rows.push_back(cursor.row().materialize());
    }
    opened.load_part(part + 1, rows);
  }
  CHECK(opened.verify() == "");
  CHECK(opened.bytes() == table.bytes());
  CHECK(keys_in(opened) == keys_in(table));
}

}  // namespace entitable
