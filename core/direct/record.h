// Writes from a block: operation lists and table operations as the store wants them (LAYOUT.md).
#pragma once

#include <string_view>
#include <variant>

#include "core/store/requests.h"

namespace entitable::direct {

// The request, or the refusal that the door itself gives: a malformed block (InvalidInput), a value
// that does not fit its type, a malformed ETag, a key among the properties. What needs the table,
// or is a rule of groups, is the store's. The request looks into the block.
std::variant<WriteRequest, GroupFailure> parse_write(std::string_view block);

}  // namespace entitable::direct
