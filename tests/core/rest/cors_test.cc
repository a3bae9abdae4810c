#include "core/rest/cors.h"

#include "tests/support/catch.h"

using namespace entitable;
using namespace entitable::rest;

namespace {

const CorsRule one_origin = {
    {"GET", "PUT"}, {"https://a.example"}, {"x-ms-meta*", "Accept"}, {"x-ms-request-id"}, 200};
const CorsRule every_origin = {{"GET", "MERGE"}, {"*"}, {"*"}, {"*"}, 5};

Request preflight(std::vector<HeaderView> headers) {
  return {"OPTIONS", "http://h/acct/t", std::move(headers), {}, {}};
}
Request preflight(std::string_view origin, std::string_view method, std::string_view names = "") {
  std::vector<HeaderView> headers = {{"Origin", origin}, {"access-control-request-method", method}};
  if (!names.empty()) headers.push_back({"Access-Control-Request-Headers", names});
  return preflight(headers);
}

// The headers as "Name: value | Name: value".
std::string text_of(const Response& response) {
  std::string text;
  for (const Header& h : response.headers) {
    text += (text.empty() ? "" : " | ") + std::string(h.name) + ": " + h.value;
  }
  return text;
}

std::string answer(const std::vector<CorsRule>& rules, const Request& request) {
  const auto response = preflight_response(rules, request);
  if (!response.ok()) {
    return response.error().code == ErrorCode::cors_preflight_failure ? "no rule"
           : response.error().code == ErrorCode::invalid_header_value ? "bad header"
                                                                      : "other";
  }
  CHECK(response->status == 200);
  CHECK(response->body.empty());
  return text_of(*response);
}

std::string added(const std::vector<CorsRule>& rules, std::string_view method,
                  std::string_view origin, std::vector<Header> there = {}) {
  const std::size_t before = there.size();
  Response response{200, "OK", std::move(there), {}};
  Request request{method, "http://h/acct/t", {}, {}, {}};
  if (!origin.empty()) request.headers.push_back({"origin", origin});
  add_cors_headers(rules, request, response);
  response.headers.erase(response.headers.begin(),
                         response.headers.begin() + static_cast<std::ptrdiff_t>(before));
  return text_of(response);
}

}  // namespace

TEST_CASE("a preflight response comes from the first matching rule") {
  CHECK(answer({one_origin}, preflight("https://a.example", "PUT", "X-MS-META-a, accept")) ==
        "Access-Control-Allow-Origin: https://a.example | Access-Control-Allow-Credentials: true | "
        "Access-Control-Allow-Methods: PUT | "
        "Access-Control-Allow-Headers: X-MS-META-a, accept | Access-Control-Max-Age: 200");
  CHECK(answer({one_origin}, preflight("https://a.example", "GET")) ==
        "Access-Control-Allow-Origin: https://a.example | Access-Control-Allow-Credentials: true | "
        "Access-Control-Allow-Methods: GET | Access-Control-Max-Age: 200");
  CHECK(answer({every_origin, one_origin}, preflight("https://a.example", "GET", "b,c")) ==
        "Access-Control-Allow-Origin: * | Access-Control-Allow-Methods: GET | "
        "Access-Control-Allow-Headers: b,c | Access-Control-Max-Age: 5");
  CHECK(answer({one_origin, every_origin}, preflight("https://a.example", "MERGE")) ==
        "Access-Control-Allow-Origin: * | Access-Control-Allow-Methods: MERGE | "
        "Access-Control-Max-Age: 5");
}

TEST_CASE("origins are compared exactly") {
  for (const char* other : {"http://a.example", "https://a.example:8080", "https://b.example",
                            "https://a.example.evil", "https://A.example", "null", "*"}) {
    CAPTURE(other);
    CHECK(answer({one_origin}, preflight(other, "GET")) == "no rule");
  }
}

