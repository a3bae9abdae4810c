#include "core/dispatch/dispatcher.h"

#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/model/service_error.h"
#include "core/rpc/operations.h"
#include "tests/core/rest/http_request_message.h"
#include "tests/core/rpc/request_builder.h"
#include "tests/core/rpc/response_reader.h"
#include "tests/support/call_messages.h"
#include "tests/support/catch.h"
#include "tests/support/test_host.h"

namespace entitable::dispatch {
namespace {

using rest::HeaderView;
using rest::Request;
using rpc::RequestKind;
using rpc::ResponseBuffer;
using rpc::ResponseKind;
using test::http_request_message;
using test::in_call;
using test::OperationRecord;
using test::RequestBuilder;
using test::ResponseReader;
using test::write_request;

constexpr Ticks commit_time = 637'311'980'884'767'123;
const std::string base = "http://127.0.0.1:10002/acct/";

// ---- Messages -----------------------------------------------------------------------------------

std::string create(std::string_view name) {
  return RequestBuilder(RequestKind::create_table).text(name).build();
}
std::string insert(std::string row) {
  return write_request({"people", {OperationRecord{0, "p", std::move(row), {}, ""}}, 0}).build();
}

std::string http(std::string_view method, const std::string& path, std::string_view body = "",
                 std::vector<HeaderView> headers = {}) {
  headers.push_back({"Accept", "application/json;odata=nometadata"});
  return http_request_message(Request{method, base + path, std::move(headers), body, {}});
}
std::string http_create(const std::string& name) {
  return http("POST", "Tables", "{\"TableName\":\"" + name + "\"}");
}
std::string http_insert(const std::string& row) {
  return http("POST", "people", R"({"PartitionKey":"p","RowKey":")" + row + "\"}");
}

std::string http_delete(const std::string& path) {
  return http("DELETE", path, "", {{"If-Match", "*"}});
}
std::string drop(std::string_view name) {
  return RequestBuilder(RequestKind::drop_table).text(name).build();
}

std::string http_batch_get(const std::string& path) {
  const std::string parts = "--b\nContent-Type: application/http\n\nGET " + base + path +
                            " HTTP/1.1\nAccept: application/json\n\n--b--";
  return http("POST", "$batch", parts, {{"Content-Type", "multipart/mixed; boundary=b"}});
}

struct HttpResponse {
  std::uint16_t status;
  std::string text;  // reason phrase, headers and body
};
HttpResponse parse_http_response(const ResponseBuffer& response) {
  ByteReader in(response.view());
  REQUIRE(in.u8() == 65);
  in.u8();
  const std::uint16_t status = in.u16();
  return HttpResponse{status, std::string(in.raw(in.remaining()))};
}
bool contains(const HttpResponse& response, std::string_view text) {
  return response.text.find(text) != std::string::npos;
}

// A store in memory that publishes every group and marks it as stored at once.
class Fixture {
 public:
  Fixture() {
    account.name = "acct";
    REQUIRE(store.begin_recovery(std::nullopt).ok());
    store.finish_recovery();
  }
  StagedResponses stage(const std::vector<std::string>& messages) {
    StagedResponses staged;
    dispatch::stage(account, store, {messages.begin(), messages.end()}, commit_time, staged);
    return staged;
  }
  StagedResponses commit(const std::vector<std::string>& messages) {
    StagedResponses staged = stage(messages);
    if (staged.changes) {
      store.publish();
      if (const auto sealed = store.seal()) store.mark_stored(sealed->sequence);
    }
    return staged;
  }
  HttpResponse get(const std::string& path) {
    handle_rest_read(account, store, http("GET", path), commit_time, response);
    return parse_http_response(response);
  }

  rest::Account account;
  Store store;
  ResponseBuffer response;
};

void check_malformed(const ResponseBuffer& response) {
  const auto error = test::read_error(response.str());
  CHECK(error.code == "InvalidInput");
  CHECK(error.message == "The request message is malformed.");
}

}  // namespace

TEST_CASE("RPC and REST writes form one group, in order, and each gets its own kind of response") {
  Fixture fixture;
  const StagedResponses staged =
      fixture.stage({http_create("people"), insert("1"), http_insert("1"), http_insert("2"),
                     insert("2"), create("PEOPLE")});
  CHECK(staged.changes);
  CHECK(staged.failed == std::vector<char>{false, false, true, false, true, true});
  CHECK(parse_http_response(staged.responses[0]).status == 201);
  CHECK(ResponseReader(staged.responses[1].str()).kind() == ResponseKind::write_result);
  CHECK(parse_http_response(staged.responses[2]).status == 409);
  CHECK(parse_http_response(staged.responses[3]).status == 201);
  CHECK(test::read_error(staged.responses[4].str()).code == "EntityAlreadyExists");
  CHECK(test::read_error(staged.responses[5].str()).code == "TableAlreadyExists");
}

