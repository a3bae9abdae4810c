// Checks that a write costs about the same however many changes were collected before it. Counts
// allocations: copying an overlay allocates memory for each of its changes.
#include <algorithm>

#include "tests/support/counted_heap.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;  // request helpers

constexpr int stored_rows = 4000;
constexpr int writes = 3000;
constexpr int counted_together = 300;  // writes

WriteRequest put(int i, OperationKind kind = OperationKind::insert_or_replace) {
  Operation put = operation(kind, "p", std::to_string(10'000 + i), i);
  put.properties.push_back({"text", Value::of_string(std::string(100, 'x'))});
  return write("big", std::move(put));
}

void publish_rows(Store& store, int from, int to) {
  std::vector<WriteRequest> requests;
  for (int i = from; i < to; ++i) requests.push_back(put(i));
  publish(store, requests);
}

// Makes the files of a store of several parts. The log has `appended` rows after those of the
// parts.
TestHost filled(int appended = 0) {
  TestHost host;
  Store store = new_store();
  publish(store, {create("big")});
  publish_rows(store, 0, stored_rows);
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  REQUIRE(host.parts.size() > 2);
  if (appended > 0) publish_rows(store, stored_rows, stored_rows + appended);
  host.store_pending(store);
  return host;
}

void load_all(const TestHost& host, Store& store) {
  for (const auto& [id, bytes] : host.parts) REQUIRE(store.load_part(id, bytes).ok());
}

// Makes `request(0)` to `request(writes - 1)`, one by one. Returns how many allocations each
// `counted_together` of them needed.
template <typename Request>
std::vector<std::size_t> allocations(const TestHost& host, Store& store, bool in_place,
                                     Request request) {
  std::vector<std::size_t> counts;
  for (int i = 0; i < writes; ++i) {
    const std::size_t before = counted_heap.allocations;
    if (in_place) {
      const StageResult written = host.write(store, request(i), noon);
      REQUIRE(succeeded(written.results.front()));
    } else {
      host.stage_and_publish(store, request(i), noon);
    }
    if (i % counted_together == 0) counts.push_back(0);
    counts.back() += counted_heap.allocations - before;
  }
  REQUIRE(store.verify().empty());
  return counts;
}

std::size_t most(const std::vector<std::size_t>& counts) {
  return *std::max_element(counts.begin(), counts.end());
}

}  // namespace

TEST_CASE("while memory is nearly full, appending rows costs no more than with enough memory") {
  const bool in_place = GENERATE(true, false);
  const bool descending = GENERATE(false, true);
  const auto request = [&](int i) { return put(descending ? -1 - i : stored_rows + i); };
  const TestHost host = filled();
  Store enough = std::move(*host.open(TestHost::Load::on_demand));
  load_all(host, enough);
  Store full = std::move(*host.open(TestHost::Load::on_demand));
  load_all(host, full);
  full.set_memory_limit(full.memory_bytes() / 98 * 100);
  const std::size_t usual = most(allocations(host, enough, in_place, request));
  CHECK(most(allocations(host, full, in_place, request)) <= usual / 10 * 11);
  CHECK(full.stats().rows == stored_rows + writes);
}

TEST_CASE("while memory is short, replacing rows costs the same after many changes") {
  const bool in_place = GENERATE(true, false);
  const int stride = GENERATE(1, 7);
  const bool is_loaded = GENERATE(true, false);
  const TestHost host = filled();
  Store store = std::move(*host.open(TestHost::Load::on_demand));
  if (is_loaded) load_all(host, store);
  store.set_memory_limit(store.memory_bytes() / 98 * 100);
  const auto counts =
      allocations(host, store, in_place, [&](int i) { return put(i * stride % stored_rows); });
  CHECK(counts.back() <= counts.front() * 3 / 2);
  CHECK(most(counts) <= counted_together * 1500);
}

TEST_CASE("while memory is short, rows are appended to a part that is not in memory") {
  const bool in_place = GENERATE(true, false);
  const TestHost host = filled();
  Store store = std::move(*host.open(TestHost::Load::on_demand));
  store.set_memory_limit(store.memory_bytes() / 98 * 100);
  const auto counts =
      allocations(host, store, in_place, [](int i) { return put(stored_rows + i); });
  CHECK(counts.back() <= counts.front() * 3 / 2);
  CHECK(most(counts) <= counted_together * 1500);
}

TEST_CASE("a part for which the log has many changes is loaded by the first write to it") {
  const bool in_place = GENERATE(true, false);
  const auto kind = GENERATE(OperationKind::insert_or_replace, OperationKind::merge);
  const TestHost host = filled(writes);
  Store store = std::move(*host.open(TestHost::Load::on_demand));
  store.set_memory_limit(store.memory_bytes() / 98 * 100);
  REQUIRE(store.stage({put(stored_rows + 1, kind)}, noon).parts_needed.size() == 1);
  const auto counts =
      allocations(host, store, in_place, [&](int i) { return put(stored_rows + i, kind); });
  CHECK(counts.back() <= counts.front() * 3 / 2);
  CHECK(counts.back() <= counted_together * 100);
}

}  // namespace entitable
