// The REST entry point: the Table service's HTTP protocol over a store.
//
// handle_request() parses, routes and authorizes a request. It executes a read on the published
// version and returns the response. For a write it returns a PendingWrite: the caller stages its
// WriteRequest (core/dispatch) and passes the result to its make_response.
//
// For a request whose body has not been received (Request::body_pending), handle_request() executes
// nothing. It returns the final response if none of it depends on the body: the request is
// malformed, is not authorized, or is a preflight request. Otherwise it returns the response 100
// (Continue): the caller receives the body and repeats the call with it. Both calls authorize the
// request.
//
// Errors are HTTP responses too: no request makes these functions throw, except for lack of memory.
#pragma once

#include <vector>

#include "core/model/service_error.h"
#include "core/rest/account_settings.h"
#include "core/rest/handle_result.h"
#include "core/rest/http.h"
#include "core/store/store.h"

namespace entitable::rest {

HandleResult handle_request(const Account& account, const Store& store, const Request& request,
                            const RequestContext& context);

// Returns the response that the service would send if this request failed with `error`, in the
// format that the request asks for. Tests use this to simulate errors. A batch fails as a whole.
// Does not execute the request or check credentials. Each of `headers` replaces the response's
// headers of the same name; the response views their names.
Response make_error_response(const Account& account, const Store& store, const Request& request,
                             const RequestContext& context, const ServiceError& error,
                             const std::vector<HeaderView>& headers);

}  // namespace entitable::rest
