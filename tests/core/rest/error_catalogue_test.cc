// Every error code, with a request that causes it: status, code and message must be the service's.
// COMPATIBILITY.md lists the codes of the service that are never returned.
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/model/limits.h"
#include "core/model/service_error.h"
#include "core/rest/request_handler.h"
#include "tests/core/rest/conversation.h"
#include "tests/core/rest/signed_urls.h"
#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

// ---- What is asked ------------------------------------------------------------------------------

const std::string address = "http://127.0.0.1:10002/acct";

struct RequestSpec {
  std::string method;
  std::string target;  // a path under the account's URL, or an absolute URL
  std::vector<HeaderView> headers = {};
  std::string body = {};
  bool trusted = true;  // Request::trusted: no authorization
  std::string client_ip = {};
};

struct ErrorCase {
  ErrorCode code;
  int status;
  std::string_view name;
  std::string_view message;
  RequestSpec ask;
};

const std::string entity = "/people(PartitionKey='p',RowKey='r')";

RequestSpec get(std::string target) {
  return {"GET", std::move(target)};
}
RequestSpec get_with(HeaderView header) {
  return {"GET", "/people", {header}};
}
RequestSpec insert(std::string properties) {
  return {"POST", "/people", {}, R"({"PartitionKey":"p","RowKey":"new",)" + properties + "}"};
}
RequestSpec insert_body(std::string body) {
  return {"POST", "/people", {}, std::move(body)};
}
RequestSpec create(std::string_view table) {
  return {"POST", "/Tables", {}, R"({"TableName":")" + std::string(table) + R"("})"};
}
RequestSpec put_document(std::string document) {
  return {"PUT", "/?restype=service&comp=properties", {}, std::move(document)};
}
RequestSpec put_properties(const std::string& sections) {
  return put_document("<StorageServiceProperties>" + sections + "</StorageServiceProperties>");
}

// A change set of inserts.
RequestSpec batch(const std::vector<std::pair<std::string, std::string>>& keys) {
  std::string body = "--b\nContent-Type: multipart/mixed; boundary=c\n\n";
  for (const auto& [partition, row] : keys) {
    body += "--c\nContent-Type: application/http\n\nPOST " + address +
            "/people HTTP/1.1\n\n{\"PartitionKey\":\"" + partition + "\",\"RowKey\":\"" + row +
            "\"}\n";
  }
  return {"POST",
          "/$batch",
          {{"Content-Type", "multipart/mixed; boundary=b"}},
          body + "--c--\n--b--\n"};
}

RequestSpec batch_of(std::size_t operations) {
  std::vector<std::pair<std::string, std::string>> keys;
  for (std::size_t i = 0; i < operations; ++i) keys.emplace_back("p", std::to_string(i));
  return batch(keys);
}

RequestSpec signed_by(const SasFields& fields, std::string_view target,
                      std::string client_ip = {}) {
  const std::string query = test::query_of(test::with_signature(fields));
  return {"GET", std::string(target) + "?" + query, {}, {}, false, std::move(client_ip)};
}

std::string strings(std::size_t count, std::size_t units) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += (i > 0 ? ",\"s" : "\"s") + std::to_string(i) + "\":\"" + std::string(units, 'x') + '"';
  }
  return text;
}

// ---- What it is answered ------------------------------------------------------------------------

constexpr std::string_view too_large =
    "The property value exceeds the maximum allowed size (64KB). If the property value is a "
    "string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.";

std::vector<ErrorCase> invalid_inputs() {
  const ErrorCode code = ErrorCode::invalid_input;
  const std::string_view name = "InvalidInput";
  return {
      {code, 400, name, "One of the request inputs is not valid.", get("/people?$top=1001")},
      {code, 400, name, "An error occurred while processing this request.",
       insert(R"("n":"abc","n@odata.type":"Edm.Int32")")},
      {code, 400, name, "Bad Request - Error in query syntax.", get("/people(PartitionKey='p')")},
      {code, 400, name, "Syntax error at position 7 in 'aaa bbb ccc'.",
       get("/people?$filter=aaa%20bbb%20ccc")},
      {code, 400, name, "Unrecognized 'Edm.Int32' literal '5454161346626'",
       get("/people?$filter=n%20eq%205454161346626")},
      {code,
       400,
       name,
       "The etag value 'x' specified in one of the request headers is not valid. Please make sure "
       "only one etag value is specified and is valid.",
       {"PUT", entity, {{"If-Match", "x"}}, "{}"}},
      {code, 400, name,
       "99:The batch request operation exceeds the maximum 100 changes per change set.",
       batch_of(limits::group_operations_max + 1)},
  };
}

