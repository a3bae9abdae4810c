// The body of a $batch request as the requests in it: one change set of writes, or one query. What
// each of them means is not looked at.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/rest/http.h"

namespace entitable::rest {

struct Batch {
  bool change_set = false;          // false: exactly one request, which reads
  std::vector<Request> operations;  // views into the body of the batch; their client is the batch's
};

// A change set has at least one request. Of one that is too long, one more than is allowed
// (limits::group_operations_max) are read and the rest is not looked at.
//
// InvalidInput: no boundary, malformed parts or requests, no part or several, an empty change set,
// a change set in a change set, a query in a change set, a write outside of one.
// RequestBodyTooLarge: more than 4 MiB, and then nothing is looked at.
Result<Batch> parse_batch(const Request& request);

// The address of an operation: one that names a path only stands under the batch's own origin.
// `owned_urls` owns what had to be made.
std::string_view absolute_url(std::string_view url, std::string_view batch_url,
                              std::deque<std::string>& owned_urls);

}  // namespace entitable::rest
