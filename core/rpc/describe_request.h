// What blocks of the direct door say, without a store: for those who watch them go by.
#pragma once

#include <string_view>

#include "core/store/request_description.h"

namespace entitable::rpc {

// Replaces what `out` holds. Nothing is known of a malformed block.
void describe_request(std::string_view request, RequestDescription& out);

// Of a reply: 200 to reads; to writes what HTTP says to a client that doesn't want them repeated,
// 204, or 202 to a transaction. `request`: what it answers.
RequestOutcome outcome_of(std::string_view request, std::string_view response);

}  // namespace entitable::rpc
