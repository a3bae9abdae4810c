#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/store/store.h"
#include "core/store/versions.h"
#include "tests/bench/core/sizes.h"
#include "tests/bench/core/workload.h"

namespace entitable::bench {
namespace {

std::vector<Operation> removal_of(std::vector<Operation> operations) {
  for (Operation& operation : operations) {
    operation = {OperationKind::remove, operation.key, {}, IfMatch::any()};
  }
  return operations;
}

// Stage, publish, seal, stored: 100 rows, in a group or one by one.
void write_hundred(benchmark::State& state, bool in_group) {
  Store& store = shared_store(rows_of(state));
  const std::vector<Operation> operations = insert_group(rows_of(state));
  const WriteRequest group = group_request(operations);
  const WriteRequest removal = group_request(removal_of(operations));
  std::vector<WriteRequest> singles;
  for (const Operation& operation : operations) singles.push_back(group_request({operation}));
  for (auto _ : state) {
    if (in_group) {
      commit(store, {group});
    } else {
      for (const WriteRequest& request : singles) commit(store, {request});
    }
    state.PauseTiming();
    commit(store, {removal});
    state.ResumeTiming();
  }
  per_operation(state, group_rows);
}
void store_write_in_groups_of_100(benchmark::State& state) {
  write_hundred(state, true);
}
BENCHMARK(store_write_in_groups_of_100)->Apply(at_each_size);

void store_write_one_by_one(benchmark::State& state) {
  write_hundred(state, false);
}
BENCHMARK(store_write_one_by_one)->Apply(at_each_size);

void store_get(benchmark::State& state) {
  const Store& store = shared_store(rows_of(state));
  const std::vector<EntityKey> keys = random_keys(rows_of(state));
  std::size_t at = 0;
  for (auto _ : state) {
    const auto answer = store.get(table, next_of(keys, at).view());
    benchmark::DoNotOptimize(std::get<PinnedRow>(answer).row.timestamp());
  }
  per_operation(state, 1);
}
BENCHMARK(store_get)->Apply(at_each_size);

// With its end.
void store_fork(benchmark::State& state) {
  Store& store = shared_store(rows_of(state));
  for (auto _ : state) benchmark::DoNotOptimize(Versions(store).fork_store());
  per_operation(state, 1);
}
BENCHMARK(store_fork)->Apply(at_each_size);

void store_checkpoint_and_roll_back(benchmark::State& state) {
  Store store = Versions(shared_store(rows_of(state))).fork_store();
  for (auto _ : state) {
    const std::uint64_t version = Versions(store).keep();
    Versions(store).rollback(version);
    Versions(store).release(version);
  }
  per_operation(state, 1);
}
BENCHMARK(store_checkpoint_and_roll_back)->Apply(at_each_size);

// Only the first checkpoint of a store writes everything.
void store_checkpoint(benchmark::State& state) {
  Store store = filled_store(rows_of(state));
  for (auto _ : state) benchmark::DoNotOptimize(checkpoint(store).parts.data());
  per_operation(state, rows_of(state));
}
BENCHMARK(store_checkpoint)->Apply(at_each_size)->Iterations(1);

void store_open_from_checkpoint(benchmark::State& state) {
  Store source = filled_store(rows_of(state));
  const Files files = checkpoint(source);
  for (auto _ : state) {
    Store store;
    ENTITABLE_CHECK(store.begin_recovery(files.manifest).ok());
    for (const CheckpointPart& part : files.parts) {
      ENTITABLE_CHECK(store.load_part(part.id, part.bytes).ok());
    }
    store.finish_recovery();
    ENTITABLE_CHECK(store.stats().rows == rows_of(state));
    state.PauseTiming();  // what closing it takes is not asked
    store = Store();
    state.ResumeTiming();
  }
  per_operation(state, rows_of(state));
}
BENCHMARK(store_open_from_checkpoint)->Apply(at_each_size)->Iterations(3);

void store_open_from_segments(benchmark::State& state) {
  constexpr std::size_t rows = 10'000;
  Store source;
  ENTITABLE_CHECK(source.begin_recovery(std::nullopt).ok());
  source.finish_recovery();
  std::vector<std::string> segments;
  segments.push_back(commit(source, {{std::nullopt, WriteCreateTable{std::string(table)}}}));
  for (std::size_t i = 0; i < rows; i += group_rows) {
    segments.push_back(commit(source, {group_request(insert_group(i))}));
  }
  for (auto _ : state) {
    Store store;
    ENTITABLE_CHECK(store.begin_recovery(std::nullopt).ok());
    for (std::size_t i = 0; i < segments.size(); ++i) {
      ENTITABLE_CHECK(store.replay(i + 1, segments[i]).ok());
    }
    store.finish_recovery();
    ENTITABLE_CHECK(store.stats().rows == rows);
  }
  per_operation(state, rows);
}
BENCHMARK(store_open_from_segments);

}  // namespace
}  // namespace entitable::bench
