// What HTTP requests and responses say, without a store: for those who watch them go by.
#pragma once

#include <string_view>

#include "core/protocol/account.h"
#include "core/protocol/http.h"
#include "core/store/description.h"

namespace entitable::protocol {

// Replaces what `out` holds. An operation of which the address or the verb can't be read is
// unknown, and so is one that no resource has; a batch that can't be read has no operations, an
// insert whose body can't be read no keys. Nobody's permission is looked at.
void describe(const Account& account, const Request& request, Description& out);

// Of a response block (http_codec.h). REQUIRES: such a block.
Outcome outcome_of(std::string_view response);

}  // namespace entitable::protocol
