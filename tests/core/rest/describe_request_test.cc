#include "core/rest/describe_request.h"

#include <string>
#include <string_view>
#include <vector>

#include "core/model/limits.h"
#include "core/rest/http_codec.h"
#include "core/rest/route.h"
#include "tests/core/rest/conversation.h"
#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

const std::string base = "http://127.0.0.1:10002/acct/";
const std::string entity = "people(PartitionKey='p',RowKey='it''s%20%C3%A9')";

RequestDescription asked(std::string_view method, const std::string& path,
                         const std::vector<HeaderView>& headers = {}, std::string_view body = "") {
  Account account;
  account.name = "acct";
  const std::string url = base + path;
  RequestDescription out = {
      RequestOperation::batch, "left", "left", "left", "left", {"left"}, 1, {{}}};
  describe_request(account, Request{method, url, headers, body, {}}, out);
  return out;
}

RequestDescription of(RequestOperation operation) {
  RequestDescription out;
  out.operation = operation;
  return out;
}
RequestDescription of_table(RequestOperation operation) {
  RequestDescription out = of(operation);
  out.table = "people";
  return out;
}
RequestDescription of_entity(RequestOperation operation) {
  RequestDescription out = of_table(operation);
  out.partition = "p";
  out.row = "it's \xC3\xA9";
  return out;
}

RequestDescription batch(const std::string& body) {
  return asked("POST", "$batch", {{"Content-Type", "multipart/mixed; boundary=b"}}, body);
}
std::string change(const std::string& request) {
  return "--c\r\nContent-Type: application/http\r\n\r\n" + request + "\r\n";
}
std::string change_set(const std::string& changes) {
  return "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n" + changes + "--c--\r\n--b--";
}

}  // namespace

TEST_CASE("Every line of the table of operations is described") {
  const HeaderView any{"If-Match", "*"};
  CHECK(asked("GET", "Tables") == of(RequestOperation::list_tables));
  CHECK(asked("GET", "Tables('people')") == of_table(RequestOperation::get_table));
  CHECK(asked("POST", "Tables", {}, R"({"TableName":"people"})") ==
        of_table(RequestOperation::create_table));
  CHECK(asked("DELETE", "Tables('people')") == of_table(RequestOperation::drop_table));
  CHECK(asked("GET", "people?comp=acl") == of_table(RequestOperation::get_acl));
  CHECK(asked("HEAD", "people?comp=acl") == of_table(RequestOperation::get_acl));
  CHECK(asked("PUT", "people?comp=acl") == of_table(RequestOperation::set_acl));
  CHECK(asked("GET", "?restype=service&comp=properties") == of(RequestOperation::get_properties));
  CHECK(asked("PUT", "?restype=service&comp=properties") == of(RequestOperation::set_properties));
  CHECK(asked("GET", "?restype=service&comp=stats") == of(RequestOperation::get_statistics));
  CHECK(asked("GET", "people()") == of_table(RequestOperation::query));
  CHECK(asked("GET", entity) == of_entity(RequestOperation::get));
  CHECK(asked("PUT", entity) == of_entity(RequestOperation::upsert_replace));
  CHECK(asked("PUT", entity, {any}) == of_entity(RequestOperation::update));
  CHECK(asked("PATCH", entity) == of_entity(RequestOperation::upsert_merge));
  CHECK(asked("MERGE", entity, {any}) == of_entity(RequestOperation::merge));
  CHECK(asked("POST", entity, {any, {"X-HTTP-Method", "MERGE"}}) ==
        of_entity(RequestOperation::merge));
  CHECK(asked("DELETE", entity, {any}) == of_entity(RequestOperation::remove));
  CHECK(asked("OPTIONS", "people") == of_table(RequestOperation::preflight));
  CHECK(asked("POST", "$batch") == of(RequestOperation::batch));
}

TEST_CASE("An insert is described by its body") {
  RequestDescription insert = of_table(RequestOperation::insert);
  CHECK(asked("POST", "people", {}, "{") == insert);
  CHECK(asked("POST", "people", {}, R"({"PartitionKey":1,"RowKey":null})") == insert);
  CHECK(asked("POST", "people", {}, std::string(limits::request_bytes_max + 1, ' ')) == insert);
  insert.row = "r";
  CHECK(asked("POST", "people", {}, R"({"RowKey":"r","n@odata.type":"Edm.No","n":[]})") == insert);
  insert.partition = "\xED\xA0\xBD";
  CHECK(asked("POST", "people", {}, R"({"RowKey":"r","PartitionKey":"\ud83d"})") == insert);
  CHECK(asked("POST", "Tables", {}, R"({"TableName":1})") == of(RequestOperation::create_table));
}

