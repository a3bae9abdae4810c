// Describes HTTP requests and responses for request logs, without access to a store.
#pragma once

#include <string_view>

#include "core/rest/account_settings.h"
#include "core/rest/http.h"
#include "core/store/request_description.h"

namespace entitable::rest {

// Sets `out` to the description of the request. If the URL or method is malformed, or the resource
// does not support the operation, out.operation is `unknown`. A malformed batch has no operations,
// and an insert with a malformed body has no keys. Does not check permissions.
void describe_request(const Account& account, const Request& request, RequestDescription& out);

// Returns the outcome of an encoded response. REQUIRES: `response` is a message of http_codec.h.
ResponseOutcome response_outcome(std::string_view response);

}  // namespace entitable::rest
