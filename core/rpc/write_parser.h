// Parses the RPC write messages (LAYOUT.md) into the store's write requests.
#pragma once

#include <optional>
#include <string_view>

#include "core/store/requests.h"

namespace entitable::rpc {

// Returns whether the message writes a single row, provided that it is well-formed.
bool is_single_row_write(std::string_view message);

// Parses the message into `request` and reuses the memory of `request`. Returns an error for a
// malformed message (InvalidInput), a value that does not fit its type, a malformed ETag, or a key
// among the properties; `request` is then unspecified. The store checks everything that depends on
// the table, and the rules of transactions. The request holds views into the bytes of `message`.
std::optional<GroupFailure> parse_write(std::string_view message, WriteRequest& request);

}  // namespace entitable::rpc
