// The module's memcpy. Emscripten's memcpy copies byte by byte unless both addresses are congruent
// modulo 4, which is rare for rows and records. From 512 bytes on, it calls JavaScript.
//
// The function has another name in C++, and the symbol `memcpy` for the linker. So tools that read
// C++ do not mistake it for the target of std::memcpy.

#include <cstddef>

#include "core/base/copy_words.h"

extern "C" void* copy_bytes(void* __restrict to, const void* __restrict from,
                            std::size_t size) __asm__("memcpy");

extern "C" void* copy_bytes(void* __restrict to, const void* __restrict from, std::size_t size) {
  entitable::copy_words(static_cast<char*>(to), static_cast<const char*>(from), size, [](auto) {});
  return to;
}
