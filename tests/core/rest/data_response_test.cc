#include "core/rest/data_response.h"

#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

std::string response_text(const Response& response) {
  std::string text = std::to_string(response.status) + " " + response.reason;
  for (const Header& header : response.headers)
    text += "|" + std::string(header.name) + ": " + header.value;
  return text + "|" + response.body;
}

const std::string json =
    "Content-Type: application/json;odata=nometadata;streaming=true;"
    "charset=utf-8";

TEST_CASE("a response with data is JSON with a metadata level") {
  CHECK(response_text(data_response(MetadataLevel::none, "{}")) == "200 OK|" + json + "|{}");
}

TEST_CASE("created data is returned unless the client prefers otherwise, and its location always") {
  const auto made = [](ReturnPreference preference, const char* etag) {
    return response_text(
        created_response({MetadataLevel::none, preference, "http://h/x", etag, "{}"}));
  };
  CHECK(made(ReturnPreference::unspecified, "") ==
        "201 Created|" + json + "|Location: http://h/x|{}");
  CHECK(made(ReturnPreference::content, "W/\"e\"") ==
        "201 Created|" + json +
            "|ETag: W/\"e\"|Location: http://h/x|Preference-Applied: return-content|{}");
  CHECK(made(ReturnPreference::no_content, "W/\"e\"") ==
        "204 No Content|DataServiceId: http://h/x|ETag: W/\"e\"|Location: http://h/x|"
        "Preference-Applied: return-no-content|");
}

}  // namespace
}  // namespace entitable::rest
