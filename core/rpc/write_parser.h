// Writes from a block: operation lists and table operations as the store wants them (LAYOUT.md).
#pragma once

#include <optional>
#include <string_view>

#include "core/store/requests.h"

namespace entitable::rpc {

// Whether it writes a single row, if it is well-formed.
bool is_single_row_write(std::string_view message);

// Replaces what `request` holds, and uses its memory again where it can; or gives the refusal that
// the door itself gives, and then `request` means nothing: a malformed block (InvalidInput), a
// value that does not fit its type, a malformed ETag, a key among the properties. What needs the
// table, or is a rule of groups, is the store's. The request looks into the block.
std::optional<GroupFailure> parse_write(std::string_view message, WriteRequest& request);

}  // namespace entitable::rpc
