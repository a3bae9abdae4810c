// Tests opening a store whose log is larger than the memory limit: checkpoints are written while
// the log is read.
#include "core/log/file_names.h"
#include "core/store/recovery.h"
#include "tests/support/counted_heap.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;  // request helpers

constexpr int few_rows = 120;
constexpr std::uint64_t limit = 150'000;
constexpr std::uint64_t part_bytes = 20'000;
const ClientId client{{7}};

WriteRequest put(int row, int value, std::string table = "big") {
  Operation put = operation(OperationKind::insert_or_replace, "p", std::to_string(10'000 + row),
                            static_cast<std::int32_t>(value));
  put.properties.push_back({"text", Value::of_string(std::string(2'000, 'x'))});
  return write(std::move(table), std::move(put));
}

// Makes a log of about 700 kB: rows in order, scattered changes, deletions, tables that are created
// and dropped, two owners, and calls with numbers. `with_parts`: a checkpoint covers its start.
// `rows`: of each kind.
TestHost large_log(bool with_parts, int rows = few_rows) {
  TestHost host;
  host.part_bytes = part_bytes;
  Store store = new_store();
  store.set_part_bytes(part_bytes);
  const auto store_all = [&](const std::vector<WriteRequest>& requests) {
    publish(store, requests);
    host.store_pending(store);
  };
  store_all({create("big"), create("small")});
  for (int i = 0; i < rows; ++i) store_all({put(i, i)});
  if (with_parts) REQUIRE(host.checkpoint(store));
  for (int i = 0; i < rows; ++i) store_all({put(i * 37 % rows, -i)});
  host.claim(store);
  store_all({drop("small"), create("Small"), put(1, 1, "small")});
  for (int i = 0; i < rows; ++i) {
    WriteRequest request = put(rows + i, i);
    request.call = ClientCall{client, static_cast<std::uint64_t>(i + 1), {}};
    store_all({request});
    if (i % 4 == 0) store_all({test::remove("big", "p", std::to_string(10'000 + i))});
  }
  return host;
}

std::uint64_t bytes_of(const TestHost& host) {
  std::uint64_t bytes = 0;
  for (const auto& [id, part] : host.parts) bytes += part.size();
  for (const auto& [sequence, segment] : host.segments) bytes += segment.size();
  return bytes;
}

// Checks that the store has the content of the whole log, and continues it.
void check_equal(TestHost& host, Store& store, const TestHost& original) {
  Store expected = std::move(*original.open());
  REQUIRE_FALSE(store.first_unapplied_segment().has_value());
  REQUIRE_FALSE(store.is_damaged());
  REQUIRE(store.verify().empty());
  REQUIRE(host.snapshot(store) == original.snapshot(expected));
  REQUIRE(store.known_calls(client) == expected.known_calls(client));
  REQUIRE(store.stats().last_commit == expected.stats().last_commit);
  REQUIRE(store.stats().epoch > expected.stats().epoch);
  REQUIRE(store.stats().next_sequence > expected.stats().next_sequence);
  WriteRequest again = put(2 * few_rows - 1, 5);
  again.call = ClientCall{client, expected.known_calls(client).back(), {}};
  CHECK_FALSE(host.stage(store, {again}, noon).changes);
  ++again.call->number;
  CHECK(host.stage(store, {again}, noon).changes);
  host.store_pending(store);
  store.publish();
}

}  // namespace

TEST_CASE("a log larger than the memory limit is read with checkpoints in between") {
  const bool with_parts = GENERATE(false, true);
  const TestHost original = large_log(with_parts);
  TestHost host = original;
  auto store = host.open_within(limit);
  REQUIRE(store.has_value());
  CHECK(host.manifest != original.manifest);
  CHECK(host.segments.size() < original.segments.size() / 2);
  CHECK(store->memory_bytes() < limit);
  check_equal(host, *store, original);
  Store reopened = std::move(*host.open(TestHost::Load::on_demand));
  CHECK(host.snapshot(reopened) == host.snapshot(*store));
  CHECK(reopened.stats().epoch == store->stats().epoch);
}

// Returns the most memory that the store takes while it is opened, without its files.
std::size_t peak_of_opening(TestHost host) {
  std::size_t files = bytes_of(host);
  const std::size_t before = counted_heap.live_bytes - files;
  std::size_t most = 0;
  host.on_step = [&] {
    most = std::max(most, counted_heap.peak_bytes - files - before);
    counted_heap.peak_bytes = counted_heap.live_bytes;
    files = bytes_of(host);
  };
  counted_heap.peak_bytes = counted_heap.live_bytes;
  REQUIRE(host.open_within(limit).has_value());
  return most;
}

TEST_CASE("reading a large log takes little more memory than the limit") {
  const bool with_parts = GENERATE(false, true);
  const std::size_t most = limit + 10 * part_bytes;
  CHECK(peak_of_opening(large_log(with_parts)) < most);
  // The list of the parts grows with the store.
  const std::size_t more_parts = 2 * few_rows * 2 * 2'000 / part_bytes;
  CHECK(peak_of_opening(large_log(with_parts, 3 * few_rows)) < most + more_parts * 2'500);
}

TEST_CASE("a crash at any file while a large log is read loses nothing") {
  const bool with_parts = GENERATE(false, true);
  const TestHost original = large_log(with_parts, few_rows / 3);
  Store expected = std::move(*original.open());
  for (std::size_t files = 0;; files = files * 3 / 2 + 1) {
    INFO("crash after " << files << " files");
    TestHost host = original;
    const bool opened = host.open_within(limit, files).has_value();
    if (opened) break;
    Store unlimited = std::move(*host.open(TestHost::Load::on_demand));
    REQUIRE_FALSE(unlimited.is_damaged());
    REQUIRE(host.snapshot(unlimited) == original.snapshot(expected));
    REQUIRE(unlimited.known_calls(client) == expected.known_calls(client));
    auto store = host.open_within(limit);
    REQUIRE(store.has_value());
    if (files % 3 == 0) check_equal(host, *store, original);
  }
}

TEST_CASE("damage behind the segments that fill memory is found before a checkpoint") {
  TestHost host = large_log(true);
  auto damaged = std::prev(host.segments.end(), 3);
  damaged->second[20] ^= 1;
  Store store;
  store.set_memory_limit(limit);
  store.set_part_bytes(part_bytes);
  REQUIRE(store.begin_recovery(*host.manifest, limit / 2).ok());
  host.replay_from(store, store.first_live_sequence());
  store.finish_recovery();
  CHECK(store.first_unapplied_segment().has_value());
  REQUIRE(store.is_damaged());
  CHECK(store.damage()[0].file == segment_name(damaged->first));
  CHECK_FALSE(store.begin_checkpoint());
}

TEST_CASE("a damaged segment that is reached after a checkpoint ends the opening") {
  TestHost host = large_log(false);
  Store store;
  store.set_memory_limit(limit);
  store.set_part_bytes(part_bytes);
  REQUIRE(store.begin_recovery(std::nullopt, limit / 2).ok());
  host.replay_from(store, 1);
  store.finish_recovery();
  host.claim(store);
  REQUIRE(host.checkpoint(store));
  const std::uint64_t first = *store.first_unapplied_segment();
  host.segments.at(first + 1)[20] ^= 1;
  store.resume_recovery(limit / 2);
  host.replay_from(store, first);
  store.finish_recovery();
  CHECK(store.is_damaged());
  CHECK_FALSE(store.first_unapplied_segment().has_value());
  CHECK(store.stats().next_sequence == first + 1);
}

}  // namespace entitable