std::vector<ErrorCase> values_out_of_range() {
  const ErrorCode code = ErrorCode::out_of_range_input;
  const std::string_view name = "OutOfRangeInput";
  return {
      {code, 400, name, "One of the request inputs is out of range.",
       get("/people(PartitionKey='%23',RowKey='r')")},
      {code, 400, name, "The 'RowKey' parameter of value 'a/b' is out of range.",
       insert_body(R"({"PartitionKey":"p","RowKey":"a/b"})")},
      {code, 400, name, "The 'at' parameter of value '12/31/1600 23:59:59' is out of range.",
       insert(R"("at":"1600-12-31T23:59:59Z","at@odata.type":"Edm.DateTime")")},
      {code, 400, name, "The specified resource name length is not within the permissible limits.",
       create("ab")},
      {ErrorCode::query_parameter_out_of_range, 400, "OutOfRangeQueryParameterValue",
       "One of the query parameters specified in the request URI is outside the permissible range.",
       get("/people?timeout=0")},
  };
}

std::vector<ErrorCase> addresses() {
  return {
      {ErrorCode::invalid_uri, 400, "InvalidUri",
       "The requested URI does not represent any resource on the server.", get("/a/b")},
      {ErrorCode::invalid_query_parameter, 400, "InvalidQueryParameterValue",
       "Value for one of the query parameters specified in the request URI is invalid.",
       get("/?restype=service&comp=stats")},
      {ErrorCode::not_implemented, 501, "NotImplemented",
       "The requested operation is not implemented on the specified resource.",
       get("/people?$orderby=n")},
      {ErrorCode::invalid_http_verb,
       400,
       "InvalidHttpVerb",
       "The HTTP verb specified was not recognized by the server.",
       {"BREW", "/people"}},
      {ErrorCode::method_not_allowed,
       405,
       "MethodNotAllowed",
       "The requested method is not allowed on the specified resource.",
       {"DELETE", "/people"}},
      {ErrorCode::x_method_incorrect_count,
       400,
       "XMethodIncorrectCount",
       "More than one X-HTTP-Method is specified.",
       {"POST", entity, {{"X-HTTP-Method", "PUT"}, {"x-http-method", "PUT"}}}},
      {ErrorCode::x_method_incorrect_value,
       400,
       "XMethodIncorrectValue",
       "The specified X-HTTP-Method is invalid.",
       {"POST", entity, {{"X-HTTP-Method", "GET"}}}},
      {ErrorCode::x_method_not_using_post,
       400,
       "XMethodNotUsingPost",
       "The request uses X-HTTP-Method with an HTTP verb other than POST.",
       {"PUT", entity, {{"X-HTTP-Method", "PUT"}}}},
  };
}

std::vector<ErrorCase> headers() {
  return {
      {ErrorCode::invalid_header_value, 400, "InvalidHeaderValue",
       "The value for one of the HTTP headers is not in the correct format.",
       get_with({"x-ms-version", "2012-02-12"})},
      {ErrorCode::media_type_not_supported, 415, "MediaTypeNotSupported",
       "None of the provided media types are supported.", get_with({"Accept", "text/html"})},
      {ErrorCode::atom_format_not_supported, 415, "AtomFormatNotSupported",
       "Atom format is not supported.", get_with({"Accept", "application/atom+xml"})},
      {ErrorCode::json_verbose_not_supported, 415, "JsonVerboseFormatNotSupported",
       "JSON verbose format is not supported.",
       get_with({"Accept", "application/json;odata=verbose"})},
      {ErrorCode::cors_preflight_failure,
       403,
       "CorsPreflightFailure",
       "CORS not enabled or no matching rule found for this request.",
       {"OPTIONS",
        "/people",
        {{"Origin", "https://a.example"}, {"Access-Control-Request-Method", "GET"}}}},
      {ErrorCode::update_condition_not_satisfied,
       412,
       "UpdateConditionNotSatisfied",
       "The update condition specified in the request was not satisfied.",
       {"DELETE", entity, {{"If-Match", "W/\"datetime'2020-01-01T00%3A00%3A00Z'\""}}}},
      {ErrorCode::secondary_is_read_only,
       403,
       "InsufficientAccountPermissions",
       "Write operations are not allowed.",
       {"DELETE", "http://127.0.0.1:10002/acct-secondary/Tables('people')"}},
  };
}

