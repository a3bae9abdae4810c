// Whether an entity matches the filter of a synced table. The code of sync evaluates the filter on
// what the remote returns, so that it sees which entities do not match any more.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/filter/ast.h"

namespace entitable::rpc {

// Keeps the filter of the last call, because a scan evaluates the same one for each entity.
class SyncFilter {
 public:
  // `message`: a write message with one operation that puts the entity. Errors: InvalidInput if
  // parse_filter() refuses the filter, if it names Timestamp, which changes with every write, or if
  // the message has another number of operations; those of parse_write().
  Result<bool> matches(std::string_view filter, std::string_view message);

 private:
  std::string text_;
  std::optional<Filter> parsed_;  // of `text_`
};

}  // namespace entitable::rpc
