// Cross-origin resource sharing: responses to preflight requests, and the CORS headers of other
// responses.
//
// The first matching rule applies. Origins are compared exactly, header names case-insensitively.
// The entry "x-ms-meta*" matches all header names with that prefix.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/rest/http.h"
#include "core/rest/service_properties.h"

namespace entitable::rest {

// Returns one rule that allows everything, for Account::permissive_cors.
std::vector<CorsRule> permissive_cors_rules();

// Returns the 200 response to an OPTIONS request. InvalidHeaderValue: Origin or
// Access-Control-Request-Method is missing. CorsPreflightFailure: no rule matches.
Result<Response> preflight_response(const std::vector<CorsRule>& rules, const Request& request);

// Adds the headers that let a page of another origin read the response. Adds nothing if the request
// has no Origin or there are no rules. REQUIRES: `response` has all its other headers, because a
// rule with "*" exposes the headers that are there.
void add_cors_headers(const std::vector<CorsRule>& rules, const Request& request,
                      Response& response);

}  // namespace entitable::rest
