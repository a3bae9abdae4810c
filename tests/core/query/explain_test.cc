#include "core/query/explain.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/query/service_plan.h"
#include "tests/core/query/query_testing.h"
#include "tests/core/query/unloaded_table.h"
#include "tests/support/random_filter.h"

using namespace entitable;
using namespace entitable::test;

namespace {

Explain explain_of(const TableIndex& index, const Query& query) {
  Explanation explanation(query);
  auto result = explain(index, explanation);
  REQUIRE(std::holds_alternative<Explain>(result));
  return std::get<Explain>(std::move(result));
}

Explain explain_of(const TableIndex& index, std::string_view filter, std::uint32_t top = 1000) {
  Query query;
  query.filter = filter_of(filter);
  query.top = top;
  return explain_of(index, query);
}

// Partitions a to c with 10, 20 and 30 rows; n counts the rows of each.
TableIndex three_partitions() {
  TableIndex index;
  int rows = 0;
  for (const char* partition : {"a", "b", "c"}) {
    rows += 10;
    for (int i = 0; i < rows; ++i) {
      const auto number = static_cast<std::uint64_t>(i);
      index.put(entity_of(partition, digits(number, 3), {{"n", Value::of_int32(i)}}));
    }
  }
  return index;
}

// The model of explain.h, computed naively.
std::uint64_t slow_round_trips(const Rows& rows, const Query& query) {
  const ServicePlan service = make_service_plan(query.filter);
  if (query.top == 0 || service.kind == PlanKind::empty) return 1;
  std::map<std::string, std::uint64_t> matching;  // by partition that the service reads
  for (const Entity& entity : rows.all()) {
    if (!service.range.contains(entity.key.view())) continue;
    if (query.from && compare(entity.key.view(), query.from->next.view()) < 0) continue;
    matching[entity.key.partition] += matches_unbound(query.filter, entity) ? 1 : 0;
  }
  std::uint64_t trips = 0;
  for (const auto& [partition, count] : matching) {
    trips += std::max<std::uint64_t>(1, (count + query.top - 1) / query.top);
  }
  return std::max<std::uint64_t>(1, trips);
}

}  // namespace

TEST_CASE("explain counts what a whole query reads and returns") {
  const TableIndex index = three_partitions();
  const std::uint64_t row_bytes = index.bytes() / index.row_count();  // all rows have the same size
  struct Case {
    const char* filter;
    PlanKind kind;
    std::size_t ranges;
    std::uint64_t read;
    std::uint64_t returned;
    PlanKind service;
    std::uint64_t trips;
  };
  for (const Case& one : {
           Case{"PartitionKey eq 'b' and RowKey eq '003'", PlanKind::point, 1, 1, 1,
                PlanKind::point, 1},
           Case{"PartitionKey eq 'b' and RowKey eq 'x'", PlanKind::point, 1, 0, 0, PlanKind::point,
                1},
           Case{"PartitionKey eq 'b' and RowKey ge '003' and RowKey lt '007'", PlanKind::range, 1,
                4, 4, PlanKind::range, 1},
           Case{"PartitionKey eq 'b' and n ge 15", PlanKind::partition, 1, 20, 5,
                PlanKind::partition, 1},
           Case{"n eq 25", PlanKind::table, 1, 60, 1, PlanKind::table, 3},
           Case{"PartitionKey eq 'b' and (RowKey eq '001' or RowKey eq '002')", PlanKind::point, 2,
                2, 2, PlanKind::partition, 1},
           Case{"PartitionKey eq 'a' or PartitionKey eq 'c'", PlanKind::partition, 2, 40, 40,
                PlanKind::table, 3},
           Case{"PartitionKey ge 'b'", PlanKind::table, 1, 50, 50, PlanKind::table, 2},
           Case{"PartitionKey gt 'x' and PartitionKey lt 'b'", PlanKind::empty, 0, 0, 0,
                PlanKind::empty, 1},
           Case{"", PlanKind::table, 1, 60, 60, PlanKind::table, 3},
       }) {
    CAPTURE(one.filter);
    const Explain explain = explain_of(index, one.filter);
    CHECK(explain.kind == one.kind);
    CHECK(explain.ranges.size() == one.ranges);
    CHECK(explain.rows_read == one.read);
    CHECK(explain.rows_returned == one.returned);
    CHECK(explain.service_kind == one.service);
    CHECK(explain.service_round_trips == one.trips);
    CHECK(explain.service_transactions == one.trips);
    CHECK(explain.bytes_read == one.read * row_bytes);
  }
}

TEST_CASE("a response ends after top rows and at the end of a partition") {
  const TableIndex index = three_partitions();
  CHECK(explain_of(index, "", 10).service_round_trips == 1 + 2 + 3);
  CHECK(explain_of(index, "", 9).service_round_trips == 2 + 3 + 4);
  CHECK(explain_of(index, "", 1).service_round_trips == 60);
  CHECK(explain_of(index, "n lt 5", 5).service_round_trips == 3);
  CHECK(explain_of(index, "n lt 5", 4).service_round_trips == 6);
  CHECK(explain_of(index, "n lt 0", 4).service_round_trips == 3);
  CHECK(explain_of(index, "PartitionKey eq 'x'").service_round_trips == 1);
  CHECK(explain_of(TableIndex(), "").service_round_trips == 1);
}

