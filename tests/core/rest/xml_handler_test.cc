#include "core/rest/xml_handler.h"

#include "core/model/limits.h"
#include "core/model/service_error.h"
#include "core/rest/access_policies.h"
#include "tests/support/store_helpers.h"

using namespace entitable;
using namespace entitable::rest;
using namespace entitable::test;

namespace {

constexpr const char* no_policies =
    R"(<?xml version="1.0" encoding="utf-8"?><SignedIdentifiers />)";

// A response whose body is only the error code, instead of XML.
Response make_error_response(const Error& error) {
  return {
      service_error_of(error.code).status, "", {}, std::string(service_error_of(error.code).code)};
}

Request request_of(std::string_view method, std::string_view body = "") {
  return {method, "http://h/acct/", {}, body, {}};
}

// The response as "200 body". served() first stages and publishes a write.
std::string text_of(const Response& response) {
  return std::to_string(response.status) + (response.body.empty() ? "" : " " + response.body);
}
std::string served(Store& store, const HandleResult& handled) {
  if (const auto* response = std::get_if<Response>(&handled)) return text_of(*response);
  const auto* write = std::get_if<UnstagedWrite>(&handled);
  REQUIRE(write != nullptr);
  const StageResult staged = store.stage({write->request}, noon);
  if (staged.changes) store.publish();
  return text_of(write->make_response(staged.results.at(0)));
}

std::string acl(Store& store, std::string_view method, std::string_view body = "",
                std::string_view table = "people") {
  return served(store, handle_acl(store, request_of(method, body), table, make_error_response));
}
std::string properties(Store& store, std::string_view method, std::string_view body = "") {
  return served(store, handle_properties(store, request_of(method, body), make_error_response));
}

Store with_people() {
  Store store = new_store();
  publish(store, {create("people")});
  return store;
}

constexpr const char* hour_metrics_on =
    "<StorageServiceProperties><HourMetrics><Version>1.0</Version><Enabled>true</Enabled>"
    "<IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>"
    "</HourMetrics></StorageServiceProperties>";
constexpr const char* one_rule =
    "<StorageServiceProperties><Cors><CorsRule><AllowedMethods>GET</AllowedMethods>"
    "<AllowedOrigins>http://a</AllowedOrigins><AllowedHeaders/><ExposedHeaders/>"
    "<MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>";

}  // namespace

TEST_CASE("access policies are set, got and cleared") {
  Store store = with_people();
  const std::string document = access_policies_document({{"a", noon, {}, "r"}, {"b", {}, {}, {}}});
  CHECK(acl(store, "GET") == "200 " + std::string(no_policies));
  CHECK(acl(store, "PUT", document) == "204");
  CHECK(acl(store, "GET") == "200 " + document);
  CHECK(acl(store, "GET", "", "PEOPLE") == "200 " + document);
  CHECK(acl(store, "HEAD") == "200");
  CHECK(acl(store, "PUT", "<SignedIdentifiers/>") == "204");
  CHECK(acl(store, "GET") == "200 " + std::string(no_policies));
  CHECK(acl(store, "PUT", document) == "204");
  CHECK(acl(store, "PUT") == "204");
  CHECK(acl(store, "GET") == "200 " + std::string(no_policies));
}

TEST_CASE("access policies are XML") {
  Store store = with_people();
  const HandleResult handled = handle_acl(store, request_of("GET"), "people", make_error_response);
  CHECK(std::get<Response>(handled).headers ==
        std::vector<Header>{{"Content-Type", "application/xml"}});
  CHECK(std::get<Response>(handled).reason == "OK");
}

TEST_CASE("access policies are rejected with the service's errors, and then nothing changes") {
  Store store = with_people();
  CHECK(acl(store, "GET", "", "nobody") == "404 TableNotFound");
  CHECK(acl(store, "HEAD", "", "nobody") == "404 TableNotFound");
  CHECK(acl(store, "PUT", "", "nobody") == "404 TableNotFound");
  CHECK(acl(store, "PUT", "x") == "400 InvalidXmlDocument");
  CHECK(acl(store, "PUT", access_policies_document({{"a", {}, {}, "ar"}})) ==
        "400 InvalidXmlNodeValue");
  std::vector<AccessPolicy> six;
  for (const char* id : {"a", "b", "c", "d", "e", "f"}) six.push_back({id, {}, {}, {}});
  CHECK(acl(store, "PUT", access_policies_document(six)) == "400 InvalidXmlDocument");
  CHECK(acl(store, "POST") == "405 MethodNotAllowed");
  CHECK(acl(store, "DELETE") == "405 MethodNotAllowed");
  CHECK(acl(store, "GET") == "200 " + std::string(no_policies));
}

