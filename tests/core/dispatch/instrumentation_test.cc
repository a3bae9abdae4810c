#include "core/dispatch/instrumentation.h"

#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/rest/http_codec.h"
#include "core/rest/multipart.h"
#include "tests/core/rest/http_request_message.h"
#include "tests/core/rpc/request_builder.h"
#include "tests/core/rpc/response_reader.h"
#include "tests/support/call_messages.h"
#include "tests/support/catch.h"

namespace entitable::dispatch {
namespace {

using rest::HeaderView;
using rest::Request;
using rpc::RequestKind;
using test::RequestBuilder;

const std::string base = "http://127.0.0.1:10002/acct/";

rest::Account account() {
  rest::Account account;
  account.name = "acct";
  return account;
}

std::string http(std::string_view method, const std::string& path, std::string_view body = "",
                 const std::vector<HeaderView>& headers = {}) {
  return test::http_request_message(Request{method, base + path, headers, body, {}});
}

std::string json_of(std::string_view message) {
  return description_json(describe_request(account(), message));
}

const std::string rpc_write =
    test::write_request({"people",
                         {{4, "p", "1", {test::string_property("s", "t")}, ""},
                          {0, "p", "2", {}, ""},
                          {5, "p", "3", {}, "*"}},
                         1})
        .build();
const std::string rest_write = http("POST", "$batch",
                                    "--b\nContent-Type: multipart/mixed; boundary=c\n\n"
                                    "--c\nContent-Type: application/http\n\n"
                                    "PATCH /acct/people(PartitionKey='p',RowKey='1') HTTP/1.1\n\n"
                                    "{\"s\":\"t\"}\n"
                                    "--c\nContent-Type: application/http\n\n"
                                    "POST /acct/people HTTP/1.1\n\n"
                                    "{\"PartitionKey\":\"p\",\"RowKey\":\"2\"}\n"
                                    "--c\nContent-Type: application/http\n\n"
                                    "DELETE /acct/people(PartitionKey='p',RowKey='3') HTTP/1.1\n"
                                    "If-Match: *\n\n\n"
                                    "--c--\n--b--",
                                    {{"Content-Type", "multipart/mixed; boundary=b"}});

class ErrorInjector {
 public:
  ErrorInjector() {
    REQUIRE(store_.begin_recovery(std::nullopt).ok());
    store_.finish_recovery();
  }
  std::string operator()(std::string_view message, std::string_view error_json) {
    const Result<void> made =
        make_error_response(account(), store_, message, error_json, 0, response_);
    return made.ok() ? response_.str() : made.error().message;
  }

