#include "core/rest/error_response.h"

#include <string>

#include "tests/core/rest/conversation.h"
#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

ErrorResponseContext error_format_of(bool xml = false) {
  ErrorResponseContext form;
  form.xml = xml;
  form.request_id = request_id_text("0123456789abcdef");
  form.now = *parse_date_time("2020-07-24T14:34:48.4767Z", "");
  return form;
}

TEST_CASE("the text of a request id") {
  CHECK(request_id_text("0123456789abcdef") == "30313233-3435-3637-3839-616263646566");
  CHECK(request_id_text("0") == "30000000-0000-0000-0000-000000000000");
  CHECK(request_id_text("0123456789abcdefgh") == "30313233-3435-3637-3839-616263646566");
}

TEST_CASE("errors in JSON") {
  const Response response = error_response(Error(ErrorCode::resource_not_found), error_format_of());
  CHECK(response.status == 404);
  CHECK(response.reason == "Not Found");
  CHECK(
      response.headers ==
      std::vector<Header>{{"Content-Type", std::string(json_content_type(MetadataLevel::minimal))},
                          {"x-ms-error-code", "ResourceNotFound"}});
  CHECK(response.body ==
        R"({"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":)"
        R"("The specified resource does not exist.\nRequestId:30313233-3435-3637-3839-616263646566)"
        R"(\nTime:2020-07-24T14:34:48.4767000Z"}}})");
}

TEST_CASE("errors in JSON with every option of a request") {
  ErrorResponseContext form = error_format_of();
  form.level = MetadataLevel::none;
  form.preference = ReturnPreference::no_content;
  form.in_batch = true;
  form.now = *parse_date_time("2020-07-24T14:34:48Z", "");
  const Response response =
      error_response(Error(ErrorCode::invalid_input, "1:say \"what\"\n\xED\xA0\x80"), form);
  CHECK(response.headers ==
        std::vector<Header>{{"Content-Type", std::string(json_content_type(MetadataLevel::none))},
                            {"Preference-Applied", "return-no-content"}});
  CHECK(response.body.find(R"("value":"1:say \"what\"\n\ud800\nRequestId:)") != std::string::npos);
  CHECK(response.body.find("Time:2020-07-24T14:34:48.0000000Z") != std::string::npos);
}

TEST_CASE("errors in XML") {
  const Response response =
      error_response(Error(ErrorCode::invalid_input, "a < b & \xC3\xBC\n"), error_format_of(true));
  CHECK(response.status == 400);
  CHECK(response.reason == "a < b & ???");
  CHECK(response.headers == std::vector<Header>{{"Content-Type", "application/xml"},
                                                {"x-ms-error-code", "InvalidInput"}});
  CHECK(response.body ==
        R"(<?xml version="1.0" encoding="utf-8"?><m:error )"
        R"(xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">)"
        "<m:code>InvalidInput</m:code><m:message xml:lang=\"en-US\">a &lt; b &amp; \xC3\xBC\n\n"
        "RequestId:30313233-3435-3637-3839-616263646566\nTime:2020-07-24T14:34:48.4767000Z"
        "</m:message></m:error>");
}

TEST_CASE("every code has a status with a phrase") {
  for (int code = 0; code <= static_cast<int>(ErrorCode::read_only); ++code) {
    CAPTURE(code);
    const Response response =
        error_response(Error(static_cast<ErrorCode>(code)), error_format_of());
    CHECK(response.status >= 400);
    CHECK_FALSE(response.reason.empty());
  }
  CHECK(reason_phrase(299).empty());
}

}  // namespace
}  // namespace entitable::rest
