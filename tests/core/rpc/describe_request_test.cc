#include "core/rpc/describe_request.h"

#include <string>
#include <utility>
#include <vector>

#include "core/rpc/operations.h"
#include "tests/core/rpc/request_builder.h"
#include "tests/support/catch.h"

namespace entitable::rpc {
namespace {

using test::OperationRecord;
using test::RequestBuilder;
using test::write_request;

RequestDescription describe_request(std::string_view message) {
  RequestDescription out = {
      RequestOperation::batch, "left", "left", "left", "left", {"left"}, 1, {{}}};
  rpc::describe_request(message, out);
  return out;
}

RequestDescription one(RequestOperation operation, std::string row) {
  RequestDescription out;
  out.operation = operation;
  out.table = "people";
  out.partition = "p";
  out.row = std::move(row);
  return out;
}

RequestBuilder query(RequestKind kind = RequestKind::query) {
  return RequestBuilder(kind).text("people").text("Age gt 3").word(5).text("p").no_text();
}

std::string written(std::uint32_t flags, std::vector<OperationRecord> operations) {
  return write_request({"people", std::move(operations), flags}).build();
}

std::string error_response(const ServiceError& error, const HeaderViews& headers = {}) {
  ResponseBuffer out;
  encode_error(out, error, headers);
  return out.str();
}

}  // namespace

TEST_CASE("The description of an entity operation has its key") {
  const std::pair<std::uint32_t, RequestOperation> kinds[] = {
      {0, RequestOperation::insert},       {1, RequestOperation::update},
      {2, RequestOperation::merge},        {3, RequestOperation::upsert_replace},
      {4, RequestOperation::upsert_merge}, {5, RequestOperation::remove}};
  for (const auto& [kind, described] : kinds) {
    CHECK(describe_request(written(0, {{kind, "p", "r", {}, ""}})) == one(described, "r"));
  }
  const std::string get =
      RequestBuilder(RequestKind::get).text("people").text("p").text("r").word(0).build();
  CHECK(describe_request(get) == one(RequestOperation::get, "r"));
}

TEST_CASE("Counts, descending queries and lists of partition keys are described as queries") {
  for (const RequestKind kind : {RequestKind::query_descending, RequestKind::count}) {
    const RequestDescription described = describe_request(query(kind).word(0).build());
    CHECK(described == describe_request(query().word(0).build()));
    CHECK(described.operation == RequestOperation::query);
  }
  RequestDescription keys;
  keys.operation = RequestOperation::query;
  keys.table = "people";
  keys.top = 5;
  RequestBuilder request(RequestKind::partition_keys);
  CHECK(describe_request(request.text("people").word(5).no_text().build()) == keys);
}

TEST_CASE("The description of a multi-get has only the table") {
  RequestBuilder each(RequestKind::multi_get);
  RequestDescription some;
  some.operation = RequestOperation::get;
  some.table = "people";
  CHECK(describe_request(each.text("people").word(1).text("p").text("r").build()) == some);
}

TEST_CASE(
    "The description of a transaction lists each operation, whatever properties lie between") {
  const std::string message = written(
      1, {{0,
           "p",
           "1",
           {test::string_property("s", "h\xC3\xA9llo"), test::binary_property("b", "bytes")},
           ""},
          {1, "p", "2", {test::text_property("i", EdmType::int64, 1, "no number")}, "no etag"},
          {5, "q", "\xED\xA0\xBD", {}, "*"}});
  const RequestDescription batch = describe_request(message);
  CHECK(batch.operation == RequestOperation::batch);
  CHECK(batch.table == "people");
  CHECK(batch.partition == "p");
  CHECK_FALSE(batch.row.has_value());
  RequestDescription third = one(RequestOperation::remove, "\xED\xA0\xBD");
  third.partition = "q";
  CHECK(batch.operations == std::vector<RequestDescription>{one(RequestOperation::insert, "1"),
                                                            one(RequestOperation::update, "2"),
                                                            third});
  const RequestDescription empty = describe_request(written(1, {}));
  CHECK(empty.operation == RequestOperation::batch);
  CHECK(empty.table == "people");
  CHECK(empty.operations.empty());
}

TEST_CASE("A key that is missing or not a string is absent") {
  const std::string message = RequestBuilder(RequestKind::write)
                                  .word(0)
                                  .word(1)
                                  .word(0)
                                  .text("people")
                                  .word(0)
                                  .word(none)
                                  .word(not_a_string)
                                  .no_text()
                                  .build();
  const RequestDescription insert = describe_request(message);
  CHECK(insert.operation == RequestOperation::insert);
  CHECK_FALSE(insert.partition.has_value());
  CHECK_FALSE(insert.row.has_value());
}

TEST_CASE("The description of a query has the options that the query gives") {
  const RequestDescription asked =
      describe_request(query().word(2).text("Age").text("Name").build());
  CHECK(asked.operation == RequestOperation::query);
  CHECK(asked.table == "people");
  CHECK(asked.filter == "Age gt 3");
  CHECK(asked.top == 5u);
  CHECK(asked.select == std::vector<std::string>{"Age", "Name"});
  CHECK_FALSE(asked.partition.has_value());
  CHECK(describe_request(query(RequestKind::explain).word(0).build()).operation ==
        RequestOperation::explain);
  const RequestDescription all = describe_request(RequestBuilder(RequestKind::query)
                                                      .text("people")
                                                      .no_text()
                                                      .word(none)
                                                      .no_text()
                                                      .no_text()
                                                      .word(1)
                                                      .text("*")
                                                      .build());
  CHECK_FALSE(all.filter.has_value());
  CHECK_FALSE(all.top.has_value());
  CHECK(all.select.empty());
}

TEST_CASE("Table operations are described") {
  CHECK(describe_request(RequestBuilder(RequestKind::create_table).text("a").build()).operation ==
        RequestOperation::create_table);
  const RequestDescription drop =
      describe_request(RequestBuilder(RequestKind::drop_table).text("a").build());
  CHECK(drop.operation == RequestOperation::drop_table);
  CHECK(drop.table == "a");
  const RequestDescription list = describe_request(
      RequestBuilder(RequestKind::list_tables).text("TableName eq 'a'").word(7).no_text().build());
  CHECK(list.operation == RequestOperation::list_tables);
  CHECK(list.filter == "TableName eq 'a'");
  CHECK(list.top == 7u);
  CHECK_FALSE(list.table.has_value());
}

TEST_CASE("The description of a malformed message is empty") {
  const std::string good =
      written(1, {{0, "p", "1", {test::string_property("s", "text")}, ""}, {1, "p", "2", {}, ""}});
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK(describe_request(good.substr(0, size)) == RequestDescription{});
  }
  CHECK(describe_request(written(2, {{0, "p", "1", {}, ""}})) ==
        RequestDescription{});                                      // unknown flags
  CHECK(describe_request(written(0, {})) == RequestDescription{});  // nothing to write
  CHECK(describe_request(written(0, {OperationRecord{}, OperationRecord{}})) ==
        RequestDescription{});  // several operations without a transaction
  CHECK(describe_request(written(0, {{6, "p", "r", {}, ""}})) ==
        RequestDescription{});  // unknown kind of operation
  CHECK(describe_request(RequestBuilder(static_cast<RequestKind>(9)).build()) ==
        RequestDescription{});
  const std::string no_such_name = RequestBuilder(RequestKind::write)
                                       .word(0)
                                       .word(1)
                                       .word(0)
                                       .text("people")
                                       .word(0 | 1 << 8)
                                       .text("p")
                                       .text("r")
                                       .no_text()
                                       .word(0)
                                       .word(7)
                                       .two_words(1)
                                       .build();
  CHECK(describe_request(no_such_name) == RequestDescription{});
}

