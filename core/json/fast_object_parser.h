// Parses the usual JSON of an entity in one pass: scalar members, one-letter escapes such as \n, no
// very long or large numbers. All other text, invalid or only unusual, is left to the general
// parser (object_parser.h).
#pragma once

#include <string_view>

#include "core/json/object.h"

namespace entitable::json {

// Returns false if the general parser must read the text; `object` is then unspecified. If true,
// `object` is what the general parser would return.
bool try_parse_simple_object(std::string_view text, Object& object);

}  // namespace entitable::json
