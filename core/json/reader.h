// Reads the JSON that requests carry: one object whose members are scalars. nlohmann/json scans
// and checks the text; this keeps what a document model would lose.
//
//   - the text of a number: 3 and 3.0 are different types to the service
//   - members given twice, in their order
//   - lone surrogates (\ud800), which come out as WTF-8 (core/base/utf8.h)
//
// Grammar: RFC 8259. Nothing is recursive, so depth is no danger.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace entitable::json {

enum class Kind : std::uint8_t { null, boolean, number, string, structure };

struct Member {
  std::string name;  // WTF-8
  Kind kind;
  // A number: its text (of an integer within 64 bits the usual one). A string: its characters,
  // WTF-8. A boolean: "true" or "false". Otherwise empty: what is inside an array or object is
  // checked and dropped.
  std::string text;
  friend bool operator==(const Member&, const Member&) = default;
};

// The members in the order of the text. InvalidInput if it is not JSON or not an object, and with
// the text "An error occurred while processing this request." for a number beyond a double. A
// leading byte order mark is ignored.
Result<std::vector<Member>> read_object(std::string_view text);

}  // namespace entitable::json
