// Copies bytes by words of eight, wherever they are: WebAssembly loads and stores such words at any
// address, and so do the machines that it runs on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace entitable {

namespace detail {

// std::memcpy could be a call, and what is made of this is one (bindings/memcpy.cc).
template <typename Word>
Word copy_word(char* to, const char* from) {
  Word word;
  __builtin_memcpy(&word, from, sizeof word);
  __builtin_memcpy(to, &word, sizeof word);
  return word;
}

}  // namespace detail

// Tells `each` of every word, of which the last two may overlap. REQUIRES: source and target don't.
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
