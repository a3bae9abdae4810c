// The headers that every response has.
#pragma once

#include <string>
#include <vector>

#include "core/model/date_time.h"
#include "core/rest/account_settings.h"
#include "core/rest/http.h"
#include "core/rest/service_properties.h"

namespace entitable::rest {

// The values of these headers for one request. Owns its data, because the request may no longer
// exist when the response is made.
struct CommonResponseHeaders {
  // `version` becomes the version that the request's headers ask for, or the newest if invalid.
  CommonResponseHeaders(const Account& account, const Request& request,
                        const RequestContext& context);

  // Returns `response` with the headers. A header in `others` replaces headers of the same name.
  // The result views the names in `others`.
  Response add_to(Response response, const std::vector<HeaderView>& others = {}) const;

  std::string request_id;
  std::string client_request_id;
  std::string version;
  Ticks now = 0;
  // False for XML and preflight responses. Data responses get Cache-Control: no-cache and
  // X-Content-Type-Options: nosniff.
  bool is_data = true;
  std::string method;
  std::string origin;          // empty: no CORS headers
  std::vector<CorsRule> cors;  // the rules to apply if there is an origin
};

}  // namespace entitable::rest
