#include <variant>
#include <vector>

#include "core/base/check.h"
#include "core/txn/entity_group.h"
#include "core/txn/stage.h"
#include "tests/bench/core/sizes.h"
#include "tests/bench/core/workload.h"

namespace entitable::bench {
namespace {

void txn_check_and_stage_a_group(benchmark::State& state) {
  const TableIndex index;
  const std::vector<Operation> operations = insert_group(0);
  Ticks clock = noon;
  StagedMutations staged;
  for (auto _ : state) {
    ENTITABLE_CHECK(!check_group(operations, true).has_value());
    const auto reason = stage_group(
        1, index, operations, true, [&clock] { return ++clock; }, 0, staged);
    ENTITABLE_CHECK(!reason.has_value());
    benchmark::DoNotOptimize(staged.mutations.data());
  }
  per_operation(state, group_rows);
}
BENCHMARK(txn_check_and_stage_a_group);

}  // namespace
}  // namespace entitable::bench
