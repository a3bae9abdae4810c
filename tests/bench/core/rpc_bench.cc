#include <string>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "core/rpc/operations.h"
#include "core/rpc/write_parser.h"
#include "tests/bench/core/sizes.h"
#include "tests/bench/core/workload.h"

namespace entitable::bench {
namespace {

void rpc_point_read(benchmark::State& state) {
  const Store& store = shared_store(rows_of(state));
  std::vector<std::string> messages;
  for (const EntityKey& key : random_keys(rows_of(state))) messages.push_back(get_message(key));
  rpc::PageWriter pages;
  rpc::ResponseBuffer response;
  std::size_t at = 0;
  for (auto _ : state) {
    rpc::handle_read(store, next_of(messages, at), pages, response);
    benchmark::DoNotOptimize(response.data());
  }
  per_operation(state, 1);
}
BENCHMARK(rpc_point_read)->Apply(at_each_size);

void rpc_query_page_of_1000(benchmark::State& state) {
  const Store& store = shared_store(rows_of(state));
  const std::string message = query_message("", 1000);
  rpc::PageWriter pages;
  rpc::ResponseBuffer response;
  for (auto _ : state) {
    rpc::handle_read(store, message, pages, response);
    benchmark::DoNotOptimize(response.data());
  }
  per_operation(state, 1000);
}
BENCHMARK(rpc_query_page_of_1000)->Apply(at_each_size);

void rpc_write_page_of_1000(benchmark::State& state) {
  const Store& store = shared_store(10'000);
  const auto answer = store.query(table, Query{});
  const Page& page = std::get<Page>(answer);
  rpc::PageWriter pages;
  rpc::ResponseBuffer response;
  for (auto _ : state) {
    pages.write(response, table, page.rows, {}, page.next);
    benchmark::DoNotOptimize(response.data());
  }
  per_operation(state, page.rows.size());
}
BENCHMARK(rpc_write_page_of_1000);

void rpc_decode_writes(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  std::vector<Operation> operations;
  for (std::size_t i = 0; i < count; ++i) operations.push_back(insert_operation(key(i), i));
  const std::string message = write_message(operations);
  WriteRequest request;
  for (auto _ : state) ENTITABLE_CHECK(!rpc::parse_write(message, request).has_value());
  per_operation(state, count);
}
void rpc_decode_a_group_of_100(benchmark::State& state) {
  rpc_decode_writes(state);
}
BENCHMARK(rpc_decode_a_group_of_100)->Arg(100);
void rpc_decode_an_insert(benchmark::State& state) {
  rpc_decode_writes(state);
}
BENCHMARK(rpc_decode_an_insert)->Arg(1);

}  // namespace
}  // namespace entitable::bench
