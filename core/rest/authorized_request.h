// A routed and authorized request, as the handlers receive it. The request and everything that it
// refers to live until the handler returns. A write's response is made later, so make_response owns
// copies.
#pragma once

#include "core/rest/account_settings.h"
#include "core/rest/authorization.h"
#include "core/rest/error_response.h"
#include "core/rest/http.h"
#include "core/rest/query_parameters.h"
#include "core/rest/request_headers.h"
#include "core/rest/resource_uri.h"
#include "core/rest/route.h"
#include "core/store/store.h"

namespace entitable::rest {

struct AuthorizedRequest {
  const Account& account;
  const Store& store;
  const Request& request;
  const ResourceUri& uri;
  const QueryParameters& options;
  const GrantedAccess& access;
  RouteKind route;
  MetadataLevel level;
  const ErrorResponseContext& error_format;

  Response make_error_response(const Error& error) const {
    return error_response(error, error_format);
  }
};

}  // namespace entitable::rest
