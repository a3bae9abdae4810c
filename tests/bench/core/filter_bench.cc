#include "core/filter/parser.h"
#include "tests/bench/core/sizes.h"
#include "tests/bench/core/workload.h"

namespace entitable::bench {
namespace {

void filter_parse(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(parse_filter(filter_one_percent).ok());
  per_operation(state, 1);
}
BENCHMARK(filter_parse);

}  // namespace
}  // namespace entitable::bench
