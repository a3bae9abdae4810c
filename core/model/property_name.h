// Property names: a C# identifier of at most 255 units, case-sensitive.
#pragma once

#include <string_view>

#include "core/base/result.h"

namespace entitable {

// Checks a property name. A name starts with a letter (Unicode categories L*, Nl) or '_'. Further
// characters may also be digits (Nd), combining (Mn, Mc), connector (Pc) and format (Cf)
// characters. Errors: PropertyNameTooLong, which is checked before the characters;
// PropertyNameInvalid for other characters and for an empty name. REQUIRES: is_wtf8(name).
Result<void> check_property_name(std::string_view name);

// Returns whether the name is "PartitionKey", "RowKey" or "Timestamp", in exact case.
bool is_system_property(std::string_view name);

// Return whether a name may start with the character, or contain it after the start. Identifiers in
// a $filter follow the same rules.
bool is_identifier_start(char32_t c);
bool is_identifier_part(char32_t c);

}  // namespace entitable
