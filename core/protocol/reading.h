// A request, or an operation of a batch, as far as it can be read before anybody is asked: whose it
// is, to which resource, and which operation it means.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/protocol/authorization.h"
#include "core/protocol/error_response.h"
#include "core/protocol/http.h"
#include "core/protocol/query_options.h"
#include "core/protocol/route.h"
#include "core/protocol/uri.h"

namespace entitable::protocol {

struct Reading {
  Uri uri;
  QueryOptions options;
  std::string_view method;  // that counts
  RouteLine line;

  Need need(const Request& request) const;
};

// Reads into `reading` and tells `form` what is found out on the way, up to the first error: of
// parse_uri, parse_query_options, method_of or find_route.
Result<void> read_target(const Request& request, std::string_view served_account, ErrorForm& form,
                         Reading& reading);

}  // namespace entitable::protocol