TEST_CASE("The outcome of a request is read from its response") {
  const std::string insert = written(0, {{0, "p", "1", {}, ""}});
  const std::string batch = written(1, {{0, "p", "1", {}, ""}});
  ResponseBuffer response;
  TimestampFormatter timestamps;
  encode_write_result(response, WriteSuccess{{1}}, timestamps);
  CHECK(response_outcome(insert, response.view()) == ResponseOutcome{204, ""});
  CHECK(response_outcome(batch, response.view()) == ResponseOutcome{202, ""});
  CHECK(response_outcome(RequestBuilder(RequestKind::create_table).text("a").build(),
                         response.view()) == ResponseOutcome{204, ""});
  encode_error(response, GroupFailure{Error(ErrorCode::entity_already_exists), 3, true});
  CHECK(response_outcome(batch, response.view()) == ResponseOutcome{409, "EntityAlreadyExists"});
  encode_error(response, Error(ErrorCode::out_of_memory));  // flagged as a failure of this machine
  CHECK(response_outcome(insert, response.view()) == ResponseOutcome{507, "OutOfMemory"});
  CHECK(
      response_outcome(insert, error_response({503, "ServerBusy", "\xED\xA0\xBD"}, {{"a", "b"}})) ==
      ResponseOutcome{503, "ServerBusy"});
  ResponseWriter(response, ResponseKind::tables, 0).finish();
  CHECK(response_outcome(query().word(0).build(), response.view()) == ResponseOutcome{200, ""});
}

}  // namespace entitable::rpc
