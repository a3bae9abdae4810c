#include "core/protocol/data_response.h"

#include "tests/support/catch.h"

namespace entitable::protocol {
namespace {

std::string told(const Response& response) {
  std::string text = std::to_string(response.status) + " " + response.reason;
  for (const Header& header : response.headers)
    text += "|" + std::string(header.name) + ": " + header.value;
  return text + "|" + response.body;
}

const std::string json =
    "Content-Type: application/json;odata=nometadata;streaming=true;"
    "charset=utf-8";

TEST_CASE("what was asked for is JSON of a level") {
  CHECK(told(data_response(Metadata::none, "{}")) == "200 OK|" + json + "|{}");
}

TEST_CASE("what was made is told unless the client prefers otherwise, and where it is always") {
  const auto made = [](Preference preference, const char* etag) {
    return told(made_response({Metadata::none, preference, "http://h/x", etag, "{}"}));
  };
  CHECK(made(Preference::unsaid, "") == "201 Created|" + json + "|Location: http://h/x|{}");
  CHECK(made(Preference::content, "W/\"e\"") ==
        "201 Created|" + json +
            "|ETag: W/\"e\"|Location: http://h/x|Preference-Applied: return-content|{}");
  CHECK(made(Preference::no_content, "W/\"e\"") ==
        "204 No Content|DataServiceId: http://h/x|ETag: W/\"e\"|Location: http://h/x|"
        "Preference-Applied: return-no-content|");
}

}  // namespace
}  // namespace entitable::protocol
