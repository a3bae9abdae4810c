// Checks that forks and kept versions take memory in proportion to their changes, and free all of
// it. The allocator of this test program counts bytes.
#include <algorithm>
#include <cstdlib>
#include <new>

#include "core/store/versions.h"
#include "tests/support/counted_heap.h"
#include "tests/support/store_helpers.h"

namespace {

using entitable::test::counted_heap;

constexpr std::size_t header = 16;  // the size, and alignment

void* allocate(std::size_t size) noexcept {
  char* const memory = static_cast<char*>(std::malloc(header + size));
  if (memory == nullptr) return nullptr;
  *reinterpret_cast<std::size_t*>(memory) = size;
  counted_heap.live_bytes += size;
  counted_heap.peak_bytes = std::max(counted_heap.peak_bytes, counted_heap.live_bytes);
  ++counted_heap.allocations;
  return memory + header;
}

void* allocate_or_throw(std::size_t size) {
  if (void* const memory = allocate(size)) return memory;
  throw std::bad_alloc();
}

void release(void* memory) noexcept {
  if (memory == nullptr) return;
  char* const start = static_cast<char*>(memory) - header;
  counted_heap.live_bytes -= *reinterpret_cast<std::size_t*>(start);
  std::free(start);
}

}  // namespace

void* operator new(std::size_t size) {
  return allocate_or_throw(size);
}
void* operator new[](std::size_t size) {
  return allocate_or_throw(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size);
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete[](void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  release(memory);
}

namespace entitable {
namespace {

using namespace test;  // request helpers

constexpr std::size_t forks = 1'000;

WriteRequest put(int row, const std::string& name) {
  Operation put = operation(OperationKind::insert_or_replace, "p", std::to_string(100'000 + row));
  put.properties.push_back({name, Value::of_string(std::string(100, 'x'))});
  return write("people", std::move(put));
}

// Publishes and marks as stored, as a host without a log does.
void publish_nowhere(Store& store, const std::vector<WriteRequest>& requests) {
  publish(store, requests);
  store.mark_stored(store.seal()->sequence);
}

// Makes a store with rows of `shapes` different shapes.
Store filled(int rows, int shapes = 1) {
  Store store = new_store();
  publish_nowhere(store, {create("people")});
  for (int i = 0; i < rows;) {
    std::vector<WriteRequest> requests;
    for (const int end = std::min(i + 500, rows); i < end; ++i) {
      requests.push_back(put(i, "text" + std::to_string(i % shapes)));
    }
    publish_nowhere(store, requests);
  }
  return store;
}

// Returns the average number of bytes that a fork takes after `change`.
template <typename Change>
std::size_t bytes_each(Store& store, Change change) {
  const std::size_t before = counted_heap.live_bytes;
  std::size_t each = 0;
  {
    std::vector<Store> alive;
    alive.reserve(forks);
    for (std::size_t i = 0; i < forks; ++i) {
      alive.push_back(Versions(store).fork_store());
      change(alive.back(), static_cast<int>(i));
    }
    each = (counted_heap.live_bytes - before) / forks;
  }
  CHECK(counted_heap.live_bytes <=
        before + 64);  // the store remembers its branch once it was forked
  return each;
}

}  // namespace

TEST_CASE("a thousand forks take memory only for their changes") {
  Store store = filled(20'000);
  REQUIRE(store.stats().memory_bytes > 2'000'000);
  const std::size_t unchanged = bytes_each(store, [](Store&, int) {});
  CHECK(unchanged < 4'000);
  const std::size_t one_row =
      bytes_each(store, [](Store& fork, int i) { publish_nowhere(fork, {put(i * 20, "text0")}); });
  CHECK(one_row < unchanged + 16'000);  // a leaf of 8 KB, the nodes above it, a list of tables
  const std::size_t new_shape =
      bytes_each(store, [](Store& fork, int i) { publish_nowhere(fork, {put(i * 20, "new")}); });
  CHECK(new_shape < one_row + 3'000);
}

TEST_CASE("the memory of forks does not grow with the store or its shapes") {
  const auto change = [](Store& fork, int i) { publish_nowhere(fork, {put(i, "new")}); };
  Store small = filled(1'000, 2);
  Store large = filled(20'000, 1'000);
  const std::size_t shapes_known = 1'000 * sizeof(void*);
  const std::size_t more_levels = 8'000;
  const std::size_t in_small = bytes_each(small, change);
  const std::size_t in_large = bytes_each(large, change);
  CHECK(in_large < in_small + shapes_known + more_levels);
}

TEST_CASE("forks and rollbacks allocate the same whatever the store's size") {
  Store small = filled(10);
  Store large = filled(20'000, 100);
  const auto count = [](Store& store) {
    const std::uint64_t kept = Versions(store).keep();
    Versions(store).rollback(kept);
    Versions(store).release(kept);
    const std::size_t before = counted_heap.allocations;
    const Store fork = Versions(store).fork_store();
    const std::uint64_t version = Versions(store).keep();
    Versions(store).rollback(version);
    Versions(store).release(version);
    return counted_heap.allocations - before;
  };
  const std::size_t expected = count(small);
  CHECK(count(large) == expected);
  CHECK(expected < 20);
}

TEST_CASE("releasing a kept version frees its memory") {
  Store store = filled(5'000);
  const std::size_t before = counted_heap.live_bytes;
  const std::uint64_t version = Versions(store).keep();
  publish_nowhere(store, {drop("people"), create("people")});
  CHECK(counted_heap.live_bytes > before - 10'000);
  Versions(store).rollback(version);
  Versions(store).release(version);
  CHECK(counted_heap.live_bytes < before + 2'000);
  CHECK(store.stats().rows == 5'000);
}

}  // namespace entitable
