#include "core/query/count.h"

#include "tests/core/query/query_testing.h"
#include "tests/core/query/unloaded_table.h"
#include "tests/support/random_filter.h"

using namespace entitable;
using namespace entitable::test;

TEST_CASE("a count by keys reads no row; any other filter is tested on the rows of the plan") {
  const TableIndex index = numbered_rows(1000).index();
  const auto counted = [&index](std::string_view filter) {
    return std::get<MatchCount>(count_matches(index, query_of(filter)));
  };
  CHECK(counted("").rows == 1000);
  CHECK(counted("").rows_read == 0);
  CHECK(counted("PartitionKey eq 'p' and RowKey ge '0100' and RowKey lt '0300'").rows == 200);
  CHECK(counted("PartitionKey eq 'x'").rows == 0);
  const MatchCount some = counted("PartitionKey eq 'p' and RowKey lt '0300' and n ge 290");
  CHECK(some.rows == 10);
  CHECK(some.rows_read == 300);
  CHECK_FALSE(some.next.has_value());
}

TEST_CASE("a count starts at its continuation") {
  const TableIndex index = numbered_rows(10).index();
  for (const char* filter : {"", "n lt 9"}) {
    Query query = query_of(filter);
    query.from = Continuation{EntityKey("p", "0004")};
    const auto result = count_matches(index, query);
    CHECK(std::get<MatchCount>(result).rows == (query.filter.empty() ? 6 : 5));
  }
}

TEST_CASE("counts agree with the reference, with missing parts") {
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    const Rows rows = prng.chance(2) ? random_rows(prng, 40) : regular_rows(prng, 400);
    const FilterVocabulary vocabulary = vocabulary_of(rows.all());
    for (int i = 0; i < 5; ++i) {
      UnloadedTable table(prng, rows);
      Query query;
      if (!prng.chance(6)) query.filter = RandomFilter(prng, vocabulary).make(3);
      CAPTURE(to_sexpr(query.filter));
      std::uint64_t count = 0;
      do {
        auto result = count_matches(table.index(), query);
        while (const auto* need = std::get_if<PartsNeeded>(&result)) {
          table.load(*need);
          result = count_matches(table.index(), query);
        }
        count += std::get<MatchCount>(result).rows;
        query.from = std::get<MatchCount>(result).next;
      } while (query.from.has_value());
      REQUIRE(count == rows.matching(query.filter).size());
    }
  }
}

TEST_CASE("a count by keys needs only the parts at the bounds of its ranges") {
  const Rows rows = numbered_rows(100);
  UnloadedTable table(rows, 10);
  const auto all = count_matches(table.index(), query_of(""));
  CHECK(std::get<MatchCount>(all).rows == 100);
  const Query range = query_of("PartitionKey eq 'p' and RowKey ge '0015' and RowKey lt '0085'");
  auto result = count_matches(table.index(), range);
  CHECK(std::get<PartsNeeded>(result).ids == std::vector<PartId>{2, 9});
  table.load(std::get<PartsNeeded>(result));
  result = count_matches(table.index(), range);
  CHECK(std::get<MatchCount>(result).rows == 70);
}

TEST_CASE("changes of rows that are not in memory are counted after loading them") {
  const Rows rows = numbered_rows(100);
  UnloadedTable table(rows, 10);
  TableIndex index = table.index();
  index.erase({"p", "0033"});
  index.put(entity_of("p", "0047"));
  index.put(entity_of("p", "0047x"));
  const auto result = count_matches(index, query_of(""));
  CHECK(std::get<PartsNeeded>(result).ids == std::vector<PartId>{4, 5});
}