std::vector<ErrorCase> bodies() {
  return {
      {ErrorCode::request_body_too_large, 413, "RequestBodyTooLarge",
       "The request body is too large and exceeds the maximum permissible limit.",
       insert_body(std::string(limits::request_bytes_max + 1, ' '))},
      {ErrorCode::duplicate_properties, 400, "DuplicatePropertiesSpecified",
       "A property is specified more than one time.", insert(R"("n":1,"n":2)")},
      {ErrorCode::properties_need_value, 400, "PropertiesNeedValue",
       "The values are not specified for all properties in the entity.",
       insert_body(R"({"PartitionKey":"p"})")},
      {ErrorCode::primary_key_type_invalid, 400, "PrimaryKeyPropertyIsInvalidType",
       "PartitionKey and RowKey must be strings.",
       insert_body(R"({"PartitionKey":"p","RowKey":5})")},
      {ErrorCode::property_name_invalid, 400, "PropertyNameInvalid",
       "The property name is invalid.", insert(R"("a-b":1)")},
      {ErrorCode::property_name_too_long, 400, "PropertyNameTooLong",
       "The property name exceeds the maximum allowed length (255).",
       insert("\"" + std::string(limits::property_name_units_max + 1, 'n') + "\":1")},
      {ErrorCode::property_value_too_large, 400, "PropertyValueTooLarge", too_large,
       insert(strings(1, limits::string_units_max + 1))},
      {ErrorCode::property_value_too_large, 400, "PropertyValueTooLarge", too_large,
       insert_body(R"({"PartitionKey":"p","RowKey":")" +
                   std::string(limits::key_units_max + 1, 'k') + "\"}")},
      {ErrorCode::too_many_properties, 400, "TooManyProperties",
       "The entity contains more properties than allowed. Each entity can include up to 252 "
       "properties to store data. Each entity also has 3 system properties.",
       insert(strings(limits::custom_properties_max + 1, 1))},
      {ErrorCode::entity_too_large, 400, "EntityTooLarge",
       "The entity is larger than the maximum allowed size (1MB).",
       insert(strings(16, limits::string_units_max))},
      {ErrorCode::invalid_resource_name, 400, "InvalidResourceName",
       "The specifed resource name contains invalid characters.", create("a-b")},
  };
}

std::vector<ErrorCase> states() {
  return {
      {ErrorCode::table_not_found, 404, "TableNotFound", "The table specified does not exist.",
       get("/nowhere")},
      {ErrorCode::table_already_exists, 409, "TableAlreadyExists",
       "The table specified already exists.", create("PEOPLE")},
      {ErrorCode::resource_not_found, 404, "ResourceNotFound",
       "The specified resource does not exist.", get("/people(PartitionKey='p',RowKey='nobody')")},
      {ErrorCode::entity_already_exists, 409, "EntityAlreadyExists",
       "The specified entity already exists.", insert_body(R"({"PartitionKey":"p","RowKey":"r"})")},
      {ErrorCode::batch_partitions_differ, 400, "CommandsInBatchActOnDifferentPartitions",
       "1:All commands in a batch must operate on same entity group.",
       batch({{"p", "1"}, {"q", "2"}})},
      {ErrorCode::batch_duplicate_row, 400, "InvalidDuplicateRow",
       "1:The batch request contains multiple changes with same row key. An entity can appear only "
       "once in a batch request.",
       batch({{"p", "1"}, {"p", "1"}})},
  };
}

std::vector<ErrorCase> documents() {
  return {
      {ErrorCode::invalid_xml_document, 400, "InvalidXmlDocument",
       "XML specified is not syntactically valid.", put_document("<")},
      {ErrorCode::invalid_xml_node_value, 400, "InvalidXmlNodeValue",
       "The value for one of the XML nodes is not in the correct format.",
       put_properties("<Logging><Version>1.0</Version><Read>perhaps</Read><Write>true</Write>"
                      "<Delete>true</Delete><RetentionPolicy><Enabled>false</Enabled>"
                      "</RetentionPolicy></Logging>")},
      {ErrorCode::missing_xml_node, 400, "MissingRequiredXmlNode",
       "A required XML node was not specified in the request body.",
       put_properties("<HourMetrics><Version>1.0</Version><Enabled>false</Enabled></HourMetrics>")},
      {ErrorCode::unsupported_xml_node, 400, "UnsupportedXmlNode",
       "One of the XML nodes specified in the request body is not supported.",
       put_properties("<Weather/>")},
  };
}

