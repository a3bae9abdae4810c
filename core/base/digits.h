// Writes decimal digits of numbers of known width, two at a time to save divisions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace entitable {

// "00" "01" .. "99"
inline constexpr std::array<char, 200> digit_pairs = [] {
  std::array<char, 200> pairs{};
  for (unsigned i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

// Writes two digits, with leading zeros. REQUIRES: number < 100.
inline void put_two_digits(char* to, std::uint32_t number) {
  std::memcpy(to, digit_pairs.data() + std::size_t{2} * number, 2);
}

// Writes seven digits, with leading zeros. REQUIRES: number < 10'000'000.
inline void put_seven_digits(char* to, std::uint32_t number) {
  const std::uint32_t first_four = number / 1000;
  const std::uint32_t last_three = number % 1000;
  put_two_digits(to, first_four / 100);
  put_two_digits(to + 2, first_four % 100);
  put_two_digits(to + 4, last_three / 10);
  to[6] = static_cast<char>('0' + last_three % 10);
}

}  // namespace entitable
