// Describes RPC messages, for hosts that log or inspect requests. Needs no store.
#pragma once

#include <string_view>

#include "core/store/request_description.h"

namespace entitable::rpc {

// Sets `out` to the description of a request message. The description of a malformed message is
// empty.
void describe_request(std::string_view request, RequestDescription& out);

// Returns the outcome that `response` reports for `request`. A successful read has status 200, a
// write 204 and a transaction 202, as in REST responses.
ResponseOutcome response_outcome(std::string_view request, std::string_view response);

}  // namespace entitable::rpc
