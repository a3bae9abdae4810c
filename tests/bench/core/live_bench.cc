// What live queries add to a write in place, from the write to the deltas, and the memory that they
// take.
#include <malloc.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/store/live_queries.h"
#include "core/store/versions.h"
#include "tests/bench/core/sizes.h"
#include "tests/bench/core/workload.h"

namespace entitable::bench {
namespace {

// Watches of a store, which are closed at the end.
class Watching {
 public:
  explicit Watching(Store& store) : live_(store) {}
  ~Watching() {
    for (const WatchId id : open_) live_.close_watch(id);
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

  void add(const std::string& filter) {
    WatchQuery query;
    if (!filter.empty()) query.filter = parsed(filter);
    open_.push_back(live_.open_watch(table, std::move(query)));
    while (!std::get<WatchPage>(live_.read_watch(open_.back(), 1000)).complete) {
    }
  }

  // Adds `count` watches: 90 % points, 9 % ranges of 100 rows and 1 % filters over a partition, in
  // the first count * 0.9 rows.
  void add_mixture(std::size_t count) {
    const std::size_t rows = count / 10 * 9;
    for (std::size_t i = 0; i < rows; ++i) {
      const EntityKey at = key(i);
      add("PartitionKey eq '" + at.partition + "' and RowKey eq '" + at.row + "'");
    }
    for (std::size_t i = 0; i < count / 100 * 9; ++i) {
      const std::size_t first = i * 100 % rows;
      add("PartitionKey eq '" + key(first).partition + "' and RowKey ge '" + key(first).row +
          "' and RowKey le '" + key(first + 99).row + "'");
    }
    for (std::size_t i = 0; i < count / 100; ++i) {
      add("PartitionKey eq '" + key(i * partition_rows % rows).partition + "' and count ge " +
          std::to_string(i % 100));
    }
  }

 private:
  LiveQueries live_;
  std::vector<WatchId> open_;
};

// Writes 100 rows one by one, and takes the changes of each. The rows are `first` and those after
// it, a partition's length apart from each other if `spread`.
void update_hundred(benchmark::State& state, Store& store, std::size_t first, bool spread) {
  std::vector<WriteRequest> requests;
  for (std::size_t i = 0; i < group_rows; ++i) {
    const std::size_t row = (first + i * (spread ? partition_rows + 1 : 1)) % rows_of(state);
    Operation operation = insert_operation(key(row), row);
    operation.kind = OperationKind::insert_or_replace;
    requests.push_back(group_request({std::move(operation)}));
  }
  LiveQueries live(store);
  StageResult memory;
  std::size_t deltas = 0;
  for (auto _ : state) {
    for (const WriteRequest& request : requests) {
      memory = store.write(request, noon, std::move(memory));
      deltas += live.take_changes().deltas.size();
    }
    state.PauseTiming();
    store.mark_stored(store.seal()->sequence);
    state.ResumeTiming();
  }
  per_operation(state, group_rows);
  state.counters["deltas"] =
      static_cast<double>(deltas) / (static_cast<double>(state.iterations()) * double{group_rows});
}

void live_update_without_listeners(benchmark::State& state) {
  update_hundred(state, shared_store(rows_of(state)), 0, true);
}
BENCHMARK(live_update_without_listeners)->Apply(at_each_size);

void live_update_in_query_of_all_rows(benchmark::State& state) {
  Watching watching(shared_store(rows_of(state)));
  watching.add("");
  update_hundred(state, shared_store(rows_of(state)), 0, true);
}
BENCHMARK(live_update_in_query_of_all_rows)->Apply(at_each_size);

// The rows of the next two follow each other, so that they are in the processor's cache.
void live_update_nearby_without_listeners(benchmark::State& state) {
  update_hundred(state, shared_store(rows_of(state)), 9 * partition_rows, false);
}
BENCHMARK(live_update_nearby_without_listeners)->Apply(at_each_size);

void live_update_that_10000_miss(benchmark::State& state) {
  Watching watching(shared_store(rows_of(state)));
  watching.add_mixture(10'000);
  update_hundred(state, shared_store(rows_of(state)), 9 * partition_rows, false);
}
BENCHMARK(live_update_that_10000_miss)->Apply(at_each_size);

// Each row is in a point, 10 ranges and up to 12 filters.
void live_update_that_20_of_10000_see(benchmark::State& state) {
  Watching watching(shared_store(rows_of(state)));
  watching.add_mixture(10'000);
  update_hundred(state, shared_store(rows_of(state)), 200, false);
}
BENCHMARK(live_update_that_20_of_10000_see)->Apply(at_each_size);

// Inserts 1,000 rows in groups of 100 into a fork of the store, and takes the changes of each
// group.
void insert_thousand(benchmark::State& state, bool seen) {
  std::vector<WriteRequest> requests;
  for (std::size_t i = 0; i < 10 * group_rows; i += group_rows)
    requests.push_back(group_request(insert_group(rows_of(state) + i)));
  for (auto _ : state) {
    state.PauseTiming();
    Store fork = Versions(shared_store(rows_of(state))).fork_store();
    std::optional<Watching> watching;
    if (seen) watching.emplace(fork).add("PartitionKey ge '" + key(rows_of(state)).partition + "'");
    state.ResumeTiming();
    for (const WriteRequest& request : requests) {
      benchmark::DoNotOptimize(fork.write(request, noon));
      benchmark::DoNotOptimize(LiveQueries(fork).take_changes());
    }
    state.PauseTiming();
    watching.reset();
    fork = Store();
    state.ResumeTiming();
  }
  per_operation(state, requests.size() * group_rows);
}

void live_insert_in_groups_without_listeners(benchmark::State& state) {
  insert_thousand(state, false);
}
BENCHMARK(live_insert_in_groups_without_listeners)->Apply(at_each_size);

void live_insert_in_groups_that_a_query_sees(benchmark::State& state) {
  insert_thousand(state, true);
}
BENCHMARK(live_insert_in_groups_that_a_query_sees)->Apply(at_each_size);

void live_open_100000(benchmark::State& state) {
  constexpr std::size_t watches = 100'000;
  Store& store = shared_store(100'000);
  for (auto _ : state) {
    const std::size_t before = mallinfo2().uordblks;
    Watching watching(store);
    watching.add_mixture(watches);
    state.counters["bytes"] = static_cast<double>(mallinfo2().uordblks - before);
  }
  per_operation(state, watches);
}
BENCHMARK(live_open_100000)->Iterations(1);

}  // namespace
}  // namespace entitable::bench
