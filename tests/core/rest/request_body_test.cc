#include "core/rest/request_body.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/core/rest/conversation.h"
#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

EntityBody inserted(std::string_view body) {
  CAPTURE(std::string(body));
  auto read = parse_inserted_entity(body);
  REQUIRE(read.ok());
  return *read;
}

std::vector<Property> updated(std::string_view body) {
  CAPTURE(std::string(body));
  auto read = parse_updated_entity(body);
  REQUIRE(read.ok());
  return read->properties;
}

Error refused(std::string_view body) {
  CAPTURE(std::string(body));
  const auto read = parse_updated_entity(body);
  REQUIRE_FALSE(read.ok());
  return read.error();
}

TEST_CASE("keys are needed by inserts and ignored by updates") {
  CHECK(inserted(R"({"RowKey":"r","a":1,"PartitionKey":"p"})").key == EntityKey("p", "r"));
  CHECK(updated(R"({"PartitionKey":5,"RowKey":{},"RowKey@odata.type":"x"})").empty());
  CHECK(updated("{}").empty());
  const auto code = [](std::string_view body) { return parse_inserted_entity(body).error().code; };
  CHECK(code(R"({"PartitionKey":"p"})") == ErrorCode::properties_need_value);
  CHECK(code(R"({"RowKey":"r"})") == ErrorCode::properties_need_value);
  CHECK(code(R"({"PartitionKey":"p","RowKey":null})") == ErrorCode::properties_need_value);
  CHECK(code(R"({"PartitionKey":true,"RowKey":"r"})") == ErrorCode::primary_key_type_invalid);
  CHECK(code(R"({"PartitionKey":"p","RowKey":["r"]})") == ErrorCode::primary_key_type_invalid);
  CHECK(code(R"({"PartitionKey":"p","RowKey":"1","RowKey@odata.type":"Edm.Int64"})") ==
        ErrorCode::primary_key_type_invalid);
}

TEST_CASE("properties keep their order, their names and their types") {
  CHECK(updated(R"({"b":"x","a@odata.type":"Edm.Int64","a":"1","c":2.0,"c1":2})") ==
        std::vector<Property>{{"b", Value::of_string("x")},
                              {"a", Value::of_int64(1)},
                              {"c", Value::of_double(2)},
                              {"c1", Value::of_int32(2)}});
}

TEST_CASE("a type is found wherever it stands") {
  // "a0" and "a1" sort between "a" and "a@odata.type".
  CHECK(updated(R"({"a@odata.type":"Edm.Int64","a1":"x","a":"1","a0@odata.type":"Edm.Int64"})") ==
        std::vector<Property>{{"a1", Value::of_string("x")}, {"a", Value::of_int64(1)}});
}

TEST_CASE("duplicate names") {
  for (const char* body : {R"({"a":1,"a":1})", R"({"a":null,"a":1})", R"({"a":1,"\u0061":2})",
                           R"({"odata.x":1,"odata.x":1})", R"({"RowKey":"a","RowKey":"a"})",
                           R"({"a":1,"a@odata.type":"Edm.Int32","a@odata.type":"Edm.Int32"})"}) {
    CHECK(refused(body) == Error(ErrorCode::duplicate_properties));
  }
  CHECK(updated(R"({"a":1,"A":2})").size() == 2);
}

TEST_CASE("an unknown type is rejected, also for null") {
  for (const char* body :
       {R"({"a":1,"a@odata.type":"Edm.int32"})", R"({"a":1,"a@odata.type":null})",
        R"({"a":null,"a@odata.type":"Edm.Nothing"})"}) {
    CHECK(refused(body) == Error(ErrorCode::invalid_input));
  }
}

TEST_CASE("very many members take little time") {
  std::string body = "{";
  for (int i = 0; i < 100'000; ++i) {
    body +=
        "\"p" + std::to_string(i) + "\":1,\"p" + std::to_string(i) + "@odata.type\":\"Edm.Int64\",";
  }
  body += "\"last\":1}";
  CHECK(updated(body).size() == 100'001);
}

TEST_CASE("names of tables") {
  CHECK(*parse_create_table_body(R"({"odata.type":"x","TableName":"people","other":[1]})") ==
        "people");
  CHECK(parse_create_table_body(R"({"TableName":""})")->empty());
  CHECK(parse_create_table_body("{}").error() == Error(ErrorCode::properties_need_value));
  CHECK(parse_create_table_body(R"({"tablename":"x"})").error() ==
        Error(ErrorCode::properties_need_value));
  CHECK(parse_create_table_body(R"({"TableName":null})").error() ==
        Error(ErrorCode::properties_need_value));
  CHECK(parse_create_table_body(R"({"TableName":1})").error() == Error(ErrorCode::invalid_input));
  CHECK(parse_create_table_body(R"({"TableName":"a","TableName":"a"})").error() ==
        Error(ErrorCode::duplicate_properties));
  CHECK(parse_create_table_body("[]").error() == Error(ErrorCode::invalid_input));
}

TEST_CASE("conversation: types") {
  test::check_conversation("types");
}

}  // namespace
}  // namespace entitable::rest
