// Benchmarks at the three sizes of a store.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>

namespace entitable::bench {

// for a benchmark's Apply()
inline void at_each_size(benchmark::internal::Benchmark* benchmark) {
  for (const int rows : {10'000, 100'000, 1'000'000}) benchmark->Arg(rows);
}

inline std::size_t rows_of(const benchmark::State& state) {
  return static_cast<std::size_t>(state.range(0));
}

// An iteration was this many operations (rows, entities, keys): what is printed is the time of one.
inline void per_operation(benchmark::State& state, std::size_t operations) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(operations));
}

// Goes round in a list, from iteration to iteration.
template <typename List>
const auto& next_of(const List& list, std::size_t& at) {
  if (at == list.size()) at = 0;
  return list[at++];
}

}  // namespace entitable::bench
