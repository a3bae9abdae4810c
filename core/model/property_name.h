// Property names: a C# identifier of at most 255 units, case-sensitive.
#pragma once

#include <string_view>

#include "core/base/result.h"

namespace entitable {

// First a letter (Unicode L*, Nl) or '_'; then also digits (Nd), combining (Mn, Mc), connector (Pc)
// and format (Cf) characters. Too long: PropertyNameTooLong, whatever the characters. Empty or
// other characters: PropertyNameInvalid. REQUIRES: is_wtf8(name).
Result<void> check_property_name(std::string_view name);

// "PartitionKey", "RowKey", "Timestamp", exact case.
bool is_system_property(std::string_view name);

// The identifier characters of the filter grammar and of names are the same.
bool is_identifier_start(char32_t c);
bool is_identifier_part(char32_t c);

}  // namespace entitable
