#include "core/rest/request_headers.h"

#include <optional>
#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

Request with(std::vector<HeaderView> headers, std::string_view method = "GET") {
  Request request;
  request.method = method;
  request.headers = std::move(headers);
  return request;
}

MetadataLevel level(std::string_view accept, const std::optional<std::string>& format = {}) {
  CAPTURE(std::string(accept));
  const auto found = negotiate_metadata(with({{"accept", accept}}), format);
  REQUIRE(found.ok());
  return *found;
}

ErrorCode error_code_of(std::string_view accept, const std::optional<std::string>& format = {}) {
  CAPTURE(std::string(accept));
  const auto found = negotiate_metadata(with({{"Accept", accept}}), format);
  REQUIRE_FALSE(found.ok());
  return found.error().code;
}

TEST_CASE("levels of metadata") {
  CHECK(level("application/json;odata=nometadata") == MetadataLevel::none);
  CHECK(level("application/json;odata=minimalmetadata") == MetadataLevel::minimal);
  CHECK(level("application/json;odata=fullmetadata") == MetadataLevel::full);
  CHECK(level("application/json") == MetadataLevel::minimal);
  CHECK(level("*/*") == MetadataLevel::minimal);
  CHECK(level("application/*") == MetadataLevel::minimal);
  CHECK(level("") == MetadataLevel::minimal);
  CHECK(*negotiate_metadata(Request(), std::nullopt) == MetadataLevel::minimal);
}

TEST_CASE("spaces, case, order and other parameters don't matter") {
  CHECK(level(" application/json ; odata = nometadata ") == MetadataLevel::none);
  CHECK(level("Application/JSON;Charset=utf-8;ODATA=\"FullMetadata\";streaming=true;q=0") ==
        MetadataLevel::full);
  CHECK(level("application/json;odata.metadata=none") == MetadataLevel::minimal);  // OData v4 only
}

TEST_CASE("the first supported entry of a list is used") {
  CHECK(level("text/html, application/json;odata=fullmetadata, application/json") ==
        MetadataLevel::full);
  CHECK(level(",application/atom+xml,,*/*;q=0.1") == MetadataLevel::minimal);
  const Request two =
      with({{"Accept", "text/html"}, {"accept", "application/json;odata=nometadata"}});
  CHECK(*negotiate_metadata(two, std::nullopt) == MetadataLevel::none);
}

TEST_CASE("formats that are not served") {
  CHECK(error_code_of("application/atom+xml") == ErrorCode::atom_format_not_supported);
  CHECK(error_code_of("application/xml, application/atom+xml") ==
        ErrorCode::atom_format_not_supported);
  CHECK(error_code_of("application/json;odata=verbose") == ErrorCode::json_verbose_not_supported);
  CHECK(error_code_of("application/json;odata=light") == ErrorCode::media_type_not_supported);
  CHECK(error_code_of("application/xml") == ErrorCode::media_type_not_supported);
  CHECK(error_code_of("text/html") == ErrorCode::media_type_not_supported);
  CHECK(error_code_of("json") == ErrorCode::media_type_not_supported);
  CHECK(error_code_of(",") == ErrorCode::media_type_not_supported);
}

TEST_CASE("$format takes precedence over Accept") {
  CHECK(level("text/html", "application/json;odata=fullmetadata") == MetadataLevel::full);
  CHECK(level("application/json;odata=nometadata", " ") == MetadataLevel::none);
  CHECK(error_code_of("application/json", "application/atom+xml") ==
        ErrorCode::atom_format_not_supported);
}

TEST_CASE("which requests get JSON") {
  CHECK(accepts_json(with({{"Accept", "text/html, Application/json;odata=verbose"}}), {}));
  CHECK(accepts_json(with({}), "application/json"));
  CHECK_FALSE(accepts_json(with({{"Accept", "application/json"}}), "x/y"));
  CHECK_FALSE(accepts_json(with({{"Accept", "*/*"}}), {}));
  CHECK_FALSE(accepts_json(with({}), {}));
}

TEST_CASE("content types of responses") {
  CHECK(json_content_type(MetadataLevel::none) ==
        "application/json;odata=nometadata;streaming=true;charset=utf-8");
  CHECK(json_content_type(MetadataLevel::minimal) ==
        "application/json;odata=minimalmetadata;streaming=true;charset=utf-8");
  CHECK(json_content_type(MetadataLevel::full) ==
        "application/json;odata=fullmetadata;streaming=true;charset=utf-8");
}

