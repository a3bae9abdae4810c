// Copies memory in words of eight bytes. The addresses need no alignment: WebAssembly and its host
// machines support unaligned access.
#pragma once

#include <cstddef>
#include <cstdint>

namespace entitable {

namespace detail {

// Copies one word and returns it. Does not use std::memcpy, because that could compile to a call of
// memcpy, which bindings/memcpy.cc implements with these functions.
template <typename Word>
Word copy_word(char* to, const char* from) {
  Word word;
  __builtin_memcpy(&word, from, sizeof word);
  __builtin_memcpy(to, &word, sizeof word);
  return word;
}

}  // namespace detail

// Copies `size` bytes and passes every copied word to `each`. The last two words may overlap.
// REQUIRES: source and target do not overlap.
template <typename Each>
void copy_words(char* to, const char* from, std::size_t size, Each each) {
  using detail::copy_word;
  if (size >= 8) {
    for (std::size_t at = 0; at + 8 < size; at += 8) {
      each(copy_word<std::uint64_t>(to + at, from + at));
    }
    each(copy_word<std::uint64_t>(to + size - 8, from + size - 8));
  } else if (size >= 4) {
    each(copy_word<std::uint32_t>(to, from));
    each(copy_word<std::uint32_t>(to + size - 4, from + size - 4));
  } else {
    for (std::size_t at = 0; at < size; ++at) each(copy_word<std::uint8_t>(to + at, from + at));
  }
}

}  // namespace entitable
