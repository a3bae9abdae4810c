#include <string>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "core/rest/request_handler.h"
#include "tests/bench/core/sizes.h"
#include "tests/bench/core/workload.h"

namespace entitable::bench {
namespace {

const rest::Account account;
const rest::RequestContext context{noon, "0123456789abcdef"};

void rest_entity_get(benchmark::State& state) {
  const Store& store = shared_store(rows_of(state));
  std::vector<RestRequest> requests;
  for (const EntityKey& key : random_keys(rows_of(state))) requests.push_back(rest_get(key));
  std::size_t at = 0;
  for (auto _ : state) {
    const auto handled =
        rest::handle_request(account, store, next_of(requests, at).request(), context);
    ENTITABLE_CHECK(std::get<rest::Response>(handled).status == 200);
  }
  per_operation(state, 1);
}
BENCHMARK(rest_entity_get)->Apply(at_each_size);

void rest_query_page_of_1000(benchmark::State& state) {
  const Store& store = shared_store(10'000);
  const RestRequest request = rest_query("", 1000);
  for (auto _ : state) {
    const auto handled = rest::handle_request(account, store, request.request(), context);
    ENTITABLE_CHECK(std::get<rest::Response>(handled).status == 200);
  }
  per_operation(state, 1000);
}
BENCHMARK(rest_query_page_of_1000);

// Without what the store does with it.
void rest_parse_insert(benchmark::State& state) {
  const Store& store = shared_store(10'000);
  const RestRequest request = rest_insert(new_key(4711), 4711);
  for (auto _ : state) {
    const auto handled = rest::handle_request(account, store, request.request(), context);
    ENTITABLE_CHECK(std::holds_alternative<rest::UnstagedWrite>(handled));
  }
  per_operation(state, 1);
}
BENCHMARK(rest_parse_insert);

}  // namespace
}  // namespace entitable::bench
