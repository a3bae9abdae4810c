#include "core/base/crc32c.h"

#include <array>
#include <cstddef>

namespace entitable {
namespace {

// Tables of the slicing-by-16 algorithm. The algorithm processes sixteen bytes per step and looks
// up each byte in its own table.
//   tables[0][b] is the checksum of the byte b
//   tables[k][b] is the checksum of the byte b followed by k zero bytes
using Tables = std::array<std::array<std::uint32_t, 256>, 16>;

Tables make_tables() {
  constexpr std::uint32_t polynomial = 0x82F63B78;
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t shorter = tables[k - 1][byte];
      tables[k][byte] = (shorter >> 8) ^ tables[0][shorter & 0xFF];
    }
  }
  return tables;
}

// Computed on first use, so that the 16 KB are not downloaded with the module.
const Tables& tables() {
  static const Tables computed = make_tables();
  return computed;
}

std::uint32_t load32(const char* at) {
  const auto byte = [at](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<std::uint8_t>(at[i]));
  };
  return byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) {
  const Tables& t = tables();
  std::uint32_t crc = ~seed;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  const auto four = [&t](std::uint32_t word, std::size_t behind) {
    return t[behind + 3][word & 0xFF] ^ t[behind + 2][word >> 8 & 0xFF] ^
           t[behind + 1][word >> 16 & 0xFF] ^ t[behind][word >> 24];
  };
  for (; left >= 16; at += 16, left -= 16) {
    crc = four(load32(at) ^ crc, 12) ^ four(load32(at + 4), 8) ^ four(load32(at + 8), 4) ^
          four(load32(at + 12), 0);
  }
  for (; left >= 4; at += 4, left -= 4) crc = four(load32(at) ^ crc, 0);
  for (; left > 0; ++at, --left) {
    crc = crc >> 8 ^ t[0][(crc ^ static_cast<std::uint8_t>(*at)) & 0xFF];
  }
  return ~crc;
}

}  // namespace entitable
