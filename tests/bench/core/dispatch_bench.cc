#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/dispatch/dispatcher.h"
#include "tests/bench/core/sizes.h"
#include "tests/bench/core/workload.h"

namespace entitable::bench {
namespace {

// Stages many single writes, through REST or RPC, as one group, without publishing it.
void stage_hundred(benchmark::State& state, const std::vector<std::string>& messages) {
  Store& store = shared_store(rows_of(state));
  const std::vector<std::string_view> waiting(messages.begin(), messages.end());
  const rest::Account account;
  dispatch::StagedResponses staged;
  for (auto _ : state) {
    dispatch::stage(account, store, waiting, noon, staged);
    ENTITABLE_CHECK(staged.changes);
    store.discard();
  }
  per_operation(state, waiting.size());
}

void dispatch_stage_100_rpc_messages(benchmark::State& state) {
  std::vector<std::string> messages;
  for (std::size_t i = 0; i < 100; ++i) {
    messages.push_back(write_message({insert_operation(new_key(i), i)}));
  }
  stage_hundred(state, messages);
}
BENCHMARK(dispatch_stage_100_rpc_messages)->Apply(at_each_size);

void dispatch_stage_100_rest_messages(benchmark::State& state) {
  std::vector<std::string> messages;
  for (std::size_t i = 0; i < 100; ++i) messages.push_back(rest_insert(new_key(i), i).message());
  stage_hundred(state, messages);
}
BENCHMARK(dispatch_stage_100_rest_messages)->Apply(at_each_size);

}  // namespace
}  // namespace entitable::bench