TEST_CASE("Staged messages that only delete rows or a table are marked") {
  Fixture fixture;
  fixture.commit({create("people"), create("other"), insert("1"), insert("2"), insert("3")});
  const StagedResponses staged =
      fixture.stage({insert("4"), http_delete("people(PartitionKey='p',RowKey='1')"),
                     http_delete("people(PartitionKey='p',RowKey='2')"),
                     http_delete("people(PartitionKey='p',RowKey='1')"), drop("other")});
  CHECK(staged.failed == std::vector<char>{false, false, false, true, false});
  CHECK(staged.only_deletes == std::vector<char>{false, true, true, false, true});
}

TEST_CASE("Messages staged together see each other's writes, and readers see them once published") {
  Fixture fixture;
  fixture.commit({create("people")});
  fixture.stage({insert("1")});
  CHECK_FALSE(contains(fixture.get("people()"), "\"RowKey\":\"1\""));
  fixture.store.publish();
  CHECK(contains(fixture.get("people()"), "\"RowKey\":\"1\""));
}

TEST_CASE("stage_and_publish publishes writes together with their responses") {
  Fixture fixture;
  const auto write = [&](const std::vector<std::string>& messages) {
    StagedResponses written;
    dispatch::stage_and_publish(fixture.account, fixture.store, {messages.begin(), messages.end()},
                                commit_time, written);
    return written;
  };
  CHECK(write({create("people")}).changes);
  const StagedResponses one = write({insert("1")});
  CHECK(one.changes);
  CHECK(one.failed == std::vector<char>{false});
  CHECK(ResponseReader(one.responses[0].str()).kind() == ResponseKind::write_result);
  CHECK(contains(fixture.get("people()"), "\"RowKey\":\"1\""));

  const StagedResponses refused = write({insert("1")});
  CHECK_FALSE(refused.changes);
  CHECK(refused.failed == std::vector<char>{true});
  CHECK(test::read_error(refused.responses[0].str()).code == "EntityAlreadyExists");
  CHECK(parse_http_response(write({http_insert("2")}).responses[0]).status == 201);
  CHECK(write({insert("3"), insert("3"), http_insert("4")}).failed ==
        std::vector<char>{false, true, false});
  CHECK(write({in_call(1, insert("5"))}).changes);
  CHECK(write({in_call(1, insert("5"))}).failed == std::vector<char>{false});
  check_malformed(write({"?"}).responses[0]);
  for (const char* row : {"2", "3", "4", "5"}) {
    CHECK(contains(fixture.get("people()"), "\"RowKey\":\"" + std::string(row) + "\""));
  }
}

TEST_CASE("Scratch memory of a group does not affect the next one") {
  Fixture kept;
  Fixture fresh;
  StagedResponses reused;
  const std::vector<std::vector<std::string>> groups = {
      {create("people")},
      {insert("1")},
      {insert("1")},
      {insert("a row whose key takes memory of its own")},
      {insert("2")},
      {http_insert("3")},
      {insert("4"), insert("4"), http_insert("5"), "?"},
      {"?"},
      {in_call(1, insert("6"))},
      {insert("7")},
      {insert("8"), "?"},
      {},
      {http("PROPFIND", "people")},
      {insert("9")},
  };
  for (const std::vector<std::string>& group : groups) {
    const std::vector<std::string_view> messages(group.begin(), group.end());
    StagedResponses expected;
    dispatch::stage_and_publish(kept.account, kept.store, messages, commit_time, reused);
    dispatch::stage_and_publish(fresh.account, fresh.store, messages, commit_time, expected);
    CHECK(reused.failed == expected.failed);
    CHECK(reused.changes == expected.changes);
    REQUIRE(reused.responses.size() == messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i) {
      CHECK(reused.responses[i].view() == expected.responses[i].view());
    }
  }
}

TEST_CASE("A REST read counts its rows on request") {
  Fixture fixture;
  fixture.commit({create("people"), insert("1"), insert("2")});
  RowCounts rows{9, 9};
  const auto read = [&](const std::string& path) {
    handle_rest_read(fixture.account, fixture.store, http("GET", path), commit_time,
                     fixture.response, &rows);
    return rows;
  };
  CHECK(read("people()?$filter=n%20eq%201") == RowCounts{2, 0});
  CHECK(read("people(PartitionKey='p',RowKey='1')") == RowCounts{1, 1});
  CHECK(read("people()") == RowCounts{2, 2});
  CHECK(read("Tables") == RowCounts{0, 0});
  CHECK(read("nowhere()") == RowCounts{0, 0});
}

TEST_CASE("A message that its entry point rejects does not reach the store and changes nothing") {
  Fixture fixture;
  fixture.commit({create("people")});
  const StagedResponses staged =
      fixture.stage({"no message", http("POST", "people", "no JSON"), http("PROPFIND", "people"),
                     http_request_message({}) + "x", std::string("\x40\1", 2)});
  CHECK_FALSE(staged.changes);
  CHECK(staged.failed == std::vector<char>{true, true, true, true, true});
  check_malformed(staged.responses[0]);
  CHECK(parse_http_response(staged.responses[1]).status == 400);
  CHECK(parse_http_response(staged.responses[2]).status == 400);
  check_malformed(staged.responses[3]);
  check_malformed(staged.responses[4]);
  CHECK_FALSE(fixture.stage({}).changes);
}

