#include <string>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "core/direct/calls.h"
#include "core/direct/record.h"
#include "tests/bench/core/sizes.h"
#include "tests/bench/core/workload.h"

namespace entitable::bench {
namespace {

void direct_point_read(benchmark::State& state) {
  const Store& store = shared_store(rows_of(state));
  std::vector<std::string> blocks;
  for (const EntityKey& key : random_keys(rows_of(state))) blocks.push_back(get_block(key));
  direct::PageWriter pages;
  direct::ReplyBuffer reply;
  std::size_t at = 0;
  for (auto _ : state) {
    direct::read(store, next_of(blocks, at), pages, reply);
    benchmark::DoNotOptimize(reply.data());
  }
  per_operation(state, 1);
}
BENCHMARK(direct_point_read)->Apply(at_each_size);

void direct_query_page_of_1000(benchmark::State& state) {
  const Store& store = shared_store(rows_of(state));
  const std::string block = query_block("", 1000);
  direct::PageWriter pages;
  direct::ReplyBuffer reply;
  for (auto _ : state) {
    direct::read(store, block, pages, reply);
    benchmark::DoNotOptimize(reply.data());
  }
  per_operation(state, 1000);
}
BENCHMARK(direct_query_page_of_1000)->Apply(at_each_size);

void direct_write_page_of_1000(benchmark::State& state) {
  const Store& store = shared_store(10'000);
  const auto answer = store.query(table, Query{});
  const Page& page = std::get<Page>(answer);
  direct::PageWriter pages;
  direct::ReplyBuffer reply;
  for (auto _ : state) {
    pages.write(reply, table, page.rows, {}, page.next);
    benchmark::DoNotOptimize(reply.data());
  }
  per_operation(state, page.rows.size());
}
BENCHMARK(direct_write_page_of_1000);

void direct_decode_writes(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  std::vector<Operation> operations;
  for (std::size_t i = 0; i < count; ++i) operations.push_back(insert_operation(key(i), i));
  const std::string block = write_block(operations);
  WriteRequest request;
  for (auto _ : state) ENTITABLE_CHECK(!direct::parse_write(block, request).has_value());
  per_operation(state, count);
}
void direct_decode_a_group_of_100(benchmark::State& state) {
  direct_decode_writes(state);
}
BENCHMARK(direct_decode_a_group_of_100)->Arg(100);
void direct_decode_an_insert(benchmark::State& state) {
  direct_decode_writes(state);
}
BENCHMARK(direct_decode_an_insert)->Arg(1);

}  // namespace
}  // namespace entitable::bench
