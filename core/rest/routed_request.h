// A request, or an operation of a batch, as far as it can be read before anybody is asked: whose it
// is, to which resource, and which operation it means.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/rest/authorization.h"
#include "core/rest/error_response.h"
#include "core/rest/http.h"
#include "core/rest/query_options.h"
#include "core/rest/route.h"
#include "core/rest/uri.h"

namespace entitable::rest {

struct RoutedRequest {
  Uri uri;
  QueryOptions options;
  std::string_view method;  // that counts
  RouteEntry route_entry;

  RequiredAccess required_access(const Request& request) const;
};

// Reads into `reading` and tells `form` what is found out on the way, up to the first error: of
// parse_uri, parse_query_options, method_of or find_route.
Result<void> route_request(const Request& request, std::string_view served_account,
                           ErrorFormat& error_format, RoutedRequest& routed);

}  // namespace entitable::rest
