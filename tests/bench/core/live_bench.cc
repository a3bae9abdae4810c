// What live queries add to a write in place, from the write to the deltas.
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/store/live_queries.h"
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

  // 9,000 points, 900 ranges of 100 rows and 100 filters over a partition, in the first partitions.
  void add_ten_thousand() {
    for (std::size_t i = 0; i < 9000; ++i) {
      const EntityKey at = key(i);
      add("PartitionKey eq '" + at.partition + "' and RowKey eq '" + at.row + "'");
    }
    for (std::size_t i = 0; i < 900; ++i) {
      const std::size_t first = i % 90 * 100;
      add("PartitionKey eq '" + key(first).partition + "' and RowKey ge '" + key(first).row +
          "' and RowKey le '" + key(first + 99).row + "'");
    }
    for (std::size_t i = 0; i < 100; ++i) {
      add("PartitionKey eq '" + key(i % 9 * partition_rows).partition + "' and count ge " +
          std::to_string(i));
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
  for (auto _ : state) {
    for (const WriteRequest& request : requests) {
      memory = store.write(request, noon, std::move(memory));
      benchmark::DoNotOptimize(live.take_changes());
    }
    state.PauseTiming();
    store.mark_stored(store.seal()->sequence);
    state.ResumeTiming();
  }
  per_operation(state, group_rows);
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

void live_update_that_10000_miss(benchmark::State& state) {
  Watching watching(shared_store(rows_of(state)));
  watching.add_ten_thousand();
  update_hundred(state, shared_store(rows_of(state)), 9 * partition_rows, false);
}
BENCHMARK(live_update_that_10000_miss)->Apply(at_each_size);

// Each row is in a point, 10 ranges and up to 11 filters.
void live_update_that_20_of_10000_see(benchmark::State& state) {
  Watching watching(shared_store(rows_of(state)));
  watching.add_ten_thousand();
  update_hundred(state, shared_store(rows_of(state)), 200, false);
}
BENCHMARK(live_update_that_20_of_10000_see)->Apply(at_each_size);

}  // namespace
}  // namespace entitable::bench
