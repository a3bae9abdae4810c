#include "core/query/partition_keys.h"

#include <set>

#include "tests/core/query/query_testing.h"
#include "tests/core/query/unloaded_table.h"

using namespace entitable;
using namespace entitable::test;

namespace {

std::vector<std::string> partitions_of(const Rows& rows) {
  std::vector<std::string> keys;
  for (const Entity& entity : rows.all()) {
    if (keys.empty() || keys.back() != entity.key.partition) keys.push_back(entity.key.partition);
  }
  return keys;
}

}  // namespace

TEST_CASE("the partition keys of a table, in pages") {
  Rows rows;
  for (const char* partition : {"", "a", "aa", "b"}) {
    for (std::uint64_t i = 0; i < 100; ++i) rows.put(entity_of(partition, digits(i)));
  }
  const TableIndex index = rows.index();
  const auto page = [&index](std::string_view from, std::uint32_t top) {
    return std::get<PartitionKeys>(list_partition_keys(index, from, top));
  };
  CHECK(page("", 1000).keys == std::vector<std::string>{"", "a", "aa", "b"});
  CHECK_FALSE(page("", 1000).next.has_value());
  CHECK_FALSE(page("", 4).next.has_value());
  CHECK(page("", 2).keys == std::vector<std::string>{"", "a"});
  CHECK(page("", 2).next == "aa");
  CHECK(page("aa", 2).keys == std::vector<std::string>{"aa", "b"});
  CHECK(page("ab", 2).keys == std::vector<std::string>{"b"});
  CHECK(page("c", 2).keys.empty());
  CHECK(page("", 0).keys.empty());
  CHECK(std::get<PartitionKeys>(list_partition_keys(TableIndex(), "", 1)).keys.empty());
}

TEST_CASE("partition keys agree with the reference, with missing parts") {
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    const Rows rows = prng.chance(2) ? random_rows(prng, 60) : regular_rows(prng, 400);
    UnloadedTable table(prng, rows);
    std::vector<std::string> keys;
    std::optional<std::string> from = "";
    while (from.has_value()) {
      const auto top = static_cast<std::uint32_t>(1 + prng.below(4));
      auto result = list_partition_keys(table.index(), *from, top);
      while (const auto* need = std::get_if<PartsNeeded>(&result)) {
        table.load(*need);
        result = list_partition_keys(table.index(), *from, top);
      }
      const auto& page = std::get<PartitionKeys>(result);
      REQUIRE(page.keys.size() <= top);
      keys.insert(keys.end(), page.keys.begin(), page.keys.end());
      from = page.next;
    }
    REQUIRE(keys == partitions_of(rows));
  }
}

TEST_CASE("only the parts at the bounds of the partitions are needed") {
  Rows rows;
  for (const char* partition : {"a", "b"}) {
    for (std::uint64_t i = 0; i < 100; ++i) rows.put(entity_of(partition, digits(i)));
  }
  UnloadedTable table(rows, 10);  // 10 parts for each partition
  std::set<PartId> loaded;
  std::vector<std::string> keys;
  std::optional<std::string> from = "";
  while (from.has_value()) {
    auto result = list_partition_keys(table.index(), *from, 1000);
    while (const auto* need = std::get_if<PartsNeeded>(&result)) {
      loaded.insert(need->ids.begin(), need->ids.end());
      table.load(*need);
      result = list_partition_keys(table.index(), *from, 1000);
    }
    const auto& page = std::get<PartitionKeys>(result);
    keys.insert(keys.end(), page.keys.begin(), page.keys.end());
    from = page.next;
  }
  CHECK(keys == std::vector<std::string>{"a", "b"});
  // The last part of a partition may hold a further one.
  CHECK(loaded == std::set<PartId>{1, 10, 11, 20});
}