TEST_CASE("every requested header must be allowed") {
  const auto allowed = [](std::string_view names) {
    return answer({one_origin}, preflight("https://a.example", "GET", names)) != "no rule";
  };
  CHECK(allowed("ACCEPT"));
  CHECK(allowed("x-ms-meta, x-ms-metadata ,x-ms-meta-1"));
  CHECK(allowed(" , "));
  CHECK_FALSE(allowed("accept, authorization"));
  CHECK_FALSE(allowed("x-ms-met"));
  CHECK_FALSE(allowed("accept-language"));
  CorsRule none = one_origin;
  none.allowed_headers.clear();
  CHECK(answer({none}, preflight("https://a.example", "GET", "accept")) == "no rule");
  CHECK(answer({none}, preflight("https://a.example", "GET")) != "no rule");
}

TEST_CASE("methods are compared exactly, and without rules nothing matches") {
  CHECK(answer({one_origin}, preflight("https://a.example", "DELETE")) == "no rule");
  CHECK(answer({one_origin}, preflight("https://a.example", "get")) == "no rule");
  CHECK(answer({}, preflight("https://a.example", "GET")) == "no rule");
}

TEST_CASE("origin and method are mandatory") {
  CHECK(answer({every_origin}, preflight({})) == "bad header");
  CHECK(answer({}, preflight({})) == "bad header");
  CHECK(answer({every_origin}, preflight({{"Origin", "https://a.example"}})) == "bad header");
  CHECK(answer({every_origin}, preflight({{"Access-Control-Request-Method", "GET"}})) ==
        "bad header");
  CHECK(answer({every_origin}, preflight("", "GET")) == "bad header");
  CHECK(answer({every_origin}, preflight("https://a.example", " ")) == "bad header");
}

TEST_CASE("an actual request gets headers if a rule matches its origin and method") {
  CHECK(added({one_origin}, "GET", "https://a.example") ==
        "Vary: Origin | Access-Control-Allow-Origin: https://a.example | "
        "Access-Control-Allow-Credentials: true | "
        "Access-Control-Expose-Headers: x-ms-request-id");
  CHECK(added({every_origin}, "MERGE", "https://b.example") == "Access-Control-Allow-Origin: *");
}

TEST_CASE("an actual request without a matching rule is still executed") {
  CHECK(added({one_origin}, "DELETE", "https://a.example") == "Vary: Origin");
  CHECK(added({one_origin}, "GET", "https://b.example") == "Vary: Origin");
  CHECK(added({}, "GET", "https://a.example").empty());
  CHECK(added({one_origin, every_origin}, "GET", "").empty());
}

TEST_CASE("an exposed star is replaced by the response's headers that are not safelisted") {
  const std::vector<Header> there = {{"Content-Type", "application/json"}, {"ETag", "W/\"1\""},
                                     {"Cache-Control", "no-cache"},        {"x-ms-request-id", "1"},
                                     {"x-ms-version", "2019-02-02"},       {"Vary", "Accept"}};
  CHECK(added({every_origin}, "GET", "https://a.example", there) ==
        "Access-Control-Allow-Origin: * | "
        "Access-Control-Expose-Headers: ETag,x-ms-request-id,x-ms-version");
  CorsRule prefixed = every_origin;
  prefixed.exposed_headers = {"X-MS-*", "Location", "x-ms-version"};
  CHECK(added({prefixed}, "GET", "https://a.example", there) ==
        "Access-Control-Allow-Origin: * | "
        "Access-Control-Expose-Headers: x-ms-request-id,x-ms-version,Location");
  CorsRule nothing = every_origin;
  nothing.exposed_headers.clear();
  CHECK(added({nothing}, "GET", "https://a.example", there) == "Access-Control-Allow-Origin: *");
}

TEST_CASE("the permissive rules allow everything") {
  for (const char* method : {"DELETE", "GET", "HEAD", "MERGE", "POST", "OPTIONS", "PUT", "PATCH"}) {
    CAPTURE(method);
    CHECK(answer(permissive_cors_rules(), preflight("http://x", method, "authorization")) ==
          "Access-Control-Allow-Origin: * | Access-Control-Allow-Methods: " + std::string(method) +
              " | Access-Control-Allow-Headers: authorization | Access-Control-Max-Age: 3600");
    CHECK(added(permissive_cors_rules(), method, "http://x", {{"ETag", "1"}}) ==
          "Access-Control-Allow-Origin: * | Access-Control-Expose-Headers: ETag");
  }
}
