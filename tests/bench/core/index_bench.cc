#include <map>
#include <string>
#include <vector>

#include "core/index/cursor.h"
#include "core/index/row.h"
#include "core/index/table_index.h"
#include "tests/bench/core/sizes.h"
#include "tests/bench/core/workload.h"

namespace entitable::bench {
namespace {

// Returns the shared index of that size, created on first use. Callers undo their writes.
TableIndex& shared_index(std::size_t rows) {
  static std::map<std::size_t, TableIndex> indexes;
  auto found = indexes.find(rows);
  if (found == indexes.end()) {
    found = indexes.emplace(rows, TableIndex()).first;
    for (std::size_t i = 0; i < rows; ++i) found->second.put(entity(i));
  }
  return found->second;
}

void index_intern_shape(benchmark::State& state) {
  Schema schema;
  const Entity sample = entity(4711);
  const std::vector<PropertyView> properties = views(sample.properties);
  for (auto _ : state) benchmark::DoNotOptimize(schema.intern(properties).shape);
  per_operation(state, 1);
}
BENCHMARK(index_intern_shape);

void index_pack_row(benchmark::State& state) {
  Schema schema;
  const Entity sample = entity(4711);
  const std::vector<PropertyView> properties = views(sample.properties);
  std::string row;
  for (auto _ : state) {
    pack_row(schema.intern(properties), sample.key.row, sample.timestamp, properties, row);
    benchmark::DoNotOptimize(row.data());
  }
  per_operation(state, 1);
}
BENCHMARK(index_pack_row);

void index_find(benchmark::State& state) {
  const TableIndex& index = shared_index(rows_of(state));
  const std::vector<EntityKey> keys = random_keys(rows_of(state));
  std::size_t at = 0;
  for (auto _ : state) {
    const TableIndex::Found found = index.find(next_of(keys, at).view());
    benchmark::DoNotOptimize(found.row->timestamp());
  }
  per_operation(state, 1);
}
BENCHMARK(index_find)->Apply(at_each_size);

void index_append(benchmark::State& state) {
  constexpr std::size_t batch = 1000;
  TableIndex& index = shared_index(rows_of(state));
  std::vector<Entity> added;
  for (std::size_t i = 0; i < batch; ++i) added.push_back(entity(rows_of(state) + i));
  for (auto _ : state) {
    for (const Entity& each : added) index.put(each);
    state.PauseTiming();
    for (const Entity& each : added) index.erase(each.key.view());
    state.ResumeTiming();
  }
  per_operation(state, batch);
}
BENCHMARK(index_append)->Apply(at_each_size);

void index_insert_between(benchmark::State& state) {
  constexpr std::size_t batch = 1000;
  TableIndex& index = shared_index(rows_of(state));
  const std::vector<std::size_t> order = shuffled(rows_of(state));
  std::size_t at = 0;
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<Entity> added;
    for (std::size_t i = 0; i < batch; ++i) {
      const std::size_t near = next_of(order, at);
      added.push_back(entity(near));
      added.back().key = new_key(near);
    }
    state.ResumeTiming();
    for (const Entity& each : added) index.put(each);
    state.PauseTiming();
    for (const Entity& each : added) index.erase(each.key.view());
    state.ResumeTiming();
  }
  per_operation(state, batch);
}
BENCHMARK(index_insert_between)->Apply(at_each_size);

void index_scan(benchmark::State& state) {
  const TableIndex& index = shared_index(rows_of(state));
  for (auto _ : state) {
    Ticks sum = 0;
    for (Cursor cursor(index, KeyRange{}); cursor.valid();) {
      const RowBatch run = cursor.batch();
      for (std::size_t i = 0; i < run.size(); ++i) sum += run[i].timestamp();
      cursor.skip(run.size());
    }
    benchmark::DoNotOptimize(sum);
  }
  per_operation(state, rows_of(state));
}
BENCHMARK(index_scan)->Apply(at_each_size);

}  // namespace
}  // namespace entitable::bench
