#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/log/commit_codec.h"
#include "core/log/part_codec.h"
#include "core/log/segment.h"
#include "tests/bench/core/sizes.h"
#include "tests/bench/core/workload.h"
#include "tests/support/put_row.h"

namespace entitable::bench {
namespace {

Commit group_commit() {
  Commit commit;
  commit.number = 1;
  commit.last_timestamp = noon + static_cast<Ticks>(group_rows);
  for (std::size_t i = 0; i < group_rows; ++i)
    commit.mutations.push_back(test::put_row(1, entity(i)));
  return commit;
}

std::string segment_of(const std::string& commit) {
  SegmentWriter writer(1, 1);
  writer.add(commit);
  return std::move(writer).finish();
}

void log_encode_commit_of_100(benchmark::State& state) {
  const Commit commit = group_commit();
  for (auto _ : state) benchmark::DoNotOptimize(encode_commit(commit).data());
  per_operation(state, group_rows);
}
BENCHMARK(log_encode_commit_of_100);

void log_encode_segment_of_100(benchmark::State& state) {
  const std::string commit = encode_commit(group_commit());
  for (auto _ : state) benchmark::DoNotOptimize(segment_of(commit).data());
  per_operation(state, group_rows);
}
BENCHMARK(log_encode_segment_of_100);

void log_decode_segment_of_100(benchmark::State& state) {
  const std::string segment = segment_of(encode_commit(group_commit()));
  for (auto _ : state) ENTITABLE_CHECK(decode_segment(segment, 1).ok());
  per_operation(state, group_rows);
}
BENCHMARK(log_decode_segment_of_100);

constexpr std::size_t part_rows = 5000;  // about a megabyte

std::string part_of(const std::vector<Entity>& entities) {
  PartWriter writer(1, 1);
  for (const Entity& entity : entities) {
    writer.begin_row(entity.key.partition, entity.key.row, entity.timestamp);
    for (const Property& property : entity.properties) {
      writer.add_property(property.name, property.value.view());
    }
    writer.end_row();
  }
  return std::move(writer).finish();
}

std::vector<Entity> part_entities() {
  std::vector<Entity> entities;
  for (std::size_t i = 0; i < part_rows; ++i) entities.push_back(entity(i));
  return entities;
}

void log_write_part(benchmark::State& state) {
  const std::vector<Entity> entities = part_entities();
  for (auto _ : state) benchmark::DoNotOptimize(part_of(entities).data());
  per_operation(state, part_rows);
}
BENCHMARK(log_write_part);

void log_read_part(benchmark::State& state) {
  const std::string part = part_of(part_entities());
  for (auto _ : state) {
    Result<PartReader> reader = PartReader::open(part);
    std::size_t rows = 0;
    for (Result<bool> more = reader->next(); more.ok() && *more; more = reader->next()) ++rows;
    ENTITABLE_CHECK(rows == part_rows);
  }
  per_operation(state, part_rows);
}
BENCHMARK(log_read_part);

}  // namespace
}  // namespace entitable::bench
