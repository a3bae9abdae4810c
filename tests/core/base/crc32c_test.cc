#include "core/base/crc32c.h"

#include <string>

#include "tests/support/catch.h"
#include "tests/support/prng.h"

using namespace entitable;

namespace {

// The definition of CRC32C, bit by bit.
std::uint32_t slow_crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0);
  }
  return ~crc;
}

}  // namespace

TEST_CASE("crc32c of the published vectors") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xE3069283);
  // RFC 3720, B.4
  std::string rising;
  for (char c = 0; c < 32; ++c) rising.push_back(c);
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AA);
  CHECK(crc32c(std::string(32, '\xFF')) == 0x62A8AB43);
  CHECK(crc32c(rising) == 0x46DD794E);
  CHECK(crc32c(std::string(rising.rbegin(), rising.rend())) == 0x113FDB5C);
}

TEST_CASE(
    "crc32c agrees with its definition at every length and alignment, whole or in two chunks") {
  constexpr std::uint64_t seed = 3;
  CAPTURE(seed);
  test::Prng prng(seed);
  std::string bytes;
  for (int i = 0; i < 80; ++i) bytes.push_back(static_cast<char>(prng.next()));
  for (std::size_t start = 0; start < 9; ++start) {
    for (std::size_t size = 0; start + size <= bytes.size(); ++size) {
      const std::string_view piece = std::string_view(bytes).substr(start, size);
      const std::uint32_t expected = slow_crc32c(piece);
      CHECK(crc32c(piece) == expected);
      const std::size_t cut = prng.below(size + 1);
      CHECK(crc32c(piece.substr(cut), crc32c(piece.substr(0, cut))) == expected);
    }
  }
}

TEST_CASE("crc32c detects every single flipped bit") {
  const std::string original = "a record of the log";
  for (std::size_t bit = 0; bit < original.size() * 8; ++bit) {
    std::string damaged = original;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    CHECK(crc32c(damaged) != crc32c(original));
  }
}
