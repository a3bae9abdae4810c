// A routed and authorized request, as the handlers receive it. The request and everything that it
// refers to live until the handler returns. A write's response is made later, so make_response owns
// copies.
#pragma once

#include "core/rest/account.h"
#include "core/rest/authorization.h"
#include "core/rest/error_response.h"
#include "core/rest/http.h"
#include "core/rest/query_options.h"
#include "core/rest/request_headers.h"
#include "core/rest/route.h"
#include "core/rest/uri.h"
#include "core/store/store.h"

namespace entitable::rest {

struct AuthorizedRequest {
  const Account& account;
  const Store& store;
  const Request& request;
  const Uri& uri;
  const QueryOptions& options;
  const GrantedAccess& access;
  Route route;
  MetadataLevel level;
  const ErrorFormat& error_format;

  Response make_error_response(const Error& error) const {
    return error_response(error, error_format);
  }
};

}  // namespace entitable::rest
