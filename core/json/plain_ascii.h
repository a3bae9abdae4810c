// Finds the bytes of a JSON string that need no escaping, eight at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace entitable::json {

// Returns the position of the first byte from `at` on that is '"', '\\', a control character or not
// ASCII, or the end of the text.
inline std::size_t skip_plain_ascii(std::string_view text, std::size_t at) {
  constexpr std::uint64_t ones = 0x0101'0101'0101'0101;
  constexpr std::uint64_t tops = 0x8080'8080'8080'8080;
  // If all bytes are ASCII, a top bit of the result is set exactly if some byte is below `limit`.
  // The subtraction may borrow from the next byte, so which further top bits are set is not
  // reliable.
  const auto below = [](std::uint64_t word, std::uint64_t limit) { return word - ones * limit; };
  for (; text.size() - at >= sizeof(std::uint64_t); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof word);
    const std::uint64_t special =
        word | below(word, 0x20) | below(word ^ (ones * '"'), 1) | below(word ^ (ones * '\\'), 1);
    if ((special & tops) != 0) break;
  }
  for (; at < text.size(); ++at) {
    const auto byte = static_cast<std::uint8_t>(text[at]);
    if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\') break;
  }
  return at;
}

}  // namespace entitable::json
