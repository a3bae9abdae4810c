#include "core/protocol/describe.h"

#include <string>
#include <string_view>
#include <vector>

#include "core/model/limits.h"
#include "core/protocol/http_codec.h"
#include "core/protocol/route.h"
#include "tests/core/protocol/conversation.h"
#include "tests/support/catch.h"

namespace entitable::protocol {
namespace {

const std::string base = "http://127.0.0.1:10002/acct/";
const std::string entity = "people(PartitionKey='p',RowKey='it''s%20%C3%A9')";

Description asked(std::string_view method, const std::string& path,
                  const std::vector<HeaderView>& headers = {}, std::string_view body = "") {
  Account account;
  account.name = "acct";
  const std::string url = base + path;
  Description out = {DescribedAs::batch, "left", "left", "left", "left", {"left"}, 1, {{}}};
  describe(account, Request{method, url, headers, body, {}}, out);
  return out;
}

Description of(DescribedAs operation) {
  Description out;
  out.operation = operation;
  return out;
}
Description of_table(DescribedAs operation) {
  Description out = of(operation);
  out.table = "people";
  return out;
}
Description of_entity(DescribedAs operation) {
  Description out = of_table(operation);
  out.partition = "p";
  out.row = "it's \xC3\xA9";
  return out;
}

Description batch(const std::string& body) {
  return asked("POST", "$batch", {{"Content-Type", "multipart/mixed; boundary=b"}}, body);
}
std::string change(const std::string& request) {
  return "--c\r\nContent-Type: application/http\r\n\r\n" + request + "\r\n";
}
std::string change_set(const std::string& changes) {
  return "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n" + changes + "--c--\r\n--b--";
}

}  // namespace

TEST_CASE("Every line of the table of operations is told") {
  const HeaderView any{"If-Match", "*"};
  CHECK(asked("GET", "Tables") == of(DescribedAs::list_tables));
  CHECK(asked("GET", "Tables('people')") == of_table(DescribedAs::get_table));
  CHECK(asked("POST", "Tables", {}, R"({"TableName":"people"})") ==
        of_table(DescribedAs::create_table));
  CHECK(asked("DELETE", "Tables('people')") == of_table(DescribedAs::drop_table));
  CHECK(asked("GET", "people?comp=acl") == of_table(DescribedAs::get_acl));
  CHECK(asked("HEAD", "people?comp=acl") == of_table(DescribedAs::get_acl));
  CHECK(asked("PUT", "people?comp=acl") == of_table(DescribedAs::set_acl));
  CHECK(asked("GET", "?restype=service&comp=properties") == of(DescribedAs::get_properties));
  CHECK(asked("PUT", "?restype=service&comp=properties") == of(DescribedAs::set_properties));
  CHECK(asked("GET", "?restype=service&comp=stats") == of(DescribedAs::get_statistics));
  CHECK(asked("GET", "people()") == of_table(DescribedAs::query));
  CHECK(asked("GET", entity) == of_entity(DescribedAs::get));
  CHECK(asked("PUT", entity) == of_entity(DescribedAs::upsert_replace));
  CHECK(asked("PUT", entity, {any}) == of_entity(DescribedAs::update));
  CHECK(asked("PATCH", entity) == of_entity(DescribedAs::upsert_merge));
  CHECK(asked("MERGE", entity, {any}) == of_entity(DescribedAs::merge));
  CHECK(asked("POST", entity, {any, {"X-HTTP-Method", "MERGE"}}) == of_entity(DescribedAs::merge));
  CHECK(asked("DELETE", entity, {any}) == of_entity(DescribedAs::remove));
  CHECK(asked("OPTIONS", "people") == of_table(DescribedAs::preflight));
  CHECK(asked("POST", "$batch") == of(DescribedAs::batch));
}

TEST_CASE("An insert is told by its body") {
  Description insert = of_table(DescribedAs::insert);
  CHECK(asked("POST", "people", {}, "{") == insert);
  CHECK(asked("POST", "people", {}, R"({"PartitionKey":1,"RowKey":null})") == insert);
  CHECK(asked("POST", "people", {}, std::string(limits::request_bytes_max + 1, ' ')) == insert);
  insert.row = "r";
  CHECK(asked("POST", "people", {}, R"({"RowKey":"r","n@odata.type":"Edm.No","n":[]})") == insert);
  insert.partition = "\xED\xA0\xBD";
  CHECK(asked("POST", "people", {}, R"({"RowKey":"r","PartitionKey":"\ud83d"})") == insert);
  CHECK(asked("POST", "Tables", {}, R"({"TableName":1})") == of(DescribedAs::create_table));
}

TEST_CASE("Queries are told with what they ask for, as far as it can be read") {
  const Description query =
      asked("GET", "people?$filter=Age+gt%203&$select=Age,%20Name,Age&$top=1001");
  CHECK(query.operation == DescribedAs::query);
  CHECK(query.filter == "Age gt 3");
  CHECK(query.select == std::vector<std::string>{"Age", "Name"});
  CHECK(query.top == 1001u);
  CHECK(asked("GET", "people?$top=-1&$select=*") == of_table(DescribedAs::query));
  CHECK(asked("GET", "people?$top=many") == of_table(DescribedAs::query));
  const Description get = asked("GET", entity + "?$select=Age&$filter=x");
  CHECK(get.select == std::vector<std::string>{"Age"});
  CHECK_FALSE(get.filter.has_value());
}

TEST_CASE("What can't be made out is unknown, with what is known") {
  CHECK(asked("GET", "a/b/c") == Description{});
  CHECK(asked("GET", "people(PartitionKey='p')") == Description{});
  CHECK(asked("FETCH", "people") == of_table(DescribedAs::unknown));
  CHECK(asked("DELETE", "people") == of_table(DescribedAs::unknown));
  CHECK(asked("GET", "people?comp=nothing") == of_table(DescribedAs::unknown));
  CHECK(asked("GET", "people?timeout=0") == of_table(DescribedAs::unknown));
  CHECK(asked("POST", entity, {{"X-HTTP-Method", "GET"}}) == of_entity(DescribedAs::unknown));
}

TEST_CASE("A batch is told operation by operation") {
  const Description told =
      batch(change_set(change("PATCH /acct/" + entity + " HTTP/1.1\r\nIf-Match: *\r\n\r\n{}") +
                       change("POST " + base + "people HTTP/1.1\r\n\r\n{\"PartitionKey\":\"q\"}") +
                       change("POST " + base + "$batch HTTP/1.1\r\n\r\n") +
                       change("PUT " + base + "a/b HTTP/1.1\r\n\r\n")));
  Description insert = of_table(DescribedAs::insert);
  insert.partition = "q";
  CHECK(told.operation == DescribedAs::batch);
  CHECK(told.table == "people");
  CHECK(told.partition == "p");
  CHECK_FALSE(told.row.has_value());
  CHECK(told.operations == std::vector<Description>{of_entity(DescribedAs::merge), insert,
                                                    of(DescribedAs::batch), Description{}});
  const Description query = batch("--b\r\nContent-Type: application/http\r\n\r\nGET " + base +
                                  "people?$top=3 HTTP/1.1\r\n\r\n--b--");
  REQUIRE(query.operations.size() == 1);
  CHECK(query.operations[0].operation == DescribedAs::query);
  CHECK(query.operations[0].top == 3u);
  CHECK(batch("no batch") == of(DescribedAs::batch));
}

TEST_CASE("A response says what became of its request") {
  test::RestServer server;
  const auto outcome = [&](std::string_view method, const std::string& path,
                           const std::vector<HeaderView>& headers, std::string_view body) {
    return outcome_of(write_response(server.send(method, path, headers, body)));
  };
  CHECK(outcome("POST", "/Tables", {}, R"({"TableName":"people"})") == Outcome{201, ""});
  CHECK(outcome("POST", "/Tables", {}, R"({"TableName":"people"})") ==
        Outcome{409, "TableAlreadyExists"});
  CHECK(outcome("GET", "/people?comp=no", {}, "") == Outcome{400, "InvalidQueryParameterValue"});
  // Values that look like what is searched for.
  const std::string row =
      R"({"PartitionKey":"p","RowKey":"1","s":"\r\nHTTP/1.1 404 \"odata.error\":{\"code\":\"X\""})";
  const std::string body =
      change_set(change("POST /devstoreaccount1/people HTTP/1.1\r\n\r\n" + row));
  const std::vector<HeaderView> mixed = {{"Content-Type", "multipart/mixed; boundary=b"}};
  CHECK(outcome("POST", "/$batch", mixed, body) == Outcome{202, ""});
  CHECK(outcome("POST", "/$batch", mixed, body) == Outcome{409, "EntityAlreadyExists"});
  CHECK(outcome("POST", "/$batch", mixed, "no batch") == Outcome{400, "InvalidInput"});
  const std::string get =
      "--b\r\nContent-Type: application/http\r\n\r\nGET "
      "/devstoreaccount1/people(PartitionKey='p',RowKey='2') HTTP/1.1\r\n\r\n"
      "--b--";
  CHECK(outcome("POST", "/$batch", mixed, get) == Outcome{404, "ResourceNotFound"});
}

}  // namespace entitable::protocol
