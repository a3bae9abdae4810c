// Entity group transactions: a $batch request to one write of the store, or to one query, and the
// answers as multipart/mixed.
//
// What a single operation means is not decided here: `BatchCallbacks` brings the functions that
// serve requests of their own, so that an operation in a batch is exactly what it is alone.
#pragma once

#include <functional>

#include "core/base/result.h"
#include "core/rest/handle_result.h"
#include "core/rest/http.h"

namespace entitable::rest {

struct BatchCallbacks {
  // With its `refuse`. InvalidInput if it is no entity write.
  std::function<Result<EntityWrite>(const Request&)> parse;
  // An entity or a list of entities; InvalidInput in the response if it is neither.
  std::function<HandleResult(const Request&)> read;
  // Of what could not be parsed: the batch itself or one operation.
  std::function<MakeErrorResponse(const Request&)> error_response_maker;
};

// A refusal of an operation is part of a response 202, with the index of the operation; what is
// wrong with the batch itself (it is malformed, too big, or the store cannot take it) is answered
// to the whole. `context.id` makes the boundaries of the response.
HandleResult handle_batch(const Request& request, const RequestContext& context,
                          const BatchCallbacks& callbacks);

}  // namespace entitable::rest
