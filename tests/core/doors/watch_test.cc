#include "core/doors/watch.h"

#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/protocol/http_codec.h"
#include "core/protocol/multipart.h"
#include "tests/core/direct/reply_reader.h"
#include "tests/core/direct/request_builder.h"
#include "tests/core/protocol/request_block.h"
#include "tests/support/catch.h"

namespace entitable::doors {
namespace {

using direct::RequestKind;
using protocol::HeaderView;
using protocol::Request;
using test::RequestBuilder;

const std::string base = "http://127.0.0.1:10002/acct/";

protocol::Account account() {
  protocol::Account account;
  account.name = "acct";
  return account;
}

std::string http(std::string_view method, const std::string& path, std::string_view body = "",
                 const std::vector<HeaderView>& headers = {}) {
  return test::request_block(Request{method, base + path, headers, body, {}});
}

std::string json_of(std::string_view block) {
  return description_json(describe(account(), block));
}

std::string in_call(std::string_view block, std::uint8_t version = 1) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(32);
  out.u8(version);
  out.u16(0);
  out.u32(0);
  out.u64(7);
  out.raw(std::string(16, 'a'));
  out.raw(block);
  return bytes;
}

const std::string direct_write =
    test::write_request({"people",
                         {{4, "p", "1", {test::string_property("s", "t")}, ""},
                          {0, "p", "2", {}, ""},
                          {5, "p", "3", {}, "*"}},
                         1})
        .build();
const std::string http_write = http("POST", "$batch",
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

class Refusing {
 public:
  Refusing() {
    REQUIRE(store_.recover(std::nullopt).ok());
    store_.recovered();
  }
  std::string operator()(std::string_view block, std::string_view refusal) {
    const Result<void> made = refuse(account(), store_, block, refusal, 0, reply_);
    return made.ok() ? reply_.str() : made.error().message;
  }

 private:
  Store store_;
  direct::ReplyBuffer reply_;
};

std::string header_in(const std::string& reply, std::string_view name) {
  const protocol::ResponseView view = protocol::read_response(reply);
  return std::string(protocol::header_of(view.headers, name).value_or("(none)"));
}

}  // namespace

TEST_CASE("The same call is described alike, whichever door it comes through") {
  CHECK(describe(account(), direct_write) == describe(account(), http_write));
  CHECK(describe(account(), direct_write).operations.size() == 3);
  const std::string get =
      RequestBuilder(RequestKind::get).text("people").text("p").text("r").word(0).build();
  CHECK(describe(account(), get) ==
        describe(account(), http("GET", "people(PartitionKey='p',RowKey='r')")));
  const std::string query = RequestBuilder(RequestKind::query)
                                .text("people")
                                .text("a eq 1")
                                .word(3)
                                .no_text()
                                .no_text()
                                .word(1)
                                .text("a")
                                .build();
  CHECK(describe(account(), query) ==
        describe(account(), http("GET", "people()?$filter=a%20eq%201&$top=3&$select=a")));
  const std::string create = RequestBuilder(RequestKind::create_table).text("people").build();
  CHECK(describe(account(), create) ==
        describe(account(), http("POST", "Tables", R"({"TableName":"people"})")));
}

TEST_CASE("A block in a call is described as by itself") {
  CHECK(describe(account(), in_call(direct_write)) == describe(account(), direct_write));
  CHECK(describe(account(), in_call(http_write)) == describe(account(), direct_write));
  CHECK(describe(account(), in_call(direct_write, 2)) == Description{});
  CHECK(describe(account(), "") == Description{});
  CHECK(describe(account(), http_write.substr(0, 50)) == Description{});
}

TEST_CASE("Descriptions are JSON with what is known") {
  CHECK(
      json_of(http("GET", "people()?$filter=a%20eq%20'%22'&$top=0&$select=a,b")) ==
      R"({"operation":"query","table":"people","filter":"a eq '\"'","select":["a","b"],"top":0})");
  CHECK(json_of(direct_write) ==
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
  for (int i = 0; i <= static_cast<int>(DescribedAs::preflight); ++i) {
    Description description;
    description.operation = static_cast<DescribedAs>(i);
    const bool unknown = description_json(description).find("unknown") != std::string::npos;
    CHECK(unknown == (description.operation == DescribedAs::unknown));
  }
}

TEST_CASE(
    "A code that the service knows brings its status and text; others are taken as they are") {
  Refusing refusing;
  const auto busy = test::read_error(refusing(direct_write, R"({"code":"ServerBusy"})"));
  CHECK(busy.status == 503);
  CHECK(busy.index == direct::none);
  CHECK(busy.code == "ServerBusy");
  CHECK(busy.message == "The server is busy.");
  CHECK_FALSE(busy.local);
  const auto ours = test::read_error(refusing(direct_write, R"({"code":"OutOfMemory"})"));
  CHECK(ours.status == 507);
  CHECK_FALSE(ours.local);  // said by a service: an answer, no failure of this machine
  const auto other = test::read_error(
      refusing(direct_write, R"({"code":"ServerBusy","status":429,"message":"\ud83d"})"));
  CHECK(other.status == 429);
  CHECK(other.message == "\xED\xA0\xBD");
  const auto unheard = test::read_error(refusing(direct_write, R"({"code":"No","status":502})"));
  CHECK(unheard.message == "Bad Gateway");
}

TEST_CASE("A refusal is answered by the door that was asked, with its headers") {
  Refusing refusing;
  const std::string refusal = R"({"code":"ServerBusy","header:Retry-After":"1",)"
                              R"("header:SERVER":"other"})";
  const std::string response = refusing(http_write, refusal);
  CHECK(outcome_of(http_write, response) == Outcome{503, "ServerBusy"});
  CHECK(header_in(response, "Retry-After") == "1");
  CHECK(header_in(response, "Server") == "other");
  CHECK(header_in(response, "Content-Type").starts_with("application/json"));
  CHECK(refusing(in_call(http_write), refusal) == response);
  const std::string reply = refusing(direct_write, refusal);
  CHECK(outcome_of(direct_write, reply) == Outcome{503, "ServerBusy"});
  CHECK(refusing(in_call(direct_write), refusal) == reply);
  test::ReplyReader in(reply);
  CHECK(in.flags() == direct::flag_headers);
  in.word();
  in.word();
  in.text();
  in.text();
  CHECK(in.word() == 2);
  CHECK(in.text() == "Retry-After");
  CHECK(in.text() == "1");
}

TEST_CASE("A refusal that no response could say is refused, in words") {
  Refusing refusing;
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "A refusal needs a code."},
      {R"({"code":""})", "A refusal needs a code that can stand in a header."},
      {R"({"code":"a b","status":500})", "A refusal needs a code that can stand in a header."},
      {R"({"code":"No"})", "A refusal needs a status, as the service has no such code."},
      {R"({"code":"No","status":299})", "A refusal needs a status from 300 to 599."},
      {R"({"code":"No","status":600})", "A refusal needs a status from 300 to 599."},
      {R"({"code":"No","status":"5e2"})", "A refusal needs a status from 300 to 599."},
      {R"({"code":"ServerBusy","header:a b":"1"})", "A refusal needs headers that HTTP can carry."},
      {R"({"code":"ServerBusy","header:":"1"})", "A refusal needs headers that HTTP can carry."},
      {R"({"code":"ServerBusy","header:a":"\r\n"})",
       "A refusal needs headers that HTTP can carry."},
      {R"({"code":"ServerBusy","retryAfter":1})", "A refusal has no \"retryAfter\"."}};
  for (const auto& [refusal, message] : cases) {
    CAPTURE(refusal);
    CHECK(refusing(direct_write, refusal) == message);
    CHECK(refusing(http_write, refusal) == message);
  }
  for (const int status : {300, 599}) {
    const std::string refusal = R"({"code":"No","status":)" + std::to_string(status) + "}";
    CHECK(outcome_of(direct_write, refusing(direct_write, refusal)).status == status);
  }
}

}  // namespace entitable::doors
