#include "core/rest/batch_handler.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/model/limits.h"
#include "core/model/service_error.h"
#include "core/txn/entity_group.h"
#include "tests/core/rest/line_ends.h"
#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

using test::crlf;

constexpr Ticks then = 637'311'980'884'767'123;
const std::string id = "0123456789abcdef";
const std::string guid = "30313233-3435-3637-3839-616263646566";

// ---- Single operations, in a made-up form: "PUT http://h/<table>/<partition>/<row>"
// --------------

std::string_view take(std::string_view& path) {
  const std::size_t end = path.find('/');
  const std::string_view piece = path.substr(0, end);
  path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
  return piece;
}

MakeErrorResponse error_response_maker(const Request& request) {
  return [method = std::string(request.method)](const Error& error) {
    const ServiceError& service = service_error_of(error.code);
    return Response{
        service.status,
        "Refused",
        {{"Content-Type", "text/plain"}},
        method + " " + std::string(service.code) + " " + std::string(error_message(error))};
  };
}

Result<EntityWrite> parse(const Request& request) {
  std::string_view path = request.url;
  if (path.substr(0, 7) != "http://") return Error(ErrorCode::invalid_uri);
  path.remove_prefix(7);
  take(path);
  const std::string_view table = take(path), partition = take(path), row = take(path);
  if (table == "forbidden") return Error(ErrorCode::authorization_failure);
  if (table.empty()) return Error(ErrorCode::invalid_uri);
  const bool deletes = request.method == "DELETE", inserts = request.method == "POST";
  Operation operation{deletes   ? OperationKind::remove
                      : inserts ? OperationKind::insert
                                : OperationKind::insert_or_replace,
                      EntityKey(partition, row),
                      {},
                      {}};
  if (deletes) operation.if_match = *IfMatch::parse("*");
  if (!request.body.empty()) {
    operation.properties.push_back({"body", Value::of_string(request.body)});
  }
  const auto make_response = [inserts, url = std::string(request.url)](Ticks timestamp) {
    Response response{204, "No Content", {}, ""};
    if (timestamp != 0) response.headers.push_back({"ETag", "etag-" + std::to_string(timestamp)});
    if (inserts) response.headers.push_back({"Location", url});
    return response;
  };
  return EntityWrite{std::string(table), std::move(operation), make_response,
                     error_response_maker(request)};
}

HandleResult read(const Request& request) {
  if (request.url == "http://h/parts") return PartsNeeded{{7}};
  return Response{200, "OK", {{"x-next", "n"}, {"Content-Type", "a/b"}}, std::string(request.url)};
}

// ---- Batches ------------------------------------------------------------------------------------

std::string operation(std::string_view request, std::string_view body = "") {
  return "--c\nContent-Type: application/http\n\n" + std::string(request) + "\n\n" +
         std::string(body) + "\n";
}

std::string change_set(const std::string& operations) {
  return "--b\nContent-Type: multipart/mixed; boundary=c\n\n" + operations + "--c--\n--b--\n";
}

HandleResult handle(const std::string& body) {
  const Request request{
      "POST", "http://h/$batch?sig=x", {{"Content-Type", "multipart/mixed; boundary=b"}}, body, {}};
  return handle_batch(request, "http://h", RequestContext{then, id},
                      BatchCallbacks{parse, read, error_response_maker});
}

UnstagedWrite pending(const std::string& body) {
  HandleResult handled = handle(body);
  REQUIRE(std::holds_alternative<UnstagedWrite>(handled));
  return std::get<UnstagedWrite>(std::move(handled));
}

const WriteEntities& entities(const UnstagedWrite& write) {
  return std::get<WriteEntities>(write.request.body);
}

Response refused(const std::string& body) {
  const HandleResult handled = handle(body);
  REQUIRE(std::holds_alternative<Response>(handled));
  return std::get<Response>(handled);
}

std::string puts(std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    out += operation("PUT http://h/t/p/" + std::to_string(i) + " HTTP/1.1");
  }
  return out;
}

// The expected body of the response to a failed change set, which has one part.
std::string failed_part(std::string_view line_and_headers, std::string_view body) {
  return crlf("--batchresponse_" + guid + "\nContent-Type: multipart/mixed; boundary=" +
              "changesetresponse_" + guid + "\n\n--changesetresponse_" + guid +
              "\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\nHTTP/1.1 " +
              std::string(line_and_headers) + "\n\n" + std::string(body) +
              "\n--changesetresponse_" + guid + "--\n--batchresponse_" + guid + "--\n");
}

