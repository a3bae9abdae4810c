// The operations on tables: query, get one, create, delete.
#pragma once

#include "core/rest/authorized_request.h"
#include "core/rest/handle_result.h"

namespace entitable::rest {

// REQUIRES: authorized.route is the function's own route.
HandleResult query_tables(const AuthorizedRequest& authorized);
HandleResult get_table(const AuthorizedRequest& authorized);
HandleResult create_table(const AuthorizedRequest& authorized);
HandleResult drop_table(const AuthorizedRequest& authorized);

}  // namespace entitable::rest
