#include "core/rest/data_response.h"

#include <utility>

namespace entitable::rest {
namespace {

Header content_type(MetadataLevel level) {
  return {"Content-Type", std::string(json_content_type(level))};
}

}  // namespace

Response data_response(MetadataLevel level, std::string body) {
  return Response{200, "OK", {content_type(level)}, std::move(body)};
}

Response created_response(CreatedResource made) {
  Response response{201, "Created", {}, {}};
  if (made.preference == ReturnPreference::no_content) {
    response.status = 204;
    response.reason = "No Content";
    response.headers.push_back({"DataServiceId", made.url});
  } else {
    response.headers.push_back(content_type(made.level));
    response.body = std::move(made.body);
  }
  if (!made.etag.empty()) response.headers.push_back({"ETag", std::move(made.etag)});
  response.headers.push_back({"Location", std::move(made.url)});
  if (made.preference != ReturnPreference::unspecified) {
    response.headers.push_back(
        {"Preference-Applied", std::string(return_preference_text(made.preference))});
  }
  return response;
}

}  // namespace entitable::rest
