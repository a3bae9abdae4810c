#include "core/protocol/headers.h"

#include <optional>
#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace entitable::protocol {
namespace {

Request with(std::vector<HeaderView> headers, std::string_view method = "GET") {
  Request request;
  request.method = method;
  request.headers = std::move(headers);
  return request;
}

Metadata level(std::string_view accept, const std::optional<std::string>& format = {}) {
  CAPTURE(std::string(accept));
  const auto found = negotiate(with({{"accept", accept}}), format);
  REQUIRE(found.ok());
  return *found;
}

Code refused(std::string_view accept, const std::optional<std::string>& format = {}) {
  CAPTURE(std::string(accept));
  const auto found = negotiate(with({{"Accept", accept}}), format);
  REQUIRE_FALSE(found.ok());
  return found.error().code;
}

TEST_CASE("levels of metadata") {
  CHECK(level("application/json;odata=nometadata") == Metadata::none);
  CHECK(level("application/json;odata=minimalmetadata") == Metadata::minimal);
  CHECK(level("application/json;odata=fullmetadata") == Metadata::full);
  CHECK(level("application/json") == Metadata::minimal);
  CHECK(level("*/*") == Metadata::minimal);
  CHECK(level("application/*") == Metadata::minimal);
  CHECK(level("") == Metadata::minimal);
  CHECK(*negotiate(Request(), std::nullopt) == Metadata::minimal);
}

TEST_CASE("spaces, case, order and other parameters don't matter") {
  CHECK(level(" application/json ; odata = nometadata ") == Metadata::none);
  CHECK(level("Application/JSON;Charset=utf-8;ODATA=\"FullMetadata\";streaming=true;q=0") ==
        Metadata::full);
  CHECK(level("application/json;odata.metadata=none") == Metadata::minimal);  // of OData v4
}

TEST_CASE("the first usable entry of a list") {
  CHECK(level("text/html, application/json;odata=fullmetadata, application/json") ==
        Metadata::full);
  CHECK(level(",application/atom+xml,,*/*;q=0.1") == Metadata::minimal);
  const Request two =
      with({{"Accept", "text/html"}, {"accept", "application/json;odata=nometadata"}});
  CHECK(*negotiate(two, std::nullopt) == Metadata::none);
}

TEST_CASE("formats that are not served") {
  CHECK(refused("application/atom+xml") == Code::atom_format_not_supported);
  CHECK(refused("application/xml, application/atom+xml") == Code::atom_format_not_supported);
  CHECK(refused("application/json;odata=verbose") == Code::json_verbose_not_supported);
  CHECK(refused("application/json;odata=light") == Code::media_type_not_supported);
  CHECK(refused("application/xml") == Code::media_type_not_supported);
  CHECK(refused("text/html") == Code::media_type_not_supported);
  CHECK(refused("json") == Code::media_type_not_supported);
  CHECK(refused(",") == Code::media_type_not_supported);
}

TEST_CASE("$format counts before Accept") {
  CHECK(level("text/html", "application/json;odata=fullmetadata") == Metadata::full);
  CHECK(level("application/json;odata=nometadata", " ") == Metadata::none);
  CHECK(refused("application/json", "application/atom+xml") == Code::atom_format_not_supported);
}

TEST_CASE("who asks for JSON") {
  CHECK(asks_for_json(with({{"Accept", "text/html, Application/json;odata=verbose"}}), {}));
  CHECK(asks_for_json(with({}), "application/json"));
  CHECK_FALSE(asks_for_json(with({{"Accept", "application/json"}}), "x/y"));
  CHECK_FALSE(asks_for_json(with({{"Accept", "*/*"}}), {}));
  CHECK_FALSE(asks_for_json(with({}), {}));
}

TEST_CASE("content types of answers") {
  CHECK(content_type_of(Metadata::none) ==
        "application/json;odata=nometadata;streaming=true;charset=utf-8");
  CHECK(content_type_of(Metadata::minimal) ==
        "application/json;odata=minimalmetadata;streaming=true;charset=utf-8");
  CHECK(content_type_of(Metadata::full) ==
        "application/json;odata=fullmetadata;streaming=true;charset=utf-8");
}

TEST_CASE("preferences") {
  CHECK(preference_of(with({})) == Preference::unsaid);
  CHECK(preference_of(with({{"Prefer", "return-content"}})) == Preference::content);
  CHECK(preference_of(with({{"prefer", "x, Return-No-Content"}})) == Preference::no_content);
  CHECK(preference_of(with({{"Prefer", "return=minimal"}})) == Preference::unsaid);
  CHECK(preference_text(Preference::unsaid).empty());
  CHECK(preference_text(Preference::content) == "return-content");
  CHECK(preference_text(Preference::no_content) == "return-no-content");
}

TEST_CASE("content types of requests") {
  for (const char* type :
       {"", "application/json", "Application/JSON; charset=utf-8",
        "application/json;type=entry;charset=\"utf-8\"", "application/json;odata=nometadata"}) {
    CAPTURE(type);
    CHECK(check_content_type(with({{"content-type", type}})).ok());
  }
  CHECK(check_content_type(with({})).ok());
  CHECK(check_content_type(with({{"Content-Type", "application/atom+xml;type=entry"}})).error() ==
        Error(Code::atom_format_not_supported));
  CHECK(check_content_type(with({{"Content-Type", "text/plain;charset=UTF-8"}})).error() ==
        Error(Code::media_type_not_supported));
}

TEST_CASE("verbs in place of POST") {
  CHECK(*method_of(with({}, "GET")) == "GET");
  for (const char* method : {"PUT", "MERGE", "PATCH", "DELETE"}) {
    CHECK(*method_of(with({{"X-HTTP-METHOD", method}}, "POST")) == method);
  }
  const auto code = [](const Request& request) { return method_of(request).error().code; };
  CHECK(code(with({{"X-HTTP-Method", "PUT"}, {"x-http-method", "PUT"}}, "GET")) ==
        Code::x_method_incorrect_count);
  // What fetch makes of a header that is given twice.
  CHECK(code(with({{"X-HTTP-Method", "MERGE, PATCH"}}, "POST")) == Code::x_method_incorrect_count);
  for (const char* method : {"GET", "POST", "merge", ""}) {
    CHECK(code(with({{"X-HTTP-Method", method}}, "PUT")) == Code::x_method_incorrect_value);
  }
  CHECK(code(with({{"X-HTTP-Method", "MERGE"}}, "PUT")) == Code::x_method_not_using_post);
  CHECK(code(with({{"X-HTTP-Method", "MERGE"}}, "MERGE")) == Code::x_method_not_using_post);
}

TEST_CASE("conditions") {
  CHECK_FALSE(condition_of(with({}))->given());
  CHECK_FALSE(condition_of(with({{"If-Match", " "}}))->given());
  CHECK(condition_of(with({{"if-match", "*"}}))->given());
  CHECK(condition_of(with({{"If-Match", "W/\"x\""}}))->given());
  CHECK(condition_of(with({{"If-None-Match", "*"}})).error() == Error(Code::invalid_input));
  CHECK(condition_of(with({{"If-Match", "*"}, {"If-None-Match", ""}})).error() ==
        Error(Code::invalid_input));
  CHECK(condition_of(with({{"If-Match", "*"}, {"If-Match", "*"}})).error().message ==
        "The etag value '*, *' specified in one of the request headers is not valid. Please make "
        "sure only one etag value is specified and is valid.");
  CHECK(condition_of(with({{"If-Match", "\xED"}})).error() == Error(Code::invalid_input));
}

TEST_CASE("versions") {
  Account account;
  const auto version = [&](std::vector<HeaderView> headers,
                           const std::optional<std::string>& sv = {}) {
    return version_of(with(std::move(headers)), sv, account);
  };
  CHECK(*version({}) == newest_version);
  CHECK(*version({{"X-MS-Version", " 2019-02-02 "}}) == "2019-02-02");
  CHECK(*version({{"x-ms-version", "2013-08-15"}}) == "2013-08-15");
  CHECK(*version({{"x-ms-version", "2099-01-01"}}) == "2099-01-01");
  CHECK(*version({}, "2018-03-28") == "2018-03-28");
  CHECK(*version({{"x-ms-version", "2019-02-02"}}, "2018-03-28") == "2019-02-02");
  CHECK(*version({}, "nonsense") == newest_version);
  for (const char* bad : {"2013-08-14", "2012-02-12", "", "latest", "2019-2-2", "2019-02-02T",
                          "2019-00-02", "2019-13-02", "2019-02-00", "2019-02-32", "2019/02/02"}) {
    CAPTURE(bad);
    const auto refused_version = version({{"x-ms-version", bad}});
    REQUIRE_FALSE(refused_version.ok());
    CHECK(refused_version.error() == Error(Code::invalid_header_value));
  }
  account.strict_versions = true;
  CHECK(version({{"x-ms-version", "2020-12-06"}}).ok());
  CHECK(version({{"x-ms-version", "2019-02-03"}}).error() == Error(Code::invalid_header_value));
}

TEST_CASE("ids of clients") {
  const std::string longest(1024, 'x');
  const std::string too_long(1025, 'x');
  CHECK(client_request_id(with({{"X-MS-Client-Request-Id", " a~! "}})) == "a~!");
  CHECK(client_request_id(with({{"x-ms-client-request-id", longest}})) == longest);
  for (const std::string& id : {too_long, std::string(), std::string("a b"), std::string("\x7F"),
                                std::string("\xC3\xBC"), std::string("a\r\nb")}) {
    CHECK_FALSE(client_request_id(with({{"x-ms-client-request-id", id}})).has_value());
  }
  CHECK_FALSE(client_request_id(with({})).has_value());
}

}  // namespace
}  // namespace entitable::protocol