TEST_CASE("preferences") {
  CHECK(return_preference_of(with({})) == ReturnPreference::unspecified);
  CHECK(return_preference_of(with({{"Prefer", "return-content"}})) == ReturnPreference::content);
  CHECK(return_preference_of(with({{"prefer", "x, Return-No-Content"}})) ==
        ReturnPreference::no_content);
  CHECK(return_preference_of(with({{"Prefer", "return=minimal"}})) ==
        ReturnPreference::unspecified);
  CHECK(return_preference_text(ReturnPreference::unspecified).empty());
  CHECK(return_preference_text(ReturnPreference::content) == "return-content");
  CHECK(return_preference_text(ReturnPreference::no_content) == "return-no-content");
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
        Error(ErrorCode::atom_format_not_supported));
  CHECK(check_content_type(with({{"Content-Type", "text/plain;charset=UTF-8"}})).error() ==
        Error(ErrorCode::media_type_not_supported));
}

TEST_CASE("methods tunnelled through POST") {
  CHECK(*effective_method(with({}, "GET")) == "GET");
  for (const char* method : {"PUT", "MERGE", "PATCH", "DELETE"}) {
    CHECK(*effective_method(with({{"X-HTTP-METHOD", method}}, "POST")) == method);
  }
  const auto code = [](const Request& request) { return effective_method(request).error().code; };
  CHECK(code(with({{"X-HTTP-Method", "PUT"}, {"x-http-method", "PUT"}}, "GET")) ==
        ErrorCode::x_method_incorrect_count);
  // fetch() joins two headers of the same name with a comma.
  CHECK(code(with({{"X-HTTP-Method", "MERGE, PATCH"}}, "POST")) ==
        ErrorCode::x_method_incorrect_count);
  for (const char* method : {"GET", "POST", "merge", ""}) {
    CHECK(code(with({{"X-HTTP-Method", method}}, "PUT")) == ErrorCode::x_method_incorrect_value);
  }
  CHECK(code(with({{"X-HTTP-Method", "MERGE"}}, "PUT")) == ErrorCode::x_method_not_using_post);
  CHECK(code(with({{"X-HTTP-Method", "MERGE"}}, "MERGE")) == ErrorCode::x_method_not_using_post);
}

TEST_CASE("conditions") {
  CHECK_FALSE(if_match_of(with({}))->has_condition());
  CHECK_FALSE(if_match_of(with({{"If-Match", " "}}))->has_condition());
  CHECK(if_match_of(with({{"if-match", "*"}}))->has_condition());
  CHECK(if_match_of(with({{"If-Match", "W/\"x\""}}))->has_condition());
  CHECK(if_match_of(with({{"If-None-Match", "*"}})).error() == Error(ErrorCode::invalid_input));
  CHECK(if_match_of(with({{"If-Match", "*"}, {"If-None-Match", ""}})).error() ==
        Error(ErrorCode::invalid_input));
  CHECK(if_match_of(with({{"If-Match", "*"}, {"If-Match", "*"}})).error().message ==
        "The etag value '*, *' specified in one of the request headers is not valid. Please make "
        "sure only one etag value is specified and is valid.");
  CHECK(if_match_of(with({{"If-Match", "\xED"}})).error() == Error(ErrorCode::invalid_input));
}

TEST_CASE("versions") {
  Account account;
  const auto version = [&](std::vector<HeaderView> headers,
                           const std::optional<std::string>& sv = {}) {
    return requested_version(with(std::move(headers)), sv, account, oldest_version);
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
    CHECK(refused_version.error() == Error(ErrorCode::invalid_header_value));
  }
  account.strict_versions = true;
  CHECK(version({{"x-ms-version", "2020-12-06"}}).ok());
  CHECK(version({{"x-ms-version", "2019-02-03"}}).error() ==
        Error(ErrorCode::invalid_header_value));
}

TEST_CASE("versions of XML resources") {
  Account account;
  const auto version = [&](std::string_view text) {
    return requested_version(with({{"x-ms-version", text}}), {}, account, oldest_xml_version);
  };
  CHECK(*version("2012-02-12") == "2012-02-12");
  CHECK(*version("2013-08-14") == "2013-08-14");
  CHECK(*version("2020-12-06") == "2020-12-06");
  CHECK(version("2012-02-11").error() == Error(ErrorCode::invalid_header_value));
  CHECK(*requested_version(with({}), "2012-02-12", account, oldest_xml_version) == "2012-02-12");
  account.strict_versions = true;
  CHECK(*version("2012-02-12") == "2012-02-12");
  CHECK(version("2013-08-14").error() == Error(ErrorCode::invalid_header_value));
}

TEST_CASE("client request ids") {
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
}  // namespace entitable::rest
