// The result of routing a request or an operation of a batch: its account, resource and operation.
// Routing needs neither credentials nor the store.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/rest/authorization.h"
#include "core/rest/error_response.h"
#include "core/rest/http.h"
#include "core/rest/query_parameters.h"
#include "core/rest/resource_uri.h"
#include "core/rest/route.h"

namespace entitable::rest {

struct RoutedRequest {
  ResourceUri uri;
  QueryParameters options;
  std::string_view method;  // the request's method, or the method in X-HTTP-Method
  RouteEntry route_entry;

  // Returns the access that `request`, the routed request, needs.
  RequiredAccess required_access(const Request& request) const;
};

// Fills `routed` and `error_format` as far as the request can be parsed. Returns the first error of
// parse_resource_uri, parse_query_parameters, effective_method and find_route.
Result<void> route_request(const Request& request, std::string_view served_account,
                           ErrorResponseContext& error_format, RoutedRequest& routed);

}  // namespace entitable::rest