TEST_CASE("bodies have a limit") {
  Store store = with_people();
  std::string body = "<SignedIdentifiers/>";
  body.resize(limits::request_bytes_max, ' ');
  CHECK(acl(store, "PUT", body) == "204");
  body += ' ';
  CHECK(acl(store, "PUT", body) == "413 RequestBodyTooLarge");
  CHECK(properties(store, "PUT", body) == "413 RequestBodyTooLarge");
}

TEST_CASE("a new account has default properties") {
  Store store = new_store();
  CHECK(properties(store, "GET") == "200 " + service_properties_document({}));
}

TEST_CASE("a section of the properties that is absent keeps what it was") {
  Store store = new_store();
  CHECK(properties(store, "PUT", hour_metrics_on) == "202");
  CHECK(properties(store, "PUT", one_rule) == "202");
  ServiceProperties expected;
  expected.hour_metrics.include_apis = true;
  expected.cors = {{{"GET"}, {"http://a"}, {}, {}, 1}};
  CHECK(properties(store, "GET") == "200 " + service_properties_document(expected));
  CHECK(properties(store, "PUT", "<StorageServiceProperties><Cors/></StorageServiceProperties>") ==
        "202");
  expected.cors.clear();
  CHECK(properties(store, "GET") == "200 " + service_properties_document(expected));
}

TEST_CASE("changes of one group build on each other") {
  Store store = new_store();
  const auto write = [&](std::string_view body) {
    return std::get<UnstagedWrite>(
               handle_properties(store, request_of("PUT", body), make_error_response))
        .request;
  };
  publish(store, {write(hour_metrics_on), write(one_rule)});
  const ServiceProperties now = parse_stored_service_properties(store.service_properties());
  CHECK(now.hour_metrics.include_apis == true);
  CHECK(now.cors.size() == 1);
}

TEST_CASE("bad properties are rejected, and then nothing changes") {
  Store store = new_store();
  CHECK(properties(store, "PUT") == "400 InvalidXmlDocument");
  CHECK(properties(store, "PUT", "<a/>") == "400 InvalidXmlDocument");
  CHECK(
      properties(store, "PUT", "<StorageServiceProperties><Logging/></StorageServiceProperties>") ==
      "400 MissingRequiredXmlNode");
  CHECK(properties(store, "PUT", "<StorageServiceProperties><X/></StorageServiceProperties>") ==
        "400 UnsupportedXmlNode");
  CHECK(properties(store, "DELETE") == "405 MethodNotAllowed");
  CHECK(properties(store, "HEAD") == "405 MethodNotAllowed");
  CHECK(store.service_properties().empty());
}

TEST_CASE("an error of the store on a write is returned") {
  Store store = with_people();
  const HandleResult handled = handle_acl(store, request_of("PUT"), "people", make_error_response);
  const Response response = std::get<UnstagedWrite>(handled).make_response(
      GroupFailure{Error(ErrorCode::read_only), 0, false});
  CHECK(text_of(response) == "403 ReadOnly");
}

TEST_CASE("statistics are those of the secondary") {
  const Ticks now = *parse_date_time("2020-07-24T14:34:48Z", {});
  Store store = new_store();
  const auto stats = [&](std::string_view method, bool secondary) {
    return served(store, handle_stats(request_of(method), secondary, now, make_error_response));
  };
  CHECK(stats("GET", true) == "200 " + service_stats_document(now));
  CHECK(stats("GET", false) == "400 InvalidQueryParameterValue");
  CHECK(stats("PUT", true) == "405 MethodNotAllowed");
}

TEST_CASE("preflight requests follow the properties, or the permissive rules if there are none") {
  Store store = new_store();
  Account account;
  Request request = request_of("OPTIONS");
  request.headers = {{"Origin", "http://a"}, {"Access-Control-Request-Method", "GET"}};
  const auto preflight = [&] {
    return served(store, handle_preflight(account, store, request, make_error_response));
  };
  CHECK(preflight() == "403 CorsPreflightFailure");
  account.permissive_cors = true;
  CHECK(preflight() == "200");
  CHECK(effective_cors_rules(account, store).size() == 1);
  CHECK(properties(store, "PUT", one_rule) == "202");
  CHECK(preflight() == "200");
  request.headers[0].value = "http://b";
  CHECK(preflight() == "403 CorsPreflightFailure");
  request.headers.clear();
  CHECK(preflight() == "400 InvalidHeaderValue");
  account.permissive_cors = false;
  CHECK(effective_cors_rules(account, store).at(0).origins == std::vector<std::string>{"http://a"});
}
