// The headers that every response has.
#pragma once

#include <string>
#include <vector>

#include "core/model/date_time.h"
#include "core/rest/account.h"
#include "core/rest/http.h"
#include "core/rest/service_properties.h"

namespace entitable::rest {

// Owns its data, since the request may no longer exist when the response is made.
struct CommonHeaders {
  // With the version that the request's headers ask for, if it can be served.
  CommonHeaders(const Account& account, const Request& request, const RequestContext& context);

  // `others` stand instead of those of the same name; the response looks at their names.
  Response add(Response response, const std::vector<HeaderView>& others = {}) const;

  std::string request_id;
  std::string client_request_id;
  std::string version;
  Ticks now = 0;
  bool is_data = true;  // JSON, batches and writes of entities: not to be cached, nor guessed at
  std::string method;
  std::string origin;
  std::vector<CorsRule> cors;
};

}  // namespace entitable::rest