std::vector<ErrorCase> credentials() {
  const SasFields table = test::sas_of_table("people", "r");
  SasFields only_https = table;
  only_https.spr = "https";
  SasFields from_elsewhere = table;
  from_elsewhere.sip = "10.0.0.1-10.0.0.8";
  return {
      {ErrorCode::authentication_failed,
       403,
       "AuthenticationFailed",
       "Server failed to authenticate the request. Make sure the value of Authorization header is "
       "formed correctly including the signature.",
       {"GET", "/people", {}, {}, false}},
      {ErrorCode::invalid_authentication_info,
       400,
       "InvalidAuthenticationInfo",
       "Authentication information is not given in the correct format. Check the value of "
       "Authorization header.",
       {"GET", "/people", {{"Authorization", "nonsense"}}, {}, false}},
      {ErrorCode::authorization_failure, 403, "AuthorizationFailure",
       "This request is not authorized to perform this operation.", signed_by(table, "/Tables")},
      {ErrorCode::permission_mismatch, 403, "AuthorizationPermissionMismatch",
       "This request is not authorized to perform this operation using this permission.",
       signed_by(test::sas_of_table("people", "a"), "/people")},
      {ErrorCode::protocol_mismatch, 403, "AuthorizationProtocolMismatch",
       "This request is not authorized to perform this operation using this protocol.",
       signed_by(only_https, "/people", "10.0.0.9")},
      {ErrorCode::source_ip_mismatch, 403, "AuthorizationSourceIPMismatch",
       "This request is not authorized to perform this operation using this source IP 10.0.0.9.",
       signed_by(from_elsewhere, "/people", "10.0.0.9")},
      {ErrorCode::service_mismatch, 403, "AuthorizationServiceMismatch",
       "This request is not authorized to perform this operation using this service.",
       signed_by(test::sas_of_account("r", "sco", "bq"), "/people")},
      {ErrorCode::resource_type_mismatch, 403, "AuthorizationResourceTypeMismatch",
       "This request is not authorized to perform this operation using this resource type.",
       signed_by(test::sas_of_account("r", "s"), "/people")},
  };
}

std::vector<ErrorCase> all_lines() {
  std::vector<ErrorCase> lines;
  for (const auto& some : {invalid_inputs(), values_out_of_range(), addresses(), headers(),
                           bodies(), states(), documents(), credentials()}) {
    lines.insert(lines.end(), some.begin(), some.end());
  }
  return lines;
}

// Errors that the store can return for any request, and for a table that is synced. Only
// InternalError is an error of the service.
struct StoreErrorCase {
  ErrorCode code;
  int status;
  std::string_view name;
  std::string_view message;
};
constexpr StoreErrorCase of_store[] = {
    {ErrorCode::table_has_pending_operations, 409, "TableHasPendingOperations",
     "The table has changes that its remote table does not have yet. They would be lost."},
    {ErrorCode::internal_error, 500, "InternalError",
     "Server encountered an internal error. Please try again after some time."},
    {ErrorCode::out_of_memory, 507, "OutOfMemory",
     "There is not enough memory for this operation. Nothing was changed."},
    {ErrorCode::corrupted, 500, "Corrupted", "Stored data is damaged and cannot be read."},
    {ErrorCode::format_too_new, 501, "FormatTooNew",
     "The store was written by a newer version of this software."},
    {ErrorCode::read_only, 403, "ReadOnly",
     "The store is open for reading only. Write operations are not allowed."},
};

// ---- Sending requests ---------------------------------------------------------------------------

// A server that authorizes requests to the account "acct", with one entity in the table "people".
class Server : public test::RestServer {
 public:
  Server() : RestServer(test::locked_account()) {
    CHECK(send(create("people")).status == 201);
    CHECK(send({"PUT", entity, {}, R"({"n":1})"}).status == 204);
  }

  Response send(const RequestSpec& ask) {
    const bool absolute = ask.target.front() != '/';
    const std::string url = absolute ? ask.target : address + ask.target;
    Request request{ask.method, url, ask.headers, ask.body, ask.client_ip};
    request.trusted = ask.trusted;
    return RestServer::send(request);
  }

