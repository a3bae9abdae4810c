#include "core/rpc/write_parser.h"

#include <cmath>
#include <deque>
#include <limits>

#include "core/model/limits.h"
#include "core/rpc/message.h"
#include "tests/core/rpc/request_builder.h"
#include "tests/support/catch.h"

namespace entitable::rpc {
namespace {

using test::binary_property;
using test::bits_property;
using test::float_property;
using test::OperationRecord;
using test::PropertyRecord;
using test::RequestBuilder;
using test::string_property;
using test::text_property;
using test::write_request;
using test::WriteRecord;

constexpr double number_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double number_infinite = std::numeric_limits<double>::infinity();

// Parses every message into the same request, because its old content must not matter.
WriteRequest parsed_block(const std::string& message) {
  static WriteRequest request;
  REQUIRE_FALSE(parse_write(message, request).has_value());
  return request;
}

WriteEntities parsed(const WriteRecord& write) {
  static std::deque<std::string> messages;  // parsed requests view the bytes of their messages
  const std::string& message = messages.emplace_back(write_request(write).build());
  return std::get<WriteEntities>(parsed_block(message).body);
}

GroupFailure failure_of(const std::string& message) {
  WriteRequest request;
  const std::optional<GroupFailure> result = parse_write(message, request);
  REQUIRE(result.has_value());
  return *result;
}

WriteRecord one(std::vector<PropertyRecord> properties) {
  return WriteRecord{"people", {OperationRecord{0, "p", "r", std::move(properties), ""}}, 0};
}

Value stored(PropertyRecord property) {
  const WriteEntities write = parsed(one({std::move(property)}));
  REQUIRE(write.operations.size() == 1);
  REQUIRE(write.operations[0].properties.size() == 1);
  return Value(write.operations[0].properties[0].value);
}

Error property_error(PropertyRecord property) {
  return failure_of(write_request(one({std::move(property)})).build()).error;
}

const Error type_mismatch(ErrorCode::invalid_input,
                          "An error occurred while processing this request.");
const Error malformed(ErrorCode::invalid_input, "The request message is malformed.");

}  // namespace

TEST_CASE("A write is parsed into table, operations, keys, conditions and properties") {
  const std::string tag = "W/\"datetime'2020-07-24T14%3A34%3A48.4767Z'\"";
  const WriteEntities write =
      parsed({"People",
              {OperationRecord{0, "p", "1", {string_property("Name", "Ann")}, ""},
               OperationRecord{1, "p", "2", {}, tag},
               OperationRecord{2, "p", "3", {string_property("Name", "B\xC3\xB6")}, "*"},
               OperationRecord{3, "p", "4", {}, ""}, OperationRecord{4, "p", "5", {}, ""},
               OperationRecord{5, "p", "", {}, ""}},
              1});
  CHECK(write.table == "People");
  CHECK(write.transaction);
  REQUIRE(write.operations.size() == 6);
  CHECK(write.operations[0].kind == OperationKind::insert);
  CHECK(write.operations[0].key == EntityKey("p", "1"));
  CHECK(write.operations[0].properties == PropertyList{{"Name", Value::of_string("Ann")}});
  CHECK_FALSE(write.operations[0].if_match.has_condition());
  CHECK(write.operations[1].kind == OperationKind::replace);
  CHECK(write.operations[1].if_match.has_condition());
  CHECK_FALSE(write.operations[1].if_match.matches(1));
  CHECK(write.operations[2].kind == OperationKind::merge);
  CHECK(write.operations[2].if_match.matches(1));
  CHECK(write.operations[2].properties[0].value == ValueView::of_string("B\xC3\xB6"));
  CHECK(write.operations[3].kind == OperationKind::insert_or_replace);
  CHECK(write.operations[4].kind == OperationKind::insert_or_merge);
  CHECK(write.operations[5].kind == OperationKind::remove);
  CHECK(write.operations[5].key == EntityKey("p", ""));
  CHECK_FALSE(write.operations[5].if_match.has_condition());
}

TEST_CASE("A single write is not a transaction") {
  CHECK_FALSE(parsed(one({})).transaction);
}

TEST_CASE("Operations with the same names and types as the previous one are marked") {
  const auto text = [](const char* name) { return string_property(name, "x"); };
  const WriteEntities write =
      parsed({"people",
              {OperationRecord{0, "p", "1", {text("a"), text("b")}, ""},
               OperationRecord{0, "p", "2", {text("a"), text("b")}, ""},
               OperationRecord{0, "p", "3", {text("b"), text("a")}, ""},
               OperationRecord{0, "p", "4", {text("b")}, ""},
               OperationRecord{0, "p", "5", {bits_property("b", EdmType::int64, 1)}, ""},
               OperationRecord{0, "p", "6", {bits_property("b", EdmType::int64, 2)}, ""}},
              1});
  std::vector<bool> same_shape_as_previous;
  for (const Operation& operation : write.operations)
    same_shape_as_previous.push_back(operation.same_shape_as_previous);
  CHECK(same_shape_as_previous == std::vector<bool>{false, true, false, false, false, true});
}

TEST_CASE("Values in their native form") {
  CHECK(stored(string_property("v", "")) == Value::of_string(""));
  CHECK(stored(string_property("v", "\xED\xA0\xBD")) == Value::of_string("\xED\xA0\xBD"));
  CHECK(stored(binary_property("v", std::string("\0\xFF", 2))) ==
        Value::of_binary(std::string_view("\0\xFF", 2)));
  CHECK(stored(binary_property("v", "")) == Value::of_binary(""));
  CHECK(stored(bits_property("v", EdmType::boolean, 1)) == Value::of_boolean(true));
  CHECK(stored(bits_property("v", EdmType::boolean, 0)) == Value::of_boolean(false));
  CHECK(stored(bits_property("v", EdmType::int32, 0x8000'0000)) ==
        Value::of_int32(std::numeric_limits<std::int32_t>::min()));
  CHECK(stored(bits_property("v", EdmType::int64, 0x8000'0000'0000'0000)) ==
        Value::of_int64(std::numeric_limits<std::int64_t>::min()));
  CHECK(stored(float_property("v", EdmType::float64, -0.0)) == Value::of_double(-0.0));
  CHECK(stored(float_property("v", EdmType::float64, number_infinite)) ==
        Value::of_double(number_infinite));
  CHECK(std::isnan(stored(float_property("v", EdmType::float64, number_nan)).view().float64()));
  CHECK(stored(float_property("v", EdmType::date_time, 0)) ==
        Value::of_date_time(ticks_at_unix_epoch));
  CHECK(stored(float_property("v", EdmType::date_time, -1)) ==
        Value::of_date_time(ticks_at_unix_epoch - ticks_per_millisecond));
  CHECK(stored(float_property("v", EdmType::date_time, -11'644'473'600'000.0)) ==
        Value::of_date_time(limits::date_time_ticks_min));
  CHECK(stored(float_property("v", EdmType::date_time, 253'402'300'799'999.0)) ==
        Value::of_date_time(limits::date_time_ticks_max - 9999));
}

TEST_CASE("Dates outside the service's range are rejected") {
  CHECK(property_error(float_property("v", EdmType::date_time, -11'644'473'600'001.0)).code ==
        ErrorCode::out_of_range_input);
  CHECK(property_error(float_property("v", EdmType::date_time, 253'402'300'800'000.0)).code ==
        ErrorCode::out_of_range_input);
  for (const double ms : {number_nan, number_infinite, -number_infinite, 1e300, 0.5}) {
    CAPTURE(ms);
    CHECK(property_error(float_property("v", EdmType::date_time, ms)) == type_mismatch);
  }
}

TEST_CASE("Values in their text form follow the service's lexical rules") {
  CHECK(stored(text_property("v", EdmType::guid, 1, "C9DA6455-213D-42C9-9A79-3E9149A57833")) ==
        *parse_value(EdmType::guid, "c9da6455-213d-42c9-9a79-3e9149a57833", "v"));
  CHECK(stored(text_property("v", EdmType::int64, 1, "-39")) == Value::of_int64(-39));
  CHECK(stored(text_property("v", EdmType::float64, 1, "NaN")).type() == EdmType::float64);
  CHECK(stored(text_property("v", EdmType::string, 1, "x")) == Value::of_string("x"));
  CHECK(stored(text_property("v", EdmType::boolean, 1, "true")) == Value::of_boolean(true));
  CHECK(stored(text_property("v", EdmType::date_time, 1, "1970-01-01T00:00:00.0000001Z")) ==
        Value::of_date_time(ticks_at_unix_epoch + 1));
  CHECK(stored(text_property("v", EdmType::binary, 1, "AP8=")) ==
        Value::of_binary(std::string_view("\0\xFF", 2)));
  CHECK(property_error(text_property("v", EdmType::int32, 1, "abc")) == type_mismatch);
  CHECK(property_error(text_property("v", EdmType::int64, 1, "9223372036854775808")) ==
        type_mismatch);
  CHECK(property_error(text_property("v", EdmType::guid, 1, "no")) == type_mismatch);
}

TEST_CASE("A number is accepted for another type only if the conversion is exact") {
  CHECK(stored(float_property("v", EdmType::int32, 2'147'483'647, 2)) ==
        Value::of_int32(2'147'483'647));
  CHECK(stored(float_property("v", EdmType::int32, -2'147'483'648.0, 2)) ==
        Value::of_int32(std::numeric_limits<std::int32_t>::min()));
  CHECK(stored(float_property("v", EdmType::int64, -0x1p63, 2)) ==
        Value::of_int64(std::numeric_limits<std::int64_t>::min()));
  CHECK(stored(float_property("v", EdmType::float64, 3, 2)) == Value::of_double(3));
  for (const double number :
       {2'147'483'648.0, -2'147'483'649.0, 1.5, number_nan, number_infinite}) {
    CAPTURE(number);
    CHECK(property_error(float_property("v", EdmType::int32, number, 2)) == type_mismatch);
  }
  CHECK(property_error(float_property("v", EdmType::int64, 0x1p63, 2)) == type_mismatch);
  for (const EdmType type :
       {EdmType::string, EdmType::binary, EdmType::boolean, EdmType::date_time, EdmType::guid}) {
    CHECK(property_error(float_property("v", type, 1, 2)) == type_mismatch);
  }
}

TEST_CASE("A boolean is rejected for another type") {
  CHECK(stored(bits_property("v", EdmType::boolean, 1, 3)) == Value::of_boolean(true));
  CHECK(property_error(bits_property("v", EdmType::string, 1, 3)) == type_mismatch);
  CHECK(property_error(bits_property("v", EdmType::int32, 1, 3)) == type_mismatch);
}

TEST_CASE("A value that no type accepts is rejected") {
  CHECK(property_error(bits_property("v", EdmType::string, 0, 4)) == type_mismatch);
  CHECK(property_error(PropertyRecord{"v", 0, 1, 1, "x", ""}) ==
        type_mismatch);  // an unknown type name
  CHECK(property_error(PropertyRecord{"v", 9, 0, 0, "", ""}) ==
        type_mismatch);  // an unassigned type number
  CHECK(property_error(bits_property("v", EdmType::guid, 0)) ==
        type_mismatch);  // a Guid is only accepted as text
}

TEST_CASE("The service's own members are ignored, whatever their value") {
  const WriteEntities write =
      parsed(one({text_property("Timestamp", EdmType::date_time, 1, "never"),
                  bits_property("odata.etag", EdmType::string, 0, 4), string_property("a", "1"),
                  string_property("timestamp", "2")}));
  CHECK(write.operations[0].properties ==
        PropertyList{{"a", Value::of_string("1")}, {"timestamp", Value::of_string("2")}});
}

TEST_CASE("A key among the properties is a duplicate property") {
  for (const char* name : {"PartitionKey", "RowKey"}) {
    CHECK(property_error(string_property(name, "p")) == Error(ErrorCode::duplicate_properties));
  }
  CHECK(parsed(one({string_property("partitionkey", "p")})).operations[0].properties.size() == 1);
}

TEST_CASE("A key that is missing or not a string gives the service's error") {
  const auto with_key = [](std::uint32_t partition) {
    return RequestBuilder(RequestKind::write)
        .word(0)
        .word(1)
        .word(0)
        .text("people")
        .word(0)
        .word(partition)
        .text("r")
        .no_text()
        .build();
  };
  CHECK(failure_of(with_key(none)).error == Error(ErrorCode::properties_need_value));
  CHECK(failure_of(with_key(not_a_string)).error == Error(ErrorCode::primary_key_type_invalid));
}

TEST_CASE("The error of a transaction's only operation has the service's index prefix") {
  WriteRecord write = one({text_property("v", EdmType::int32, 1, "abc")});
  CHECK_FALSE(failure_of(write_request(write).build()).prefixed);
  write.flags = 1;
  CHECK(failure_of(write_request(write).build()).prefixed);
  const std::string too_long(limits::string_units_max + 1, 'x');
  write.operations[0].properties = {text_property("v", EdmType::string, 1, too_long)};
  const GroupFailure at_commit = failure_of(write_request(write).build());
  CHECK(at_commit.error.code == ErrorCode::property_value_too_large);
  CHECK_FALSE(at_commit.prefixed);
}

TEST_CASE("A name that is too long for a property is not copied") {
  std::string name;
  for (std::size_t i = 0; i < limits::property_name_units_max; ++i) name += "\xE4\xB8\x80";
  CHECK(parsed(one({string_property(name, "v")})).operations[0].properties[0].name == name);
  CHECK(property_error(string_property(name + "a", "v")) ==
        Error(ErrorCode::property_name_too_long));
}

TEST_CASE("A message may have any number of names") {
  for (std::size_t count = 0; count < 60; ++count) {
    std::vector<PropertyRecord> properties;
    for (std::size_t i = 0; i < count; ++i) {
      properties.push_back(bits_property("n" + std::to_string(i), EdmType::int64, i));
    }
    const WriteEntities write = parsed(one(std::move(properties)));
    const PropertyList& read = write.operations[0].properties;
    REQUIRE(read.size() == count);
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(read[i].name == "n" + std::to_string(i));
      CHECK(read[i].value == ValueView::of_int64(static_cast<std::int64_t>(i)));
    }
  }
}

TEST_CASE("The error of an operation is that of its first invalid property") {
  const PropertyRecord wrong = bits_property("a", EdmType::int32, 0, 4);
  const PropertyRecord key = string_property("RowKey", "r");
  const PropertyRecord good = string_property("b", "text");
  const auto error_of = [](std::vector<PropertyRecord> properties) {
    return failure_of(write_request(one(std::move(properties))).build()).error;
  };
  CHECK(error_of({good, wrong, good, key}) == type_mismatch);
  CHECK(error_of({good, key, good, wrong}) == Error(ErrorCode::duplicate_properties));
  // The properties after it are still read.
  PropertyRecord too_short = good;
  too_short.payload = 99;
  CHECK(error_of({wrong, too_short}) == malformed);
}

TEST_CASE("The error of a transaction has the index of its first invalid operation") {
  WriteRecord write;
  write.flags = 1;
  write.operations = {OperationRecord{0, "p", "1", {string_property("a", "b")}, ""},
                      OperationRecord{0, "p", "2", {bits_property("a", EdmType::int32, 0, 4)}, ""},
                      OperationRecord{1, "p", "3", {}, "bad tag"}};
  GroupFailure failure = failure_of(write_request(write).build());
  CHECK(failure.error == type_mismatch);
  CHECK(failure.index == 1);
  CHECK(failure.prefixed);
  write.operations[1].properties.clear();
  failure = failure_of(write_request(write).build());
  CHECK(failure.error == IfMatch::parse("bad tag").error());
  CHECK(failure.index == 2);
  write.flags = 0;
  write.operations.erase(write.operations.begin(), write.operations.begin() + 2);
  failure = failure_of(write_request(write).build());
  CHECK(failure.error == IfMatch::parse("bad tag").error());
  CHECK_FALSE(failure.prefixed);
}

TEST_CASE("An ETag is parsed only for operations that have a condition") {
  for (const std::uint32_t kind : {0u, 3u, 4u}) {
    WriteRecord write;
    write.operations = {OperationRecord{kind, "p", "r", {}, "bad tag"}};
    CHECK_FALSE(parsed(write).operations[0].if_match.has_condition());
  }
}

TEST_CASE("Table operations are parsed into their table name") {
  const auto create =
      parsed_block(RequestBuilder(RequestKind::create_table).text("People").build());
  CHECK(std::get<WriteCreateTable>(create.body).table == "People");
  const auto drop = parsed_block(RequestBuilder(RequestKind::drop_table).text("x").build());
  CHECK(std::get<WriteDropTable>(drop.body).table == "x");
  CHECK(failure_of(RequestBuilder(RequestKind::create_table).build()).error == malformed);
  CHECK(failure_of(RequestBuilder(RequestKind::drop_table).word(1).build()).error == malformed);
}

TEST_CASE("Nothing of a request remains when its memory is reused") {
  const WriteRecord before{
      "others",
      {OperationRecord{1, "p", "1", {string_property("a", "text")}, "*"},
       OperationRecord{2,
                       "p",
                       "2",
                       {string_property("a", "more"), text_property("b", EdmType::guid, 1, "zz")},
                       ""}},
      1};
  WriteRequest request;
  request.call.emplace();
  WriteEntities& write = request.body.emplace<WriteEntities>();
  write.size_checked = true;
  write.texts = std::make_shared<int>(1);
  write.operations.resize(3);
  for (Operation& operation : write.operations) {
    operation = Operation{OperationKind::merge, EntityKey("old", "key"), {}, IfMatch::any(), true};
    operation.properties.push_back("old", Value::of_string("kept"));
  }
  CHECK(parse_write(write_request(before).build(), request).has_value());
  const std::string message = write_request(one({string_property("a", "text")})).build();
  REQUIRE_FALSE(parse_write(message, request).has_value());
  CHECK_FALSE(request.call.has_value());
  const auto& read = std::get<WriteEntities>(request.body);
  CHECK(read.table == "people");
  CHECK_FALSE(read.transaction);
  CHECK_FALSE(read.size_checked);
  CHECK(read.texts == nullptr);
  REQUIRE(read.operations.size() == 1);
  const Operation& operation = read.operations[0];
  CHECK(operation.kind == OperationKind::insert);
  CHECK(operation.key == EntityKey("p", "r"));
  REQUIRE(operation.properties.size() == 1);
  CHECK(operation.properties[0] == PropertyView{"a", ValueView::of_string("text")});
  CHECK_FALSE(operation.if_match.has_condition());
  CHECK_FALSE(operation.same_shape_as_previous);
}

TEST_CASE("A message that is not a write is malformed for parse_write") {
  CHECK(failure_of("").error == malformed);
  CHECK(failure_of(RequestBuilder(RequestKind::get).text("t").build()).error == malformed);
  CHECK(failure_of(RequestBuilder(static_cast<RequestKind>(99)).build()).error == malformed);
}

TEST_CASE("A truncated or changed write message is malformed or another write, never a crash") {
  WriteRecord write;
  write.flags = 1;
  write.operations = {
      OperationRecord{0, "p", "1", {string_property("a", "text"), binary_property("b", "bin")}, ""},
      OperationRecord{2, "p", "2", {float_property("c", EdmType::float64, 1.5)}, "*"}};
  const std::string good = write_request(write).build();
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int change : {1, 0x40, 0x80, 0xFF}) {
      std::string message = good;
      message[at] = static_cast<char>(message[at] ^ change);
      WriteRequest request;
      if (const auto failure = parse_write(message, request)) CHECK(failure->index < 2);
    }
    CHECK(failure_of(good.substr(0, at)).error == malformed);
  }
}

TEST_CASE("Counts that cannot fit are rejected before memory is allocated for them") {
  const auto with = [](std::uint32_t operations, std::uint32_t names, std::uint32_t properties) {
    return RequestBuilder(RequestKind::write)
        .word(0)
        .word(operations)
        .word(names)
        .text("t")
        .word(properties << 8)
        .text("p")
        .text("r")
        .no_text()
        .build();
  };
  CHECK(std::get<WriteEntities>(parsed_block(with(1, 0, 0)).body).operations.size() == 1);
  CHECK(failure_of(with(2, 0, 0)).error == malformed);
  CHECK(failure_of(with(0xFFFF'FFFF, 0, 0)).error == malformed);
  CHECK(failure_of(with(1, 0xFFFF'FFFF, 0)).error == malformed);
  CHECK(failure_of(with(1, 0, 0xFF'FFFF)).error == malformed);
  CHECK(failure_of(with(1, 0, 1)).error == malformed);
}

}  // namespace entitable::rpc
