// Cross-origin resource sharing: preflight requests, and the headers on answers to actual ones.
//
// The first rule that fits wins. An origin is compared exactly; a header without regard to case,
// where an entry "x-ms-meta*" stands for all that begin so.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/rest/http.h"
#include "core/rest/service_properties.h"

namespace entitable::rest {

// For development: what to obey when there are no rules.
std::vector<CorsRule> permissive_cors_rules();

// The 200 to an OPTIONS request. InvalidHeaderValue: Origin or Access-Control-Request-Method is
// missing. CorsPreflightFailure: no rule fits.
Result<Response> preflight_response(const std::vector<CorsRule>& rules, const Request& request);

// Adds what the answer to a request with an Origin needs so that its page may read it; nothing
// otherwise. To be called last: "*" exposes the headers that are there.
void add_cors_headers(const std::vector<CorsRule>& rules, const Request& request,
                      Response& response);

}  // namespace entitable::rest
