#include "core/query/descending.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/model/limits.h"
#include "core/query/executor.h"
#include "tests/core/query/query_testing.h"
#include "tests/core/query/unloaded_table.h"
#include "tests/support/random_filter.h"

using namespace entitable;
using namespace entitable::test;

namespace {

Query descending_query(Filter filter, std::uint32_t top) {
  Query query;
  query.filter = std::move(filter);
  query.top = top;
  query.descending = true;
  return query;
}

// The reference: the matching rows from the last to the first.
std::string expected_keys(const Rows& rows, const Filter& filter) {
  std::vector<Entity> found = rows.matching(filter);
  std::reverse(found.begin(), found.end());
  return keys_text(found);
}

// Reads all pages; checks that none but the last is shorter than `top`.
std::string keys_of_pages(const TableIndex& index, Query query) {
  std::vector<RowView> rows;
  std::vector<Page> pages;
  do {
    auto result = execute(index, query);
    REQUIRE(std::holds_alternative<Page>(result));
    pages.push_back(std::get<Page>(std::move(result)));
    const Page& page = pages.back();
    REQUIRE(page.rows.size() <= query.top);
    REQUIRE((!page.next.has_value() || page.rows.size() == query.top));
    rows.insert(rows.end(), page.rows.begin(), page.rows.end());
    query.from = page.next;
  } while (query.from.has_value());
  return keys_text(rows);
}

}  // namespace

TEST_CASE("a descending page ends at top, and its continuation is its last row") {
  Rows rows;
  for (std::size_t i = 0; i < 10; ++i) {
    rows.put(entity_of("p", digits(i, 4), {{"n", Value::of_int32(static_cast<int>(i))}}));
  }
  const TableIndex index = rows.index();
  Query query = descending_query(filter_of("n le 7 and n ne 5"), 3);
  auto result = execute(index, query);
  const Page& page = std::get<Page>(result);
  CHECK(keys_text(page.rows) == "p|0007 p|0006 p|0004");
  CHECK(page.next == Continuation{EntityKey("p", "0004")});
  query.top = 4;
  query.from = page.next;
  result = execute(index, query);
  CHECK(keys_text(std::get<Page>(result).rows) == "p|0003 p|0002 p|0001 p|0000");
  CHECK_FALSE(std::get<Page>(result).next.has_value());
  query.top = 0;
  CHECK(std::get<Page>(execute(index, query)).rows.empty());
}

TEST_CASE("a descending query reads only the end of its range") {
  Rows rows;
  for (std::size_t i = 0; i < 1000; ++i) rows.put(entity_of("p", digits(i, 4)));
  const TableIndex index = rows.index();
  const auto result = execute(index, descending_query(filter_of("PartitionKey eq 'p'"), 5));
  CHECK(std::get<Page>(result).rows_read == 6);
}

TEST_CASE("a descending page of large rows ends at the byte limit") {
  std::vector<Property> huge;
  for (char name = 'a'; name < 'p'; ++name) {
    huge.push_back({std::string(1, name), Value::of_binary(std::string(65'000, 'x'))});
  }
  TableIndex index;
  for (std::uint64_t i = 0; i < 70; ++i) index.put(entity_of("p", digits(i), huge));
  const std::uint64_t row_bytes = index.find({"p", digits(0)}).row->packed_bytes();
  const auto full = static_cast<std::size_t>((limits::page_bytes_max + row_bytes - 1) / row_bytes);
  const auto result = execute(index, descending_query({}, 1000));
  const Page& page = std::get<Page>(result);
  CHECK(page.rows.size() == full);
  CHECK(page.next == Continuation{EntityKey("p", digits(70 - full))});
}

TEST_CASE("descending pages of random queries agree with the reference") {
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    const Rows rows = prng.chance(2) ? random_rows(prng, 40) : regular_rows(prng, 600);
    const TableIndex index = rows.index();
    const FilterVocabulary vocabulary = vocabulary_of(rows.all());
    for (int i = 0; i < 6; ++i) {
      Filter filter;
      if (!prng.chance(6)) filter = RandomFilter(prng, vocabulary).make(3);
      CAPTURE(to_sexpr(filter));
      const std::string expected = expected_keys(rows, filter);
      const auto top = static_cast<std::uint32_t>(1 + prng.below(30));
      REQUIRE(keys_of_pages(index, descending_query(std::move(filter), top)) == expected);
    }
  }
}

TEST_CASE("a descending page requests missing parts, then has the same rows") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    const Rows rows = prng.chance(2) ? random_rows(prng, 40) : regular_rows(prng, 400);
    const FilterVocabulary vocabulary = vocabulary_of(rows.all());
    for (int i = 0; i < 4; ++i) {
      UnloadedTable table(prng, rows);
      const bool end_page = prng.chance(2);
      Query query = descending_query(RandomFilter(prng, vocabulary).make(3), 7);
      CAPTURE(to_sexpr(query.filter));
      const std::string expected = expected_keys(rows, query.filter);
      std::string found;
      do {
        const auto mode = end_page ? OnUnloaded::end_page : OnUnloaded::return_parts_needed;
        auto result = execute(table.index(), query, mode);
        while (const auto* need = std::get_if<PartsNeeded>(&result)) {
          table.load(*need);
          result = execute(table.index(), query, mode);
        }
        const Page& page = std::get<Page>(result);
        const std::string keys = keys_text(page.rows);
        found += (found.empty() || keys.empty() ? "" : " ") + keys;
        query.from = page.next;
      } while (query.from.has_value());
      REQUIRE(found == expected);
    }
  }
}

TEST_CASE("a descending page requests the parts that it needs, from the last") {
  Rows rows;
  for (std::size_t i = 0; i < 100; ++i) {
    rows.put(entity_of("p", digits(i, 4), {{"n", Value::of_int32(static_cast<int>(i))}}));
  }
  UnloadedTable table(rows, 10);
  const auto parts = [&table](std::string_view filter, std::uint32_t top) {
    const auto result = execute(table.index(), descending_query(filter_of(filter), top));
    return std::get<PartsNeeded>(result).ids;
  };
  CHECK(parts("", 9) == std::vector<PartId>{10});
  CHECK(parts("", 10) == std::vector<PartId>{10, 9});
  CHECK(parts("PartitionKey eq 'p' and RowKey lt '0020'", 1) == std::vector<PartId>{2});
  CHECK(parts("n eq 3", 1).size() == 10);
}
