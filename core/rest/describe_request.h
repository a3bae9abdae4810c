// Describes HTTP requests and responses for observers, without a store.
#pragma once

#include <string_view>

#include "core/rest/account.h"
#include "core/rest/http.h"
#include "core/store/request_description.h"

namespace entitable::rest {

// Replaces the content of `out`. An operation with a malformed address or verb, or one that its
// resource does not have, is unknown. A malformed batch has no operations, and an insert with a
// malformed body has no keys. Permissions are not checked.
void describe_request(const Account& account, const Request& request, RequestDescription& out);

// Returns the outcome of an encoded response. REQUIRES: `response` is a message of http_codec.h.
RequestOutcome outcome_of(std::string_view response);

}  // namespace entitable::rest
