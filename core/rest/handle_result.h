// What comes of a request that has been read: an answer, or a write for the store.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "core/base/error.h"
#include "core/model/date_time.h"
#include "core/query/query.h"
#include "core/rest/http.h"
#include "core/store/requests.h"
#include "core/txn/operation.h"

namespace entitable::rest {

// A write that has been parsed and may be staged. Owns what it needs: the Request may go.
struct PendingWrite {
  WriteRequest request;
  std::function<Response(const WriteResult&)> make_response;
};

// PartsNeeded: load them and ask again.
using HandleResult = std::variant<Response, PendingWrite, PartsNeeded>;

// An error as the response to one request: in its format, with what it preferred. Owns what it
// needs.
using MakeErrorResponse = std::function<Response(const Error&)>;

// One entity write, parsed and authorized.
struct EntityWrite {
  std::string table;  // as the URL spells it
  Operation operation;
  // What it is answered with its new timestamp (0: deleted): status and the headers of its own.
  // Owns what it needs.
  std::function<Response(Ticks timestamp)> make_response;
  MakeErrorResponse make_error_response = nullptr;  // of an operation of a batch
};

}  // namespace entitable::rest