  // Everything that the requests of this file could change.
  std::string contents() {
    return send(get("/Tables")).body + send(get("/people")).body +
           send(get("/?restype=service&comp=properties")).body;
  }
};

// The text between `begin` and `end`; empty if `begin` does not occur.
std::string between(const std::string& text, std::string_view begin, std::string_view end) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return {};
  const std::size_t from = at + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

struct ObservedError {
  int status = 0;
  std::string name, message;
};

ObservedError observed_error(const Response& response) {
  const std::string& body = response.body;
  ObservedError observed_error;
  observed_error.status = response.status;
  if (response.status == 202) observed_error.status = std::stoi(between(body, "HTTP/1.1 ", " "));
  if (body.find("<m:error") != std::string::npos) {
    observed_error.name = between(body, "<m:code>", "</m:code>");
    observed_error.message = between(body, "<m:message xml:lang=\"en-US\">", "\nRequestId:");
  } else {
    observed_error.name = between(body, R"({"odata.error":{"code":")", "\"");
    observed_error.message =
        between(body, R"("message":{"lang":"en-US","value":")", "\\nRequestId:");
  }
  return observed_error;
}

TEST_CASE("every error of the service, with a request that causes it") {
  Server server;
  const std::string before = server.contents();
  for (const ErrorCase& line : all_lines()) {
    CAPTURE(line.ask.method, line.ask.target, line.ask.body.substr(0, 300));
    const Response response = server.send(line.ask);
    const ObservedError answer = observed_error(response);
    CHECK(answer.status == line.status);
    CHECK(answer.name == line.name);
    CHECK(answer.message == line.message);
    CHECK(service_error_of(line.code).code == line.name);
    if (response.status != 202) {
      CHECK(test::header_value(response, "x-ms-error-code") == line.name);
    }
  }
  CHECK(server.contents() == before);
}

TEST_CASE("errors of the store itself are returned as well") {
  Server server;
  const std::string body = R"({"TableName":"others"})";
  Request request{"POST", "http://127.0.0.1:10002/acct/Tables", {}, body, {}};
  request.trusted = true;
  for (const StoreErrorCase& line : of_store) {
    const HandleResult handled = handle_request(test::locked_account(), server.store(), request,
                                                RequestContext{server.now(), "0123456789abcdef"});
    REQUIRE(std::holds_alternative<UnstagedWrite>(handled));
    const ObservedError answer = observed_error(
        std::get<UnstagedWrite>(handled).make_response(GroupFailure{Error(line.code), 0, false}));
    CHECK(answer.status == line.status);
    CHECK(answer.name == line.name);
    CHECK(answer.message == line.message);
  }
}

// ---- Completeness -------------------------------------------------------------------------------

// The codes in the first column of the table under `heading` in COMPATIBILITY.md.
std::set<std::string> listed(const std::string& heading) {
  std::ifstream in(ENTITABLE_TESTDATA "/../../core/rest/COMPATIBILITY.md");
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::string section = between(text, "\n## " + heading + "\n", "\n## ");
  std::set<std::string> codes;
  for (std::size_t at = section.find("\n| `"); at != std::string::npos;
       at = section.find("\n| `", at + 1)) {
    codes.insert(between(section.substr(at), "| `", "` |"));
  }
  return codes;
}

TEST_CASE("every code has a line, and only codes without one are documented as never returned") {
  std::set<ErrorCode> given;
  for (const ErrorCase& line : all_lines()) given.insert(line.code);
  for (const StoreErrorCase& line : of_store) given.insert(line.code);
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(ErrorCode::read_only); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    CAPTURE(service_error_of(code).code);
    CHECK(given.count(code) == 1);
    names.insert(std::string(service_error_of(code).code));
  }
  const std::set<std::string> never = listed("Errors that are never returned");
  CHECK_FALSE(never.empty());
  for (const std::string& name : never) {
    CAPTURE(name);
    CHECK(names.count(name) == 0);
    CHECK(find_service_error(name) != nullptr);  // known, so that users' tests can simulate it
  }
  std::set<std::string> ours;
  for (const StoreErrorCase& line : of_store) {
    if (line.code != ErrorCode::internal_error) ours.insert(std::string(line.name));
  }
  CHECK(listed("Errors that only this store has") == ours);
}

}  // namespace
}  // namespace entitable::rest
