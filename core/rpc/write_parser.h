// Parses the RPC write messages (LAYOUT.md) into the store's write requests.
#pragma once

#include <optional>
#include <string_view>

#include "core/store/write_requests.h"

namespace entitable::rpc {

// Returns whether the message is a write of one operation that is not a transaction. Reads only the
// start of the message: the rest may be malformed.
bool is_single_row_write(std::string_view message);

// Parses the message into `request` and reuses the memory of `request`. Returns nothing if this
// succeeds. Returns an error for a malformed message (InvalidInput), a value that does not fit its
// type, a malformed ETag, or a key among the properties; `request` is then unspecified. The store
// checks the rules of transactions and everything that depends on the table. REQUIRES: `message`
// outlives the use of `request`, which refers to its bytes.
std::optional<GroupFailure> parse_write(std::string_view message, WriteRequest& request);

}  // namespace entitable::rpc
