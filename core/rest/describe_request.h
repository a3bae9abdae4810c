// What HTTP requests and responses say, without a store: for those who watch them go by.
#pragma once

#include <string_view>

#include "core/rest/account.h"
#include "core/rest/http.h"
#include "core/store/request_description.h"

namespace entitable::rest {

// Replaces what `out` holds. An operation of which the address or the verb can't be read is
// unknown, and so is one that no resource has; a batch that can't be read has no operations, an
// insert whose body can't be read no keys. Nobody's permission is looked at.
void describe_request(const Account& account, const Request& request, RequestDescription& out);

// Of a response block (http_codec.h). REQUIRES: such a block.
RequestOutcome outcome_of(std::string_view response);

}  // namespace entitable::rest
