#include <map>
#include <string>
#include <variant>

#include "core/base/check.h"
#include "core/query/bound_filter.h"
#include "core/query/executor.h"
#include "core/query/planner.h"
#include "tests/bench/core/sizes.h"
#include "tests/bench/core/workload.h"

namespace entitable::bench {
namespace {

void query_plan(benchmark::State& state) {
  const Filter filter = parsed("PartitionKey eq 'p000042' and count lt 100");
  for (auto _ : state) benchmark::DoNotOptimize(make_plan(filter).ranges.data());
  per_operation(state, 1);
}
BENCHMARK(query_plan);

void query_bind_to_a_shape(benchmark::State& state) {
  const Filter filter = parsed(filter_one_percent);
  const Plan plan = make_plan(filter);
  Schema schema;
  const Shape& shape = schema.intern(entity(0).properties);
  for (auto _ : state) {
    const BoundFilter bound(filter, plan.implied, shape);
    benchmark::DoNotOptimize(bound.test_count());
  }
  per_operation(state, 1);
}
BENCHMARK(query_bind_to_a_shape);

// All pages of a query; gives the rows that matched.
std::size_t drain(const Store& store, Query& query) {
  std::size_t rows = 0;
  query.from.reset();
  do {
    const auto answer = store.query(table, query);
    const Page& page = std::get<Page>(answer);
    rows += page.rows.size();
    query.from = page.next;
  } while (query.from.has_value());
  return rows;
}

void scan(benchmark::State& state, std::string_view filter) {
  const Store& store = shared_store(rows_of(state));
  Query query;
  query.filter = parsed(filter);
  std::size_t matched = 0;
  for (auto _ : state) matched = drain(store, query);
  ENTITABLE_CHECK((matched == 0) == (filter == filter_nothing));
  per_operation(state, rows_of(state));
}
void query_scan_one_percent_out(benchmark::State& state) {
  scan(state, filter_one_percent);
}
BENCHMARK(query_scan_one_percent_out)->Apply(at_each_size);

void query_scan_nothing_out(benchmark::State& state) {
  scan(state, filter_nothing);
}
BENCHMARK(query_scan_nothing_out)->Apply(at_each_size);

}  // namespace
}  // namespace entitable::bench