TEST_CASE("explain reads all pages, and none with a top of zero") {
  const TableIndex index = three_partitions();
  CHECK(explain_of(index, "n ge 5", 2).rows_returned == 45);
  CHECK(explain_of(index, "n ge 5", 2).rows_read == 60);
  const Explain none = explain_of(index, "n ge 5", 0);
  CHECK(none.rows_read == 0);
  CHECK(none.bytes_read == 0);
  CHECK(none.rows_returned == 0);
  CHECK(none.service_round_trips == 1);
  CHECK(none.kind == PlanKind::table);
}

TEST_CASE("explain starts at the token but reports the ranges of the plan") {
  Query query;
  query.from = Continuation{EntityKey("b", "015")};
  const Explain explain = explain_of(three_partitions(), query);
  CHECK(explain.rows_read == 35);
  CHECK(explain.bytes_read == three_partitions().count_range({{"b", "015"}, std::nullopt}).bytes);
  CHECK(explain.service_round_trips == 2);
  CHECK(explain.ranges == std::vector<KeyRange>{KeyRange{}});
}

TEST_CASE("partitions are counted, however many leaves they have") {
  TableIndex index;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    index.put(entity_of("p" + digits(i / 1000, 1), digits(i)));
  }
  for (std::uint64_t i = 0; i < 50; ++i) index.put(entity_of("small" + digits(i), ""));
  const Explain explain = explain_of(index, "n eq 1");
  CHECK(explain.rows_read == 3050);
  CHECK(explain.service_round_trips == 53);
}

TEST_CASE("explain of random queries agrees with the reference model") {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    const Rows rows = random_rows(prng, 40);
    const TableIndex index = rows.index();
    const FilterVocabulary vocabulary = vocabulary_of(rows.all());
    for (int i = 0; i < 5; ++i) {
      Query query;
      query.filter = RandomFilter(prng, vocabulary).make(3);
      query.top = static_cast<std::uint32_t>(prng.below(6));
      if (prng.chance(3)) query.from = Continuation{random_entity_key(prng)};
      CAPTURE(to_sexpr(query.filter), query.top);
      const Explain explain = explain_of(index, query);
      const EntityKey from = query.from ? query.from->next : EntityKey();
      const std::size_t matching = query.top == 0 ? 0 : rows.matching(query.filter, from).size();
      REQUIRE(explain.rows_returned == matching);
      REQUIRE(explain.rows_read >= matching);
      REQUIRE(explain.service_round_trips == slow_round_trips(rows, query));
    }
  }
}

TEST_CASE("explain requests missing parts until it can count") {
  Prng prng(7);
  const Rows rows = regular_rows(prng, 300);
  UnloadedTable table(rows, 20);
  Query query;
  query.filter = filter_of("PartitionKey eq 'p1' or PartitionKey eq 'p3'");
  Explanation explanation(query);
  auto result = explain(table.index(), explanation);
  while (const auto* need = std::get_if<PartsNeeded>(&result)) {
    table.load(*need);
    result = explain(table.index(), explanation);
  }
  const Explain whole = explain_of(rows.index(), query);
  const Explain& explain = std::get<Explain>(result);
  CHECK(explain.rows_read == whole.rows_read);
  CHECK(explain.rows_returned == rows.matching(query.filter).size());
  CHECK(explain.service_round_trips == 5);
}

TEST_CASE("explain counts the same if only the parts that it needs next are in memory") {
  Prng prng(8);
  const Rows rows = regular_rows(prng, 300);
  for (const char* filter :
       {"", "PartitionKey eq 'p1' or PartitionKey eq 'p3'", "PartitionKey gt 'p1'",
        "PartitionKey eq 'p2' and RowKey ge 'r1'", "Count gt 5 and Missing eq 'x'"}) {
    for (const bool continued : {false, true}) {
      CAPTURE(filter, continued);
      Query query;
      query.top = 7;
      query.filter = filter_of(filter);
      if (continued) query.from = Continuation{EntityKey("p1", "r2")};
      const Explain whole = explain_of(rows.index(), query);
      Explanation explanation(query);
      std::size_t calls = 0;
      std::vector<PartId> loaded;
      const UnloadedTable table(rows, 20);
      while (true) {
        ++calls;
        auto result = explain(table.version_with(loaded), explanation);
        if (const auto* need = std::get_if<PartsNeeded>(&result)) {
          loaded = {need->ids.front()};
          continue;
        }
        const Explain& explain = std::get<Explain>(result);
        CHECK(explain.rows_read == whole.rows_read);
        CHECK(explain.rows_returned == whole.rows_returned);
        CHECK(explain.bytes_read == whole.bytes_read);
        CHECK(explain.service_round_trips == whole.service_round_trips);
        CHECK(explain.warnings.size() == whole.warnings.size());
        break;
      }
      if (query.filter.empty()) CHECK(calls > 15);
    }
  }
}
