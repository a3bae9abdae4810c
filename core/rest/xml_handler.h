// The operations with XML bodies: access policies of a table, and properties and statistics of the
// service. Also preflight requests, whose errors are XML too.
//
// Requests are routed and authorized before (preflight requests need neither). The caller adds the
// common headers (common_response_headers.h).
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/rest/account_settings.h"
#include "core/rest/handle_result.h"
#include "core/rest/http.h"
#include "core/rest/service_properties.h"
#include "core/store/store.h"

namespace entitable::rest {

// Handles GET, HEAD and PUT of "?comp=acl". TableNotFound: there is no such table.
// MethodNotAllowed: another method. Also responds with the errors of parse_access_policies.
HandleResult handle_acl(const Store& store, const Request& request, std::string_view table,
                        const MakeErrorResponse& make_error_response);

// Handles GET and PUT of "?restype=service&comp=properties". MethodNotAllowed: another method. Also
// responds with the errors of parse_service_properties.
HandleResult handle_properties(const Store& store, const Request& request,
                               const MakeErrorResponse& make_error_response);

// Handles GET of "?restype=service&comp=stats". MethodNotAllowed: another method.
// InvalidQueryParameterValue: the URL does not name the secondary location, as the service
// requires.
HandleResult handle_stats(const Request& request, bool secondary, Ticks now,
                          const MakeErrorResponse& make_error_response);

// Handles OPTIONS of any URL.
HandleResult handle_preflight(const Account& account, const Store& store, const Request& request,
                              const MakeErrorResponse& make_error_response);

// Returns the CORS rules in the service properties. If there are none and Account::permissive_cors
// is set, returns permissive_cors_rules().
std::vector<CorsRule> effective_cors_rules(const Account& account, const Store& store);

}  // namespace entitable::rest
