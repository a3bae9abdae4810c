// The operations whose documents are XML: access policies of a table, properties and statistics of
// the service; and preflight requests.
//
// Requests have been routed and authorized. Headers common to all answers are added later.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/rest/account.h"
#include "core/rest/handle_result.h"
#include "core/rest/http.h"
#include "core/rest/service_properties.h"
#include "core/store/store.h"

namespace entitable::rest {

// GET or HEAD, and PUT, of "?comp=acl". TableNotFound; errors of parse_access_policies;
// MethodNotAllowed.
HandleResult handle_acl(const Store& store, const Request& request, std::string_view table,
                        const MakeErrorResponse& make_error_response);

// GET and PUT of "?restype=service&comp=properties". Errors of parse_service_properties;
// MethodNotAllowed.
HandleResult handle_properties(const Store& store, const Request& request,
                               const MakeErrorResponse& make_error_response);

// GET of "?restype=service&comp=stats". InvalidQueryParameterValue at the primary address;
// MethodNotAllowed.
HandleResult handle_stats(const Request& request, bool secondary, Ticks now,
                          const MakeErrorResponse& make_error_response);

// OPTIONS of anything.
HandleResult handle_preflight(const Account& account, const Store& store, const Request& request,
                              const MakeErrorResponse& make_error_response);

// What the store's properties say, or the permissive rules if there are none and the account has
// them.
std::vector<CorsRule> cors_rules(const Account& account, const Store& store);

}  // namespace entitable::rest
