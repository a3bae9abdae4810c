// Reads the usual text of an entity in one pass: scalars alone, no escapes but those of one letter,
// no extreme numbers. Whatever else there is, wrong or only unusual, it leaves to the parser.
#pragma once

#include <string_view>

#include "core/json/object.h"

namespace entitable::json {

// False: this is not for us, and `object` is of no use. What is taken is what the parser would say.
bool try_parse_simple_object(std::string_view text, Object& object);

}  // namespace entitable::json
