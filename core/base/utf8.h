// Text inside the core is WTF-8: UTF-8 that may also hold unpaired surrogates, each as three bytes.
// WTF-8 represents every JavaScript or .NET string without loss. A surrogate pair must be encoded
// as one character of four bytes, not as two surrogates of three bytes.
//
// The service counts and orders strings by UTF-16 code units ("units").
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace entitable {

// Returns whether `text` is valid WTF-8: shortest forms, at most U+10FFFF, no surrogate pair
// encoded as two surrogates.
bool is_wtf8(std::string_view text);
// Returns whether `text` has no unpaired surrogates, so that it is UTF-8. REQUIRES: is_wtf8(text).
bool is_well_formed(std::string_view text);

// Returns the length in UTF-16 units. REQUIRES: is_wtf8(text).
std::size_t utf16_length(std::string_view text);

// Compares by UTF-16 units, as unsigned 16-bit numbers. Returns a negative number, zero or a
// positive number. The order differs from byte order only where a character above U+FFFF is
// compared with U+E000..U+FFFF or with an unpaired surrogate. Defined inline below, because the
// store calls it more often than any other comparison. REQUIRES: is_wtf8() of both.
int compare_utf16(std::string_view a, std::string_view b);

// Calls visit(char32_t) for each code point, unpaired surrogates included. REQUIRES: is_wtf8(text).
template <typename Visit>
void for_each_code_point(std::string_view text, Visit visit);

// Appends one code point (unpaired surrogates allowed). Joins a low surrogate with a high surrogate
// at the end of `out`, so that `out` stays WTF-8.
void append_code_point(std::string& out, char32_t code_point);

// Unpaired surrogates are converted without loss in both directions.
std::string wtf8_from_utf16(std::u16string_view text);
std::u16string utf16_from_wtf8(std::string_view text);  // REQUIRES: is_wtf8(text)

// Returns the code point that starts at `at` and moves `at` past it.
// REQUIRES: is_wtf8(text), at < text.size().
inline char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(at);
  if (lead < 0x80) return at += 1, lead;
  if (lead < 0xE0) {
    const char32_t c = ((lead & 0x1Fu) << 6) | (byte(at + 1) & 0x3Fu);
    return at += 2, c;
  }
  if (lead < 0xF0) {
    const char32_t c =
        ((lead & 0x0Fu) << 12) | ((byte(at + 1) & 0x3Fu) << 6) | (byte(at + 2) & 0x3Fu);
    return at += 3, c;
  }
  const char32_t c = ((lead & 0x07u) << 18) | ((byte(at + 1) & 0x3Fu) << 12) |
                     ((byte(at + 2) & 0x3Fu) << 6) | (byte(at + 3) & 0x3Fu);
  return at += 4, c;
}

template <typename Visit>
void for_each_code_point(std::string_view text, Visit visit) {
  for (std::size_t at = 0; at < text.size();) visit(next_code_point(text, at));
}

namespace detail {
// Compares two texts that are equal before `at`. REQUIRES: different characters start at `at`.
int compare_utf16_at(std::string_view a, std::string_view b, std::size_t at);

// Compares two texts whose first different byte is at `at`.
inline int compare_at_difference(std::string_view a, std::string_view b, std::size_t at) {
  const auto byte_a = static_cast<std::uint8_t>(a[at]);
  const auto byte_b = static_cast<std::uint8_t>(b[at]);
  // Byte order and unit order differ only between the lead byte of a four-byte character (F0..F4)
  // and the lead byte of U+D000..U+FFFF (ED..EF). Continuation bytes are below both ranges.
  if ((byte_a >= 0xF0) != (byte_b >= 0xF0) && byte_a >= 0xED && byte_b >= 0xED) {
    return compare_utf16_at(a, b, at);
  }
  return int{byte_a} - int{byte_b};
}

// Returns the XOR of eight bytes of each text: zero if they are equal. Otherwise
// first_nonzero_byte() of the result is the position of the first difference.
inline std::uint64_t xor_words(const char* a, const char* b) {
  std::uint64_t word_a;
  std::uint64_t word_b;
  std::memcpy(&word_a, a, 8);
  std::memcpy(&word_b, b, 8);
  return word_a ^ word_b;
}
inline std::size_t first_nonzero_byte(std::uint64_t difference) {
  const int zeros = std::endian::native == std::endian::little ? std::countr_zero(difference)
                                                               : std::countl_zero(difference);
  return static_cast<std::size_t>(zeros) / 8;
}

// Returns the position of the first difference of two texts that are both at least `size` bytes
// long, or `size`. Compares words, because memcmp does not return a position.
inline std::size_t first_difference(const char* a, const char* b, std::size_t size) {
  std::size_t at = 0;
  if (size >= 8) {
    for (; at + 8 <= size; at += 8) {
      if (const std::uint64_t d = xor_words(a + at, b + at); d != 0)
        return at + first_nonzero_byte(d);
    }
    // The last word overlaps the word before it. A loop over the remaining bytes would be slower,
    // because its number of steps cannot be predicted.
    at = size - 8;
    if (const std::uint64_t d = xor_words(a + at, b + at); d != 0)
      return at + first_nonzero_byte(d);
    return size;
  }
  while (at < size && a[at] == b[at]) ++at;
  return at;
}
}  // namespace detail

// Returns a == b. Faster than memcmp for texts that are mostly short and mostly equal. Does not
// compare bytes if both texts are at the same address.
inline bool same_text(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  if (a.data() == b.data() || a.empty()) return true;
  if (a.size() >= 8) return detail::first_difference(a.data(), b.data(), a.size()) == a.size();
  if (a.size() < 4) {
    return a.front() == b.front() && a[a.size() / 2] == b[a.size() / 2] && a.back() == b.back();
  }
  std::uint32_t words[4];
  std::memcpy(&words[0], a.data(), 4);
  std::memcpy(&words[1], b.data(), 4);
  std::memcpy(&words[2], a.data() + a.size() - 4, 4);
  std::memcpy(&words[3], b.data() + b.size() - 4, 4);
  return words[0] == words[1] && words[2] == words[3];
}

inline int compare_utf16(std::string_view a, std::string_view b) {
  const std::size_t shorter = a.size() < b.size() ? a.size() : b.size();
  const std::size_t at = detail::first_difference(a.data(), b.data(), shorter);
  if (at < shorter) return detail::compare_at_difference(a, b, at);
  return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}

}  // namespace entitable