void check_failed(const Response& response, std::string_view status, const std::string& body) {
  CHECK(response.status == 202);
  CHECK(response.body ==
        failed_part(std::string(status) +
                        " Refused\nX-Content-Type-Options: nosniff\nCache-Control: no-cache\n"
                        "DataServiceVersion: 3.0;\nContent-Type: text/plain",
                    body));
}

// The response if the store fails operation `index` of the write.
Response failed_with(const UnstagedWrite& write, Error error, std::size_t index) {
  const std::size_t operations = entities(write).operations.size();
  return write.make_response(operation_failure(std::move(error), index, operations, true));
}

}  // namespace

TEST_CASE("A change set becomes one write with all its operations in order") {
  const UnstagedWrite write =
      pending(change_set(operation("POST http://h/People/p/1 HTTP/1.1", "one") +
                         operation("DELETE http://other/people/p/2 HTTP/1.1") +
                         operation("PUT /PEOPLE/p/3 HTTP/1.1")));
  const WriteEntities& group = entities(write);
  CHECK(group.transaction);
  CHECK(group.size_checked);
  CHECK(equal_ignoring_case(group.table, "people"));
  REQUIRE(group.operations.size() == 3);
  CHECK(group.operations[0].kind == OperationKind::insert);
  CHECK(group.operations[0].properties[0].value == ValueView::of_string("one"));
  CHECK(group.operations[1].kind == OperationKind::remove);
  CHECK(group.operations[2].key == EntityKey("p", "3"));
}

TEST_CASE("The response to a change set has one part per operation, as the service writes it") {
  const UnstagedWrite write = pending(change_set(
      operation("POST http://h/t/p/1 HTTP/1.1\nContent-ID: 7", "one") +
      operation("PUT http://h/t/p/2 HTTP/1.1") + operation("DELETE http://h/t/p/3 HTTP/1.1")));
  const Response response = write.make_response(WriteSuccess{{11, 12, 0}});
  CHECK(response.status == 202);
  CHECK(response.reason == "Accepted");
  CHECK(response.headers ==
        std::vector<Header>{{"Content-Type", "multipart/mixed; boundary=batchresponse_" + guid}});
  const std::string part = "--changesetresponse_" + guid +
                           "\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n"
                           "HTTP/1.1 204 No Content\n";
  const std::string common = "X-Content-Type-Options: nosniff\nCache-Control: no-cache\n";
  CHECK(response.body ==
        crlf("--batchresponse_" + guid + "\nContent-Type: multipart/mixed; boundary=" +
             "changesetresponse_" + guid + "\n\n" + part + "Content-ID: 7\n" + common +
             "DataServiceVersion: 3.0;\nLocation: http://h/t/p/1\nETag: etag-11\n\n\n" + part +
             common + "DataServiceVersion: 1.0;\nETag: etag-12\n\n\n" + part + common +
             "DataServiceVersion: 1.0;\n\n\n--changesetresponse_" + guid + "--\n--batchresponse_" +
             guid + "--\n"));
}

TEST_CASE("A Content-ID that is not visible text is not returned") {
  for (const char* content_id : {"\x88", "a b"}) {
    CAPTURE(content_id);
    const UnstagedWrite write = pending(change_set(
        operation("POST http://h/t/p/1 HTTP/1.1\nContent-ID: " + std::string(content_id), "one")));
    CHECK(write.make_response(WriteSuccess{{11}}).body.find("Content-ID") == std::string::npos);
  }
}

TEST_CASE("A failure of the store is one part, with the index of its operation") {
  const UnstagedWrite write = pending(change_set(puts(3)));
  check_failed(failed_with(write, Error(ErrorCode::entity_already_exists), 1), "409",
               "PUT EntityAlreadyExists 1:The specified entity already exists.");
  check_failed(failed_with(write, Error(ErrorCode::table_not_found), 0), "404",
               "PUT TableNotFound 0:The table specified does not exist.");
}

TEST_CASE("A single operation has no index prefix if it fails at commit") {
  const UnstagedWrite write = pending(change_set(puts(1)));
  check_failed(failed_with(write, Error(ErrorCode::update_condition_not_satisfied), 0), "412",
               "PUT UpdateConditionNotSatisfied The update condition specified in the request was "
               "not satisfied.");
  check_failed(failed_with(write, Error(ErrorCode::table_not_found), 0), "404",
               "PUT TableNotFound 0:The table specified does not exist.");
}

