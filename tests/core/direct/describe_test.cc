#include "core/direct/describe.h"

#include <string>
#include <utility>
#include <vector>

#include "core/direct/calls.h"
#include "tests/core/direct/request_builder.h"
#include "tests/support/catch.h"

namespace entitable::direct {
namespace {

using test::OperationRecord;
using test::RequestBuilder;
using test::write_request;

Description describe(std::string_view block) {
  Description out = {DescribedAs::batch, "left", "left", "left", "left", {"left"}, 1, {{}}};
  direct::describe(block, out);
  return out;
}

Description one(DescribedAs operation, std::string row) {
  Description out;
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

std::string error_reply(const ServiceError& error, const HeaderViews& headers = {}) {
  ReplyBuffer out;
  write_error(out, error, headers);
  return out.str();
}

}  // namespace

TEST_CASE("Every operation on an entity is told with its key") {
  const std::pair<std::uint32_t, DescribedAs> kinds[] = {
      {0, DescribedAs::insert},         {1, DescribedAs::update},       {2, DescribedAs::merge},
      {3, DescribedAs::upsert_replace}, {4, DescribedAs::upsert_merge}, {5, DescribedAs::remove}};
  for (const auto& [kind, described] : kinds) {
    CHECK(describe(written(0, {{kind, "p", "r", {}, ""}})) == one(described, "r"));
  }
  const std::string get =
      RequestBuilder(RequestKind::get).text("people").text("p").text("r").word(0).build();
  CHECK(describe(get) == one(DescribedAs::get, "r"));
}

TEST_CASE("Of reads that were made together the table is told") {
  RequestBuilder each(RequestKind::get_each);
  Description some;
  some.operation = DescribedAs::get;
  some.table = "people";
  CHECK(describe(each.text("people").word(1).text("p").text("r").build()) == some);
}

TEST_CASE("A transaction is told operation by operation, whatever stands between their keys") {
  const std::string block = written(
      1, {{0,
           "p",
           "1",
           {test::string_property("s", "h\xC3\xA9llo"), test::binary_property("b", "bytes")},
           ""},
          {1, "p", "2", {test::text_property("i", EdmType::int64, 1, "no number")}, "no etag"},
          {5, "q", "\xED\xA0\xBD", {}, "*"}});
  const Description batch = describe(block);
  CHECK(batch.operation == DescribedAs::batch);
  CHECK(batch.table == "people");
  CHECK(batch.partition == "p");
  CHECK_FALSE(batch.row.has_value());
  Description third = one(DescribedAs::remove, "\xED\xA0\xBD");
  third.partition = "q";
  CHECK(batch.operations == std::vector<Description>{one(DescribedAs::insert, "1"),
                                                     one(DescribedAs::update, "2"), third});
  const Description empty = describe(written(1, {}));
  CHECK(empty.operation == DescribedAs::batch);
  CHECK(empty.table == "people");
  CHECK(empty.operations.empty());
}

TEST_CASE("A key that is missing or no text is absent") {
  const std::string block = RequestBuilder(RequestKind::write)
                                .word(0)
                                .word(1)
                                .word(0)
                                .text("people")
                                .word(0)
                                .word(none)
                                .word(not_text)
                                .no_text()
                                .build();
  const Description insert = describe(block);
  CHECK(insert.operation == DescribedAs::insert);
  CHECK_FALSE(insert.partition.has_value());
  CHECK_FALSE(insert.row.has_value());
}

TEST_CASE("Queries are told with what they ask for, as far as it is said") {
  const Description asked = describe(query().word(2).text("Age").text("Name").build());
  CHECK(asked.operation == DescribedAs::query);
  CHECK(asked.table == "people");
  CHECK(asked.filter == "Age gt 3");
  CHECK(asked.top == 5u);
  CHECK(asked.select == std::vector<std::string>{"Age", "Name"});
  CHECK_FALSE(asked.partition.has_value());
  CHECK(describe(query(RequestKind::explain).word(0).build()).operation == DescribedAs::explain);
  const Description all = describe(RequestBuilder(RequestKind::query)
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

TEST_CASE("Operations on tables are told") {
  CHECK(describe(RequestBuilder(RequestKind::create_table).text("a").build()).operation ==
        DescribedAs::create_table);
  const Description drop = describe(RequestBuilder(RequestKind::drop_table).text("a").build());
  CHECK(drop.operation == DescribedAs::drop_table);
  CHECK(drop.table == "a");
  const Description list = describe(
      RequestBuilder(RequestKind::list_tables).text("TableName eq 'a'").word(7).no_text().build());
  CHECK(list.operation == DescribedAs::list_tables);
  CHECK(list.filter == "TableName eq 'a'");
  CHECK(list.top == 7u);
  CHECK_FALSE(list.table.has_value());
}

TEST_CASE("Of a malformed block nothing is known") {
  const std::string good =
      written(1, {{0, "p", "1", {test::string_property("s", "text")}, ""}, {1, "p", "2", {}, ""}});
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK(describe(good.substr(0, size)) == Description{});
  }
  CHECK(describe(written(2, {{0, "p", "1", {}, ""}})) == Description{});  // unknown flags
  CHECK(describe(written(0, {})) == Description{});                       // nothing to write
  CHECK(describe(written(0, {OperationRecord{}, OperationRecord{}})) ==
        Description{});  // several, and no transaction
  CHECK(describe(written(0, {{6, "p", "r", {}, ""}})) == Description{});  // no such kind
  CHECK(describe(RequestBuilder(static_cast<RequestKind>(9)).build()) == Description{});
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
  CHECK(describe(no_such_name) == Description{});
}

TEST_CASE("A reply says what became of its request") {
  const std::string insert = written(0, {{0, "p", "1", {}, ""}});
  const std::string batch = written(1, {{0, "p", "1", {}, ""}});
  ReplyBuffer reply;
  TimestampText timestamps;
  write_answer(reply, WriteDone{{1}}, timestamps);
  CHECK(outcome_of(insert, reply.view()) == Outcome{204, ""});
  CHECK(outcome_of(batch, reply.view()) == Outcome{202, ""});
  CHECK(outcome_of(RequestBuilder(RequestKind::create_table).text("a").build(), reply.view()) ==
        Outcome{204, ""});
  write_error(reply, GroupFailure{Error(Code::entity_already_exists), 3, true});
  CHECK(outcome_of(batch, reply.view()) == Outcome{409, "EntityAlreadyExists"});
  write_error(reply, Error(Code::out_of_memory));  // flagged as a failure of this machine
  CHECK(outcome_of(insert, reply.view()) == Outcome{507, "OutOfMemory"});
  CHECK(outcome_of(insert, error_reply({503, "ServerBusy", "\xED\xA0\xBD"}, {{"a", "b"}})) ==
        Outcome{503, "ServerBusy"});
  BlockWriter(reply, ReplyKind::tables, 0).finish();
  CHECK(outcome_of(query().word(0).build(), reply.view()) == Outcome{200, ""});
}

}  // namespace entitable::direct
