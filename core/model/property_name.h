// Property names: a C# identifier of at most 255 units, case-sensitive.
#pragma once

#include <string_view>

#include "core/base/result.h"

namespace entitable {

// Checks a property name. It starts with a letter (Unicode L*, Nl) or '_'; further characters may
// also be digits (Nd), combining (Mn, Mc), connector (Pc) and format (Cf) characters. Too long is
// PropertyNameTooLong, whatever the characters. Empty, or other characters: PropertyNameInvalid.
// REQUIRES: is_wtf8(name).
Result<void> check_property_name(std::string_view name);

// Returns whether the name is "PartitionKey", "RowKey" or "Timestamp", in exact case.
bool is_system_property(std::string_view name);

// Property names and filter identifiers use the same characters.
bool is_identifier_start(char32_t c);
bool is_identifier_part(char32_t c);

}  // namespace entitable
