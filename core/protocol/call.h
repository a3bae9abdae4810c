// A request that has been routed and authorized, for those who serve it. It and all it refers to
// live until it has been handled; what answers a write later owns copies.
#pragma once

#include "core/protocol/account.h"
#include "core/protocol/authorization.h"
#include "core/protocol/error_response.h"
#include "core/protocol/headers.h"
#include "core/protocol/http.h"
#include "core/protocol/query_options.h"
#include "core/protocol/route.h"
#include "core/protocol/uri.h"
#include "core/store/store.h"

namespace entitable::protocol {

struct Call {
  const Account& account;
  const Store& store;
  const Request& request;
  const Uri& uri;
  const QueryOptions& options;
  const Access& access;
  Route route;
  Metadata level;
  const ErrorForm& form;

  Response refuse(const Error& error) const { return error_response(error, form); }
};

}  // namespace entitable::protocol
