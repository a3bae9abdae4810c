// Edm.Guid: 16 bytes in the order of the text, so that byte order is text order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace entitable {

using Guid = std::array<std::uint8_t, 16>;

// The hyphenated form of 36 characters, any case; nothing otherwise.
std::optional<Guid> parse_guid(std::string_view text);
// Lower case, hyphenated.
std::string guid_text(const Guid& guid);

}  // namespace entitable
