// The operations on tables as such: query, get one, create, delete.
#pragma once

#include "core/protocol/call.h"
#include "core/protocol/handled.h"

namespace entitable::protocol {

// REQUIRES: call.route is the one of the function.
Handled query_tables(const Call& call);
Handled get_table(const Call& call);
Handled create_table(const Call& call);
Handled drop_table(const Call& call);

}  // namespace entitable::protocol
