// Parses the JSON of request bodies: one object whose members are scalars. Usual text is read in
// one pass. Other text is parsed by nlohmann/json, and this parser keeps what a document model
// would lose:
//
//   - the text of a number: 3 and 3.0 are different types to the service
//   - duplicate members, in their order
//   - lone surrogates (\ud800), as WTF-8 (core/base/utf8.h)
//
// Grammar: RFC 8259. Parsing is not recursive, so deeply nested input is safe.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/json/object.h"

namespace entitable::json {

// Parses one object; the result refers to `text`. Ignores a leading byte order mark. Errors:
// InvalidInput if the text is not JSON or not an object, and with the message "An error occurred
// while processing this request." for a number that overflows a double.
Result<Object> parse_object(std::string_view text);

}  // namespace entitable::json