TEST_CASE("A batch that reads is answered together with the writes, and changes nothing") {
  Fixture fixture;
  fixture.commit({create("people"), insert("1")});
  const StagedResponses staged = fixture.stage({http_batch_get("people()")});
  CHECK_FALSE(staged.changes);
  CHECK(staged.failed == std::vector<char>{true});
  const HttpResponse response = parse_http_response(staged.responses[0]);
  CHECK(response.status == 202);
  CHECK(contains(response, "\"RowKey\":\"1\""));
}

TEST_CASE("A read sees the published version") {
  Fixture fixture;
  fixture.commit({create("people"), insert("1")});
  const HttpResponse found = fixture.get("people(PartitionKey='p',RowKey='1')");
  CHECK(found.status == 200);
  CHECK(contains(found, "\"RowKey\":\"1\""));
  CHECK(fixture.get("people(PartitionKey='p',RowKey='2')").status == 404);
}

TEST_CASE("handle_rest_read rejects writes and malformed messages") {
  Fixture fixture;
  for (const std::string& message : {http_create("people"), std::string(), create("people")}) {
    handle_rest_read(fixture.account, fixture.store, message, commit_time, fixture.response);
    check_malformed(fixture.response);
  }
  CHECK(fixture.store.stats().tables.empty());
}

TEST_CASE("A write whose body is pending gets the response 100 and changes nothing") {
  Fixture fixture;
  Request request{"POST", {}, {}, {}, {}};
  const std::string url = base + "Tables";
  request.url = url;
  request.body_pending = true;
  const std::string message = http_request_message(request);
  handle_rest_read(fixture.account, fixture.store, message, commit_time, fixture.response);
  CHECK(parse_http_response(fixture.response).status == 100);
  const StagedResponses staged = fixture.commit({message});
  CHECK(parse_http_response(staged.responses[0]).status == 100);
  CHECK_FALSE(staged.changes);
}

TEST_CASE("A call sent again gets the same response in RPC and REST, and changes nothing") {
  Fixture fixture;
  fixture.commit({create("people")});
  const std::vector<std::string> messages = {in_call(1, insert("a")), in_call(2, http_insert("b")),
                                             in_call(3, create("places"))};
  const StagedResponses first = fixture.commit(messages);
  CHECK(first.failed == std::vector<char>{false, false, false});
  const StagedResponses again = fixture.commit(messages);
  CHECK_FALSE(again.changes);
  CHECK(again.failed == std::vector<char>{false, false, false});
  for (std::size_t i = 0; i < messages.size(); ++i) {
    CHECK(again.responses[i].str() == first.responses[i].str());
  }

  const StagedResponses others =
      fixture.commit({in_call(1, insert("a"), 'b'), in_call(4, insert("a"))});
  CHECK(others.failed == std::vector<char>{true, true});
}

TEST_CASE("A call that failed is tried again when it is sent again") {
  Fixture fixture;
  CHECK(fixture.commit({in_call(1, insert("a"))}).failed[0]);
  fixture.commit({create("people")});
  CHECK_FALSE(fixture.commit({in_call(1, insert("a"))}).failed[0]);
}

TEST_CASE("A malformed call is rejected, and the other messages of its group are not") {
  Fixture fixture;
  fixture.commit({create("people")});
  const std::string good = in_call(1, insert("a"));
  std::string version = good;
  version[1] = 2;
  std::string reserved = good;
  reserved[3] = 1;
  const StagedResponses staged =
      fixture.commit({version, reserved, in_call(2, good), good.substr(0, 31), insert("b")});
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(staged.failed[i]);
    check_malformed(staged.responses[i]);
  }
  CHECK_FALSE(staged.failed[4]);
  check_malformed(fixture.commit({good.substr(0, 32)}).responses[0]);  // contains no message
}

TEST_CASE("Nothing is staged and there are no responses while parts are unloaded") {
  test::TestHost host;
  Fixture fixture;
  fixture.commit({create("people"), insert("1")});
  REQUIRE(host.checkpoint(fixture.store));
  fixture.store = std::move(*host.open(test::TestHost::Load::on_demand));
  const std::vector<PartId> parts = {host.parts.begin()->first};
  CHECK(handle_rest_read(fixture.account, fixture.store, http("GET", "people"), commit_time,
                         fixture.response) == parts);

  const std::vector<std::string> group = {http_create("other"), insert("2"), http_insert("1")};
  StagedResponses staged = fixture.stage(group);
  CHECK(staged.parts_needed == parts);
  CHECK_FALSE(staged.changes);
  CHECK(fixture.stage({http_batch_get("people"), http_create("other")}).parts_needed == parts);
  host.load_parts(fixture.store, parts);
  staged = fixture.commit(group);
  CHECK(staged.parts_needed.empty());
  CHECK(parse_http_response(staged.responses[0]).status == 201);
  CHECK_FALSE(staged.failed[1]);
  CHECK(parse_http_response(staged.responses[2]).status == 409);
}

}  // namespace entitable::dispatch
