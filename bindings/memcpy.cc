// The module's memcpy. Emscripten's own copies single bytes wherever the two addresses are not
// congruent modulo 4, as those of rows and records seldom are, and calls JavaScript from 512 bytes
// on.

#include <cstddef>

#include "core/base/copy_words.h"

extern "C" void* memcpy(void* __restrict to, const void* __restrict from, std::size_t size) {
  entitable::copy_words(static_cast<char*>(to), static_cast<const char*>(from), size, [](auto) {});
  return to;
}
