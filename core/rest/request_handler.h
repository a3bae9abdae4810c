// The REST entry point: the Table service's HTTP protocol over a store. One request is handled by
//
//   handle    parse, route, authorize; a read is answered at once from the published version
//   (stage)   a write goes to the store among other writes: Store::stage of its WriteRequest
//   respond   what the store answered, as HTTP
//
// Every answer is an HTTP response, refusals too. Nothing that a client sends makes it fail.
#pragma once

#include <vector>

#include "core/model/service_error.h"
#include "core/rest/account.h"
#include "core/rest/handle_result.h"
#include "core/rest/http.h"
#include "core/store/store.h"

namespace entitable::rest {

HandleResult handle(const Account& account, const Store& store, const Request& request,
                    const RequestContext& context);

// What the service would answer to this very request if it failed in that way: in the format that
// the request asks for, a batch as a whole. Nothing is done, and credentials are not checked.
// `headers` stand instead of those of the same name; the response looks at their names.
Response make_error_response(const Account& account, const Store& store, const Request& request,
                             const RequestContext& context, const ServiceError& error,
                             const std::vector<HeaderView>& headers);

}  // namespace entitable::rest
