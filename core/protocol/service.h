// The REST door: the Table service's HTTP protocol over a store. One request is handled by
//
//   handle    parse, route, authorize; a read is answered at once from the published version
//   (stage)   a write goes to the store among other writes: Store::stage of its WriteRequest
//   respond   what the store answered, as HTTP
//
// Every answer is an HTTP response, refusals too. Nothing that a client sends makes it fail.
#pragma once

#include "core/protocol/account.h"
#include "core/protocol/handled.h"
#include "core/protocol/http.h"
#include "core/store/store.h"

namespace entitable::protocol {

Handled handle(const Account& account, const Store& store, const Request& request,
               const Moment& moment);

}  // namespace entitable::protocol
