// Entity group transactions: a $batch request to one write of the store, or to one query, and the
// answers as multipart/mixed.
//
// What a single operation means is not decided here: `BatchSteps` brings the functions that serve
// requests of their own, so that an operation in a batch is exactly what it is alone.
#pragma once

#include <functional>

#include "core/base/result.h"
#include "core/protocol/handled.h"
#include "core/protocol/http.h"

namespace entitable::protocol {

struct BatchSteps {
  // With its `refuse`. InvalidInput if it is no entity write.
  std::function<Result<EntityWrite>(const Request&)> parse;
  // An entity or a list of entities; InvalidInput in the response if it is neither.
  std::function<Handled(const Request&)> read;
  // Of what could not be parsed: the batch itself or one operation.
  std::function<Refuse(const Request&)> refusal;
};

// A refusal of an operation is part of a response 202, with the index of the operation; what is
// wrong with the batch itself (it is malformed, too big, or the store cannot take it) is answered
// to the whole. `moment.id` makes the boundaries of the response.
Handled handle_batch(const Request& request, const Moment& moment, const BatchSteps& steps);

}  // namespace entitable::protocol
