// Entity group transactions: turns a $batch request into one write of the store or one query, and
// the results into a multipart/mixed response.
//
// The functions in `BatchCallbacks` handle the single operations. They also handle single requests,
// so an operation behaves the same inside and outside of a batch.
#pragma once

#include <functional>
#include <string_view>

#include "core/base/result.h"
#include "core/rest/handle_result.h"
#include "core/rest/http.h"

namespace entitable::rest {

struct BatchCallbacks {
  // Parses an entity write, including its make_error_response. InvalidInput: not an entity write.
  std::function<Result<EntityWrite>(const Request&)> parse;
  // Returns an entity or a list of entities. Any other request gets the response InvalidInput.
  std::function<HandleResult(const Request&)> read;
  // Returns the function that makes error responses to a request that could not be parsed: the
  // batch itself or one operation.
  std::function<MakeErrorResponse(const Request&)> error_response_maker;
};

// Handles a $batch request. The error of one operation becomes a part of a 202 response, with the
// index of the operation. An error of the batch itself (it is malformed, too large, or the store
// fails) is the response to the whole request. `base` is ResourceUri::base of the request. The
// boundaries are made from `context.id`.
HandleResult handle_batch(const Request& request, std::string_view base,
                          const RequestContext& context, const BatchCallbacks& callbacks);

}  // namespace entitable::rest
