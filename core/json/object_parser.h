// Parses the JSON of request bodies: one object whose members are scalars. fast_object_parser.h
// reads usual text. nlohmann/json parses other text, as a stream of events. This keeps what a
// parsed document would lose:
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
// InvalidInput if the text is not JSON or not an object. If a number overflows a double,
// InvalidInput has the message "An error occurred while processing this request."
Result<Object> parse_object(std::string_view text);

}  // namespace entitable::json
