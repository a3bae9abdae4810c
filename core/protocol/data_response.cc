#include "core/protocol/data_response.h"

#include <utility>

namespace entitable::protocol {
namespace {

Header content_type(Metadata level) {
  return {"Content-Type", std::string(content_type_of(level))};
}

}  // namespace

Response data_response(Metadata level, std::string body) {
  return Response{200, "OK", {content_type(level)}, std::move(body)};
}

Response made_response(Made made) {
  Response response{201, "Created", {}, {}};
  if (made.preference == Preference::no_content) {
    response.status = 204;
    response.reason = "No Content";
    response.headers.push_back({"DataServiceId", made.url});
  } else {
    response.headers.push_back(content_type(made.level));
    response.body = std::move(made.body);
  }
  if (!made.etag.empty()) response.headers.push_back({"ETag", std::move(made.etag)});
  response.headers.push_back({"Location", std::move(made.url)});
  if (made.preference != Preference::unsaid) {
    response.headers.push_back(
        {"Preference-Applied", std::string(preference_text(made.preference))});
  }
  return response;
}

}  // namespace entitable::protocol