TEST_CASE("Errors that no single operation causes are the response to the whole batch") {
  const UnstagedWrite write = pending(change_set(puts(2)));
  for (const ErrorCode code :
       {ErrorCode::request_body_too_large, ErrorCode::out_of_memory, ErrorCode::internal_error,
        ErrorCode::corrupted, ErrorCode::format_too_new, ErrorCode::read_only}) {
    const Response response = write.make_response(GroupFailure{Error(code)});
    CHECK(response.status == service_error_of(code).status);
    CHECK(response.body.substr(0, 5) == "POST ");
  }
}

TEST_CASE("An operation that cannot be parsed is rejected with its index") {
  check_failed(refused(change_set(puts(1) + operation("PUT http://h/ HTTP/1.1") + puts(1))), "400",
               "PUT InvalidUri 1:The requested URI does not represent any resource on the server.");
  check_failed(refused(change_set(puts(1) + operation("PUT http://h/forbidden/p/9 HTTP/1.1"))),
               "403",
               "PUT AuthorizationFailure 1:This request is not authorized to perform this "
               "operation.");
  check_failed(refused(change_set(operation("PUT ftp://h/t/p/9 HTTP/1.1"))), "400",
               "PUT InvalidUri 0:The requested URI does not represent any resource on the server.");
}

TEST_CASE("A violated rule of transactions is reported before a later syntax error") {
  check_failed(
      refused(change_set(puts(1) + puts(1) + operation("PUT http://h/ HTTP/1.1"))), "400",
      "PUT InvalidDuplicateRow 1:The batch request contains multiple changes with same row "
      "key. An entity can appear only once in a batch request.");
}

TEST_CASE("All operations are on one table, in any spelling of its name") {
  check_failed(refused(change_set(puts(2) + operation("PUT http://h/other/p/9 HTTP/1.1"))), "400",
               "PUT CommandsInBatchActOnDifferentPartitions 2:All commands in a batch must operate "
               "on same entity group.");
}

TEST_CASE("The store checks the rules of transactions: it gets all operations") {
  const WriteEntities group = entities(pending(change_set(
      operation("PUT http://h/t/p/1 HTTP/1.1") + operation("PUT http://h/t/q/2 HTTP/1.1"))));
  const auto failure = check_group(group.operations, group.transaction, group.size_checked);
  REQUIRE(failure.has_value());
  CHECK(failure->error.code == ErrorCode::batch_partitions_differ);
  CHECK(failure->index == 1);
}

TEST_CASE("100 operations are accepted, and the store rejects more") {
  CHECK(entities(pending(change_set(puts(100)))).operations.size() == 100);
  const UnstagedWrite write = pending(change_set(puts(150)));
  const WriteEntities& group = entities(write);
  const auto failure = check_group(group.operations, group.transaction, group.size_checked);
  REQUIRE(failure.has_value());
  check_failed(
      write.make_response(*failure), "400",
      "PUT InvalidInput 99:The batch request operation exceeds the maximum 100 changes per "
      "change set.");
}

TEST_CASE("Errors in the batch itself are the response to the whole, not a part") {
  for (const std::string& body : {std::string(), std::string("nonsense"), change_set(""),
                                  change_set(operation("GET http://h/t HTTP/1.1"))}) {
    const Response response = refused(body);
    CHECK(response.status == 400);
    CHECK(response.body == "POST InvalidInput One of the request inputs is not valid.");
  }
  const Response too_big = refused(std::string(limits::request_bytes_max + 1, ' '));
  CHECK(too_big.status == 413);
  CHECK(too_big.body.substr(0, 24) == "POST RequestBodyTooLarge");
}

TEST_CASE("A query has a response of one part, outside a change set") {
  const auto query = [](std::string_view line) {
    return "--b\nContent-Type: application/http\n\n" + std::string(line) + "\n\n--b--";
  };
  const Response response = refused(query("GET /t() HTTP/1.1\nContent-ID: 3"));
  CHECK(response.status == 202);
  CHECK(response.body ==
        crlf("--batchresponse_" + guid +
             "\nContent-Type: application/http\nContent-Transfer-Encoding: binary\n\n"
             "HTTP/1.1 200 OK\nContent-ID: 3\nX-Content-Type-Options: nosniff\n"
             "Cache-Control: no-cache\nDataServiceVersion: 3.0;\nContent-Type: a/b\nx-next: n\n\n"
             "http://h/t()\n--batchresponse_" +
             guid + "--\n"));
  const HandleResult need = handle(query("GET http://h/parts HTTP/1.1"));
  REQUIRE(std::holds_alternative<PartsNeeded>(need));
}

}  // namespace entitable::rest
