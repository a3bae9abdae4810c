// Copies bytes by words of eight, wherever they are: WebAssembly loads and stores such words at any
// address, and so do the machines that it runs on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace entitable::bindings {

// std::memcpy would be a call, of whoever is made of this.
template <typename Word>
void copy_word(char* to, const char* from) {
  Word word;
  __builtin_memcpy(&word, from, sizeof word);
  __builtin_memcpy(to, &word, sizeof word);
}

// The last word overlaps the one before. REQUIRES: size >= sizeof(Word).
template <typename Word>
void copy_words(char* to, const char* from, std::size_t size) {
  const std::size_t last = size - sizeof(Word);
  for (std::size_t at = 0; at < last; at += sizeof(Word)) copy_word<Word>(to + at, from + at);
  copy_word<Word>(to + last, from + last);
}

// REQUIRES: they don't overlap.
inline void copy_bytes(char* to, const char* from, std::size_t size) {
  if (size >= sizeof(std::uint64_t)) {
    copy_words<std::uint64_t>(to, from, size);
  } else if (size >= sizeof(std::uint32_t)) {
    copy_words<std::uint32_t>(to, from, size);
  } else {
    for (std::size_t at = 0; at < size; ++at) to[at] = from[at];
  }
}

}  // namespace entitable::bindings
