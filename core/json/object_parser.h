// Reads the JSON that requests carry: one object whose members are scalars. Usual text is read in
// one pass; any other is scanned and checked by nlohmann/json, and here is kept what a document
// model would lose.
//
//   - the text of a number: 3 and 3.0 are different types to the service
//   - members given twice, in their order
//   - lone surrogates (\ud800), which come out as WTF-8 (core/base/utf8.h)
//
// Grammar: RFC 8259. Nothing is recursive, so depth is no danger.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/json/object.h"

namespace entitable::json {

// InvalidInput if it is not JSON or not an object, and with the text "An error occurred while
// processing this request." for a number beyond a double. A leading byte order mark is ignored.
// The object looks at `text`.
Result<Object> parse_object(std::string_view text);

}  // namespace entitable::json
