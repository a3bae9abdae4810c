#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/doors/group.h"
#include "tests/bench/core/sizes.h"
#include "tests/bench/core/workload.h"

namespace entitable::bench {
namespace {

// Many single writes that are waiting, of either door, as one group; without publishing it.
void stage_hundred(benchmark::State& state, const std::vector<std::string>& blocks) {
  Store& store = shared_store(rows_of(state));
  const std::vector<std::string_view> waiting(blocks.begin(), blocks.end());
  const protocol::Account account;
  doors::StagedReplies staged;
  for (auto _ : state) {
    doors::stage(account, store, waiting, noon, staged);
    ENTITABLE_CHECK(staged.changes);
    store.discard();
  }
  per_operation(state, waiting.size());
}

void doors_stage_100_blocks(benchmark::State& state) {
  std::vector<std::string> blocks;
  for (std::size_t i = 0; i < 100; ++i) {
    blocks.push_back(write_block({insert_operation(new_key(i), i)}));
  }
  stage_hundred(state, blocks);
}
BENCHMARK(doors_stage_100_blocks)->Apply(at_each_size);

void doors_stage_100_requests(benchmark::State& state) {
  std::vector<std::string> blocks;
  for (std::size_t i = 0; i < 100; ++i) blocks.push_back(rest_insert(new_key(i), i).block());
  stage_hundred(state, blocks);
}
BENCHMARK(doors_stage_100_requests)->Apply(at_each_size);

}  // namespace
}  // namespace entitable::bench
