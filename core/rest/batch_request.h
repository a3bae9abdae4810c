// Splits the body of a $batch request into its requests: one change set of writes, or one query.
// Does not route or check the requests.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/rest/http.h"

namespace entitable::rest {

struct Batch {
  bool change_set = false;          // false: exactly one operation, which reads
  std::vector<Request> operations;  // views into the body of the batch, with its client_ip
};

// Returns the batch. A change set has at least one operation. Parsing stops after
// limits::group_operations_max + 1 operations; entity_group (core/txn) then reports that there are
// too many.
//
// RequestBodyTooLarge: more than 4 MiB; checked first. InvalidInput: no boundary, malformed parts
// or requests, not exactly one part, an empty change set, a change set or a query inside a change
// set, or a write outside of a change set.
Result<Batch> parse_batch(const Request& request);

// Returns the absolute URL of an operation. If `url` is only a path, adds the origin of
// `batch_base` (ResourceUri::base of the batch). If the batch's account is in the path and `url`
// names no account, adds the account too. The result views `url` or a new element of `owned_urls`.
// REQUIRES: `batch_base` is absolute.
std::string_view absolute_url(std::string_view url, std::string_view batch_base,
                              std::deque<std::string>& owned_urls);

}  // namespace entitable::rest
