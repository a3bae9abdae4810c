#include "core/base/crc32c.h"

#include <array>
#include <cstddef>

namespace entitable {
namespace {

// Slicing by eight: eight bytes a step, each through a table of its own.
//   tables[0][b] is the checksum of the byte b; tables[k][b] that of b followed by k zero bytes.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

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

// Computed on first use: 8 KB that need not be downloaded with the module.
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
  for (; left >= 8; at += 8, left -= 8) {
    const std::uint32_t low = load32(at) ^ crc;
    const std::uint32_t high = load32(at + 4);
    crc = t[7][low & 0xFF] ^ t[6][low >> 8 & 0xFF] ^ t[5][low >> 16 & 0xFF] ^ t[4][low >> 24] ^
          t[3][high & 0xFF] ^ t[2][high >> 8 & 0xFF] ^ t[1][high >> 16 & 0xFF] ^ t[0][high >> 24];
  }
  for (; left > 0; ++at, --left) {
    crc = crc >> 8 ^ t[0][(crc ^ static_cast<std::uint8_t>(*at)) & 0xFF];
  }
  return ~crc;
}

}  // namespace entitable