TEST_CASE("Queries are described with their options, as far as they can be parsed") {
  const RequestDescription query =
      asked("GET", "people?$filter=Age+gt%203&$select=Age,%20Name,Age&$top=1001");
  CHECK(query.operation == RequestOperation::query);
  CHECK(query.filter == "Age gt 3");
  CHECK(query.select == std::vector<std::string>{"Age", "Name"});
  CHECK(query.top == 1001u);
  CHECK(asked("GET", "people?$top=-1&$select=*") == of_table(RequestOperation::query));
  CHECK(asked("GET", "people?$top=many") == of_table(RequestOperation::query));
  const RequestDescription get = asked("GET", entity + "?$select=Age&$filter=x");
  CHECK(get.select == std::vector<std::string>{"Age"});
  CHECK_FALSE(get.filter.has_value());
}

TEST_CASE("A request that cannot be parsed has an unknown operation and whatever was parsed") {
  CHECK(asked("GET", "a/b/c") == RequestDescription{});
  CHECK(asked("GET", "people(PartitionKey='p')") == RequestDescription{});
  CHECK(asked("FETCH", "people") == of_table(RequestOperation::unknown));
  CHECK(asked("DELETE", "people") == of_table(RequestOperation::unknown));
  CHECK(asked("GET", "people?comp=nothing") == of_table(RequestOperation::unknown));
  CHECK(asked("GET", "people?timeout=0") == of_table(RequestOperation::unknown));
  CHECK(asked("POST", entity, {{"X-HTTP-Method", "GET"}}) == of_entity(RequestOperation::unknown));
}

TEST_CASE("A batch is described operation by operation") {
  const RequestDescription told =
      batch(change_set(change("PATCH /acct/" + entity + " HTTP/1.1\r\nIf-Match: *\r\n\r\n{}") +
                       change("POST " + base + "people HTTP/1.1\r\n\r\n{\"PartitionKey\":\"q\"}") +
                       change("POST " + base + "$batch HTTP/1.1\r\n\r\n") +
                       change("PUT " + base + "a/b HTTP/1.1\r\n\r\n")));
  RequestDescription insert = of_table(RequestOperation::insert);
  insert.partition = "q";
  CHECK(told.operation == RequestOperation::batch);
  CHECK(told.table == "people");
  CHECK(told.partition == "p");
  CHECK_FALSE(told.row.has_value());
  CHECK(told.operations == std::vector<RequestDescription>{of_entity(RequestOperation::merge),
                                                           insert, of(RequestOperation::batch),
                                                           RequestDescription{}});
  const RequestDescription query = batch("--b\r\nContent-Type: application/http\r\n\r\nGET " +
                                         base + "people?$top=3 HTTP/1.1\r\n\r\n--b--");
  REQUIRE(query.operations.size() == 1);
  CHECK(query.operations[0].operation == RequestOperation::query);
  CHECK(query.operations[0].top == 3u);
  CHECK(batch("no batch") == of(RequestOperation::batch));
}

TEST_CASE("A response contains the outcome of its request") {
  test::RestServer server;
  const auto outcome = [&](std::string_view method, const std::string& path,
                           const std::vector<HeaderView>& headers, std::string_view body) {
    return response_outcome(encode_http_response(server.send(method, path, headers, body)));
  };
  CHECK(outcome("POST", "/Tables", {}, R"({"TableName":"people"})") == ResponseOutcome{201, ""});
  CHECK(outcome("POST", "/Tables", {}, R"({"TableName":"people"})") ==
        ResponseOutcome{409, "TableAlreadyExists"});
  CHECK(outcome("GET", "/people?comp=no", {}, "") ==
        ResponseOutcome{400, "InvalidQueryParameterValue"});
  // A string value that looks like the status line and the error code that response_outcome looks
  // for.
  const std::string row =
      R"({"PartitionKey":"p","RowKey":"1","s":"\r\nHTTP/1.1 404 \"odata.error\":{\"code\":\"X\""})";
  const std::string body =
      change_set(change("POST /devstoreaccount1/people HTTP/1.1\r\n\r\n" + row));
  const std::vector<HeaderView> mixed = {{"Content-Type", "multipart/mixed; boundary=b"}};
  CHECK(outcome("POST", "/$batch", mixed, body) == ResponseOutcome{202, ""});
  CHECK(outcome("POST", "/$batch", mixed, body) == ResponseOutcome{409, "EntityAlreadyExists"});
  CHECK(outcome("POST", "/$batch", mixed, "no batch") == ResponseOutcome{400, "InvalidInput"});
  const std::string get =
      "--b\r\nContent-Type: application/http\r\n\r\nGET "
      "/devstoreaccount1/people(PartitionKey='p',RowKey='2') HTTP/1.1\r\n\r\n"
      "--b--";
  CHECK(outcome("POST", "/$batch", mixed, get) == ResponseOutcome{404, "ResourceNotFound"});
}

}  // namespace entitable::rest
