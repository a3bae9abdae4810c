#include <vector>

#include "core/model/entity.h"
#include "core/model/key.h"
#include "tests/bench/core/sizes.h"
#include "tests/bench/core/workload.h"

namespace entitable::bench {
namespace {

void model_compare_keys(benchmark::State& state) {
  std::vector<EntityKey> keys;
  for (const std::size_t i : shuffled(4096)) keys.push_back(key(i));
  for (auto _ : state) {
    for (std::size_t i = 1; i < keys.size(); ++i) {
      benchmark::DoNotOptimize(compare(keys[i - 1].view(), keys[i].view()));
    }
  }
  per_operation(state, keys.size() - 1);
}
BENCHMARK(model_compare_keys);

void model_check_entity(benchmark::State& state) {
  const Entity checked = entity(4711);
  for (auto _ : state) benchmark::DoNotOptimize(check_entity(checked).ok());
  per_operation(state, 1);
}
BENCHMARK(model_check_entity);

}  // namespace
}  // namespace entitable::bench