 private:
  Store store_;
  rpc::ResponseBuffer response_;
};

std::string header_in(const std::string& response, std::string_view name) {
  const rest::ResponseView view = rest::decode_http_response(response);
  return std::string(rest::header_of(view.headers, name).value_or("(none)"));
}

}  // namespace

TEST_CASE("RPC and REST requests for the same operation have the same description") {
  CHECK(describe_request(account(), rpc_write) == describe_request(account(), rest_write));
  CHECK(describe_request(account(), rpc_write).operations.size() == 3);
  const std::string get =
      RequestBuilder(RequestKind::get).text("people").text("p").text("r").word(0).build();
  CHECK(describe_request(account(), get) ==
        describe_request(account(), http("GET", "people(PartitionKey='p',RowKey='r')")));
  const std::string query = RequestBuilder(RequestKind::query)
                                .text("people")
                                .text("a eq 1")
                                .word(3)
                                .no_text()
                                .no_text()
                                .word(1)
                                .text("a")
                                .build();
  CHECK(describe_request(account(), query) ==
        describe_request(account(), http("GET", "people()?$filter=a%20eq%201&$top=3&$select=a")));
  const std::string create = RequestBuilder(RequestKind::create_table).text("people").build();
  CHECK(describe_request(account(), create) ==
        describe_request(account(), http("POST", "Tables", R"({"TableName":"people"})")));
}

TEST_CASE("A message in a call has the same description as without the call") {
  CHECK(describe_request(account(), test::in_call(7, rpc_write)) ==
        describe_request(account(), rpc_write));
  CHECK(describe_request(account(), test::in_call(7, rest_write)) ==
        describe_request(account(), rpc_write));
  CHECK(describe_request(account(), test::in_call(7, rpc_write, 'a', 2)) == RequestDescription{});
  CHECK(describe_request(account(), "") == RequestDescription{});
  CHECK(describe_request(account(), rest_write.substr(0, 50)) == RequestDescription{});
}

TEST_CASE("Descriptions are JSON without unknown members") {
  CHECK(
      json_of(http("GET", "people()?$filter=a%20eq%20'%22'&$top=0&$select=a,b")) ==
      R"({"operation":"query","table":"people","filter":"a eq '\"'","select":["a","b"],"top":0})");
  CHECK(json_of(rpc_write) ==
        R"({"operation":"batch","table":"people","partitionKey":"p","operations":[)"
        R"({"operation":"upsert","mode":"Merge","table":"people","partitionKey":"p","rowKey":"1"},)"
        R"({"operation":"insert","table":"people","partitionKey":"p","rowKey":"2"},)"
        R"({"operation":"delete","table":"people","partitionKey":"p","rowKey":"3"}]})");
  CHECK(
      json_of(http("PUT", "people(PartitionKey='',RowKey='r')")) ==
      R"({"operation":"upsert","mode":"Replace","table":"people","partitionKey":"","rowKey":"r"})");
  CHECK(json_of(http("POST", "$batch")) == R"({"operation":"batch","operations":[]})");
  CHECK(json_of("") == R"({"operation":"unknown"})");
}

TEST_CASE("Every operation has a name") {
  for (int i = 0; i <= static_cast<int>(RequestOperation::preflight); ++i) {
    RequestDescription description;
    description.operation = static_cast<RequestOperation>(i);
    const bool unknown = description_json(description).find("unknown") != std::string::npos;
    CHECK(unknown == (description.operation == RequestOperation::unknown));
  }
}

TEST_CASE("A known code supplies status and message; other codes are used as given") {
  ErrorInjector error_injector;
  const auto busy = test::read_error(error_injector(rpc_write, R"({"code":"ServerBusy"})"));
  CHECK(busy.status == 503);
  CHECK(busy.index == rpc::none);
  CHECK(busy.code == "ServerBusy");
  CHECK(busy.message == "The server is busy.");
  CHECK_FALSE(busy.local);
  const auto ours = test::read_error(error_injector(rpc_write, R"({"code":"OutOfMemory"})"));
  CHECK(ours.status == 507);
  CHECK_FALSE(ours.local);  // an error of the service, not a failure of this machine
  const auto other = test::read_error(
      error_injector(rpc_write, R"({"code":"ServerBusy","status":429,"message":"\ud83d"})"));
  CHECK(other.status == 429);
  CHECK(other.message == "\xED\xA0\xBD");
  const auto unheard = test::read_error(error_injector(rpc_write, R"({"code":"No","status":502})"));
  CHECK(unheard.message == "Bad Gateway");
}

TEST_CASE("An injected error is encoded for the message's entry point, with its headers") {
  ErrorInjector error_injector;
  const std::string error_json = R"({"code":"ServerBusy","header:Retry-After":"1",)"
                                 R"("header:SERVER":"other"})";
  const std::string response = error_injector(rest_write, error_json);
  CHECK(response_outcome(rest_write, response) == ResponseOutcome{503, "ServerBusy"});
  CHECK(header_in(response, "Retry-After") == "1");
  CHECK(header_in(response, "Server") == "other");
  CHECK(header_in(response, "Content-Type").starts_with("application/json"));
  CHECK(error_injector(test::in_call(7, rest_write), error_json) == response);
  const std::string rpc_response = error_injector(rpc_write, error_json);
  CHECK(response_outcome(rpc_write, rpc_response) == ResponseOutcome{503, "ServerBusy"});
  CHECK(error_injector(test::in_call(7, rpc_write), error_json) == rpc_response);
  test::ResponseReader in(rpc_response);
  CHECK(in.flags() == rpc::flag_headers);
  in.word();
  in.word();
  in.text();
  in.text();
  CHECK(in.word() == 2);
  CHECK(in.text() == "Retry-After");
  CHECK(in.text() == "1");
}

TEST_CASE("An injected error that no response can express is rejected with a message") {
  ErrorInjector error_injector;
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "An injected error needs a code."},
      {R"({"code":""})", "An injected error needs a code that can stand in a header."},
      {R"({"code":"a b","status":500})",
       "An injected error needs a code that can stand in a header."},
      {R"({"code":"No"})", "An injected error needs a status, as the service has no such code."},
      {R"({"code":"No","status":299})", "An injected error needs a status from 300 to 599."},
      {R"({"code":"No","status":600})", "An injected error needs a status from 300 to 599."},
      {R"({"code":"No","status":"5e2"})", "An injected error needs a status from 300 to 599."},
      {R"({"code":"ServerBusy","header:a b":"1"})",
       "An injected error needs headers that HTTP can carry."},
      {R"({"code":"ServerBusy","header:":"1"})",
       "An injected error needs headers that HTTP can carry."},
      {R"({"code":"ServerBusy","header:a":"\r\n"})",
       "An injected error needs headers that HTTP can carry."},
      {R"({"code":"ServerBusy","retryAfter":1})", "An injected error has no \"retryAfter\"."}};
  for (const auto& [error_json, message] : cases) {
    CAPTURE(error_json);
    CHECK(error_injector(rpc_write, error_json) == message);
    CHECK(error_injector(rest_write, error_json) == message);
  }
  for (const int status : {300, 599}) {
    const std::string error_json = R"({"code":"No","status":)" + std::to_string(status) + "}";
    CHECK(response_outcome(rpc_write, error_injector(rpc_write, error_json)).status == status);
  }
}

}  // namespace entitable::dispatch
