// Edm.Guid: 16 bytes in text order, so that byte order equals text order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace entitable {

using Guid = std::array<std::uint8_t, 16>;

// Parses the hyphenated form of 36 characters in any case. Returns nothing for any other text.
std::optional<Guid> parse_guid(std::string_view text);
// Returns the hyphenated form in lower case.
std::string guid_text(const Guid& guid);

}  // namespace entitable
