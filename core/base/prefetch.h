// Loads memory into the processor's cache before it is needed.
//
// A cache miss takes as long as hundreds of instructions, but misses at known addresses overlap.
// Code that will read many distant places therefore touches all of them first. WebAssembly has no
// prefetch instruction, so an ordinary load is used.
#pragma once

#include <cstddef>

namespace entitable {

inline constexpr std::size_t cache_line_bytes = 64;

// Loads the cache line of `byte`. REQUIRES: the byte may be read.
inline void prefetch(const void* byte) {
  static_cast<void>(*static_cast<const volatile char*>(byte));
}

// Loads all cache lines of `size` bytes.
inline void prefetch(const void* bytes, std::size_t size) {
  const auto* const begin = static_cast<const char*>(bytes);
  for (std::size_t at = 0; at < size; at += cache_line_bytes) prefetch(begin + at);
  if (size != 0) prefetch(begin + size - 1);
}

}  // namespace entitable
