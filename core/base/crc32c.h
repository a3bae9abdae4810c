// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78): the checksum of every stored byte.
#pragma once

#include <cstdint>
#include <string_view>

namespace entitable {

// Returns the CRC-32C of `bytes`; crc32c("123456789") == 0xE3069283. `seed` is the checksum of the
// preceding bytes, so that a checksum can be computed in steps.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed = 0);

}  // namespace entitable
