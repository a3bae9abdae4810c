#include "core/rest/common_response_headers.h"

#include <utility>

#include "core/rest/cors.h"
#include "core/rest/error_response.h"
#include "core/rest/http_date.h"
#include "core/rest/request_headers.h"

namespace entitable::rest {
namespace {

void replace(Response& response, const HeaderView& header) {
  std::erase_if(response.headers,
                [&](const Header& other) { return equal_ignoring_case(other.name, header.name); });
  response.headers.push_back({header.name, std::string(header.value)});
}

}  // namespace

CommonResponseHeaders::CommonResponseHeaders(const Account& account, const Request& request,
                                             const RequestContext& context)
    : request_id(request_id_text(context.id)),
      client_request_id(rest::client_request_id(request).value_or("")),
      now(context.now) {
  Result<std::string> asked = requested_version(request, {}, account, oldest_version);
  version = asked.ok() ? std::move(*asked) : std::string(newest_version);
}

Response CommonResponseHeaders::add_to(Response response,
                                       const std::vector<HeaderView>& others) const {
  response.headers.reserve(response.headers.size() + 8);
  const auto put = [&](const char* name, std::string value) {
    response.headers.push_back({name, std::move(value)});
  };
  if (is_data) {
    put("Cache-Control", "no-cache");
    put("X-Content-Type-Options", "nosniff");
  }
  put("x-ms-request-id", request_id);
  if (!client_request_id.empty()) put("x-ms-client-request-id", client_request_id);
  put("x-ms-version", version);
  put("Date", http_date_text(now));
  put("Server", "entitable");
  for (const HeaderView& other : others) replace(response, other);
  if (!origin.empty()) {
    const Request asked{method, {}, {{"Origin", origin}}, {}, {}};
    add_cors_headers(cors, asked, response);
  }
  return response;
}

}  // namespace entitable::rest
