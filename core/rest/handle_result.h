// The result of handling a request: a response, or a write that the caller must stage.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "core/base/error.h"
#include "core/model/date_time.h"
#include "core/query/query.h"
#include "core/rest/http.h"
#include "core/store/write_requests.h"
#include "core/txn/operation.h"

namespace entitable::rest {

// A write that has been parsed and can be staged. Owns its data, so it may outlive the Request.
struct UnstagedWrite {
  WriteRequest request;
  std::function<Response(const WriteResult&)> make_response;  // from the result of staging
};

// PartsNeeded: the caller must load these parts and repeat the call.
using HandleResult = std::variant<Response, UnstagedWrite, PartsNeeded>;

// Returns an error as the response to a particular request, in the ErrorResponseContext of that
// request. Owns its data.
using MakeErrorResponse = std::function<Response(const Error&)>;

// One entity write, parsed and authorized.
struct EntityWrite {
  std::string table;  // as the URL spells it
  Operation operation;
  // Returns the response, without the common headers. `timestamp`: the entity's new timestamp, 0 if
  // it was deleted. Owns its data.
  std::function<Response(Ticks timestamp)> make_response;
  MakeErrorResponse make_error_response = nullptr;  // only set for operations of a batch
};

}  // namespace entitable::rest
