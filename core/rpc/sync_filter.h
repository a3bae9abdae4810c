// Whether an entity matches the filter of a synced table. The code of sync evaluates the filter on
// what the remote returns, so that it sees which entities do not match any more.
#pragma once

#include <string_view>

#include "core/base/result.h"

namespace entitable::rpc {

// `message`: a write message with one operation that puts the entity. Errors: InvalidInput if
// parse_filter() refuses the filter, if it names Timestamp, which changes with every write, or if
// the message has another number of operations; those of parse_write().
Result<bool> matches_filter(std::string_view filter, std::string_view message);

}  // namespace entitable::rpc
