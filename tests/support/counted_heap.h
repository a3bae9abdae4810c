// The allocator of store_tests counts the bytes and the blocks that are allocated
// (tests/core/store/fork_memory_test.cc).
#pragma once

#include <cstddef>

namespace entitable::test {

struct CountedHeap {
  std::size_t live_bytes = 0;
  std::size_t peak_bytes = 0;  // the most live bytes since this was last set
  std::size_t allocations = 0;
};

inline CountedHeap counted_heap;

}  // namespace entitable::test
