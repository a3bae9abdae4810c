// What becomes of a request: a response at once, or a write for the store, and then a response.
#pragma once

#include <functional>
#include <variant>

#include "core/protocol/http.h"
#include "core/query/query.h"
#include "core/store/requests.h"

namespace entitable::protocol {

// A write that has been parsed and may be staged. Owns what it needs: the Request may go.
struct PendingWrite {
  WriteRequest request;
  std::function<Response(const WriteAnswer&)> respond;
};

// NeedParts: load them and ask again.
using Handled = std::variant<Response, PendingWrite, NeedParts>;

}  // namespace entitable::protocol
