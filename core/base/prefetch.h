// Having memory in the processor's cache before it is needed.
//
// A load that misses the caches takes as long as hundreds of instructions, but loads whose
// addresses are known do not wait for each other. So whoever is going to look at many places that
// lie far apart looks at all of them first, for nothing: they then come as quickly as one.
// WebAssembly has no instruction for that; a load serves everywhere.
#pragma once

#include <cstddef>

namespace entitable {

inline constexpr std::size_t cache_line_bytes = 64;

// REQUIRES: the byte may be read.
inline void prefetch(const void* byte) {
  static_cast<void>(*static_cast<const volatile char*>(byte));
}

// All of so many bytes.
inline void prefetch(const void* bytes, std::size_t size) {
  const auto* const begin = static_cast<const char*>(bytes);
  for (std::size_t at = 0; at < size; at += cache_line_bytes) prefetch(begin + at);
  if (size != 0) prefetch(begin + size - 1);
}

}  // namespace entitable
