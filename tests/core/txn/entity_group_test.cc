#include "core/txn/entity_group.h"

#include <string>
#include <vector>

#include "core/model/limits.h"
#include "core/model/service_error.h"
#include "tests/core/txn/txn_testing.h"
#include "tests/support/catch.h"

using namespace entitable;
using namespace entitable::test;

namespace {

std::vector<Operation> inserts(std::size_t count) {
  std::vector<Operation> operations;
  for (std::size_t i = 0; i < count; ++i) operations.push_back(insert("p", std::to_string(i)));
  return operations;
}

void check_failure(const std::vector<Operation>& operations, bool transaction, const Error& error,
                   std::uint32_t index, bool prefixed) {
  const std::optional<GroupFailure> failure = check_group(operations, transaction);
  REQUIRE(failure.has_value());
  CHECK(failure->error.code == error.code);
  CHECK(error_message(failure->error) == error_message(error));
  CHECK(failure->index == index);
  CHECK(failure->prefixed == prefixed);
}

void check_good(const std::vector<Operation>& operations, bool transaction) {
  const std::optional<GroupFailure> failure = check_group(operations, transaction);
  const std::string message(failure.has_value() ? error_message(failure->error) : "");
  CAPTURE(message);
  CHECK_FALSE(failure.has_value());
}

const Error too_many(ErrorCode::invalid_input,
                     "The batch request operation exceeds the maximum 100 changes per change set.");

}  // namespace

TEST_CASE("a group has 1 to 100 operations") {
  check_failure({}, true, Error(ErrorCode::invalid_input), 0, false);
  check_failure({}, false, Error(ErrorCode::invalid_input), 0, false);
  check_good(inserts(1), false);
  check_good(inserts(1), true);
  check_good(inserts(100), true);
  check_failure(inserts(101), true, too_many, 99, true);
  check_failure(inserts(250), true, too_many, 99, true);
}

TEST_CASE("all operations of a group are in one partition") {
  check_failure({insert("a", "1"), insert("a", "2"), insert("b", "3"), insert("c", "4")}, true,
                Error(ErrorCode::batch_partitions_differ), 2, true);
  check_failure({insert("a", "1"), insert("A", "2")}, true,
                Error(ErrorCode::batch_partitions_differ), 1, true);
  check_good({insert("", "1"), insert("", "2")}, true);
}

TEST_CASE("a group may contain each row only once") {
  check_failure({insert("p", "1"), insert("p", "2"), operation(OperationKind::remove, "p", "1")},
                true, Error(ErrorCode::batch_duplicate_row), 2, true);
  check_failure({insert("p", ""), insert("p", "")}, true, Error(ErrorCode::batch_duplicate_row), 1,
                true);
  check_good({insert("p", "a"), insert("p", "A")}, true);
}

TEST_CASE("a remove needs a condition, other operations do not") {
  Operation remove = operation(OperationKind::remove, "p", "r");
  check_good({remove}, false);
  check_good({with_etag(remove, 5)}, true);
  remove.if_match = IfMatch();
  check_failure({remove}, false, Error(ErrorCode::invalid_input), 0, false);
  check_failure({remove}, true, Error(ErrorCode::invalid_input), 0, true);
  check_failure({insert("p", "1"), remove}, true, Error(ErrorCode::invalid_input), 1, true);
  for (const OperationKind kind : {OperationKind::replace, OperationKind::merge}) {
    Operation unconditional = operation(kind, "p", "r");
    unconditional.if_match = IfMatch();
    check_good({unconditional}, false);
  }
}

TEST_CASE("properties must be writable") {
  const auto with = [](std::string name) {
    return insert("p", "r", {{std::move(name), Value::of_int32(1)}});
  };
  check_good({with("ok")}, false);
  check_failure({with("not ok")}, false, Error(ErrorCode::property_name_invalid), 0, false);
  check_failure({with("RowKey")}, true, Error(ErrorCode::property_name_invalid), 0, true);
  check_failure({with(std::string(256, 'x'))}, false, Error(ErrorCode::property_name_too_long), 0,
                false);
  check_good({with(std::string(255, 'x'))}, false);
  check_failure({insert("p", "r", {{"a", Value::of_int32(1)}, {"a", Value::of_int32(2)}})}, false,
                Error(ErrorCode::duplicate_properties), 0, false);
  check_good({insert("p", "r", {text_property("a", limits::string_units_max)})}, false);
  const Operation too_long = insert("p", "r", {text_property("a", limits::string_units_max + 1)});
  check_failure({too_long}, false, Error(ErrorCode::property_value_too_large), 0, false);
  // Found at commit, so one operation alone has no prefix (core/rest/SERVICE.md §6.3).
  check_failure({too_long}, true, Error(ErrorCode::property_value_too_large), 0, false);
  check_failure({insert("p", "q"), too_long}, true, Error(ErrorCode::property_value_too_large), 1,
                true);
}

TEST_CASE("252 properties may be written, 253 not") {
  std::vector<Property> properties;
  for (int i = 0; i < 252; ++i) {
    properties.push_back({"n" + std::to_string(i), Value::of_boolean(true)});
  }
  check_good({insert("p", "r", properties)}, false);
  properties.push_back({"last", Value::of_boolean(true)});
  check_failure({insert("p", "r", properties)}, true, Error(ErrorCode::too_many_properties), 0,
                true);
}

TEST_CASE("keys are not checked before the table") {
  check_good({insert("a/b", std::string(2000, 'x'))}, false);
}

TEST_CASE("a group carries at most 4 MiB") {
  std::vector<Operation> operations;
  for (const char* row : {"1", "2", "3", "4"}) {
    operations.push_back(insert("p", row, properties_of_bytes(limits::entity_bytes_max)));
  }
  check_good(operations, true);
  std::vector<Operation> more = operations;
  more[3].properties = properties_of_bytes(limits::entity_bytes_max + 1);
  check_failure(more, true, Error(ErrorCode::request_body_too_large), 0, false);
  // A remove has a key, which counts as well.
  operations.push_back(operation(OperationKind::remove, "p", "5"));
  check_failure(operations, true, Error(ErrorCode::request_body_too_large), 0, false);
  // The entry point has checked the size.
  CHECK_FALSE(check_group(operations, true, true).has_value());
}

TEST_CASE("the size of a group counts units, not bytes") {
  // Each character is three bytes of UTF-8 but one unit: the quick bound exceeds the limit, the
  // size does not.
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += "\xE2\x82\xAC";
  std::vector<Operation> operations;
  for (int row = 0; row < 4; ++row) {
    std::vector<Property> properties;
    for (int i = 0; i < 16; ++i) {
      properties.push_back({"p" + std::to_string(i), Value::of_string(text)});
    }
    operations.push_back(insert("p", std::to_string(row), std::move(properties)));
  }
  check_good(operations, true);
}

TEST_CASE("a single write of more than 4 MiB is rejected without a prefix") {
  check_failure({insert("p", "r", properties_of_bytes(limits::group_bytes_max + 1))}, false,
                Error(ErrorCode::request_body_too_large), 0, false);
  check_good({insert("p", "r", properties_of_bytes(limits::group_bytes_max))}, false);
}

TEST_CASE("the first failing operation is reported, in the order of checks") {
  Operation bad_name = insert("p", "1", {{"not ok", Value::of_int32(1)}});
  check_failure({bad_name, insert("q", "2")}, true, Error(ErrorCode::property_name_invalid), 0,
                true);
  check_failure({insert("q", "2"), bad_name}, true, Error(ErrorCode::batch_partitions_differ), 1,
                true);
  std::vector<Operation> many = inserts(101);
  many[0] = bad_name;
  check_failure(many, true, too_many, 99, true);
}

TEST_CASE("messages are prefixed as the service does") {
  struct Case {
    ErrorCode code;
    bool alone;  // prefixed as the only operation of a transaction
  };
  for (const Case& one :
       {Case{ErrorCode::entity_already_exists, false},
        Case{ErrorCode::update_condition_not_satisfied, false},
        Case{ErrorCode::property_value_too_large, false},
        Case{ErrorCode::resource_not_found, false}, Case{ErrorCode::table_not_found, true},
        Case{ErrorCode::out_of_range_input, true}, Case{ErrorCode::properties_need_value, true},
        Case{ErrorCode::invalid_input, true}}) {
    CAPTURE(service_error_of(one.code).code);
    CHECK(operation_failure(Error(one.code), 0, 1, true).prefixed == one.alone);
    CHECK(operation_failure(Error(one.code), 1, 2, true).prefixed);
    CHECK_FALSE(operation_failure(Error(one.code), 0, 1, false).prefixed);
  }
}

TEST_CASE("a repeated row is found in any order of rows") {
  const auto group = [](std::initializer_list<const char*> rows) {
    std::vector<Operation> operations;
    for (const char* row : rows) operations.push_back(insert("p", row));
    return check_group(operations, true);
  };
  CHECK_FALSE(group({"1", "2", "3"}).has_value());
  CHECK_FALSE(group({"3", "2", "1"}).has_value());
  CHECK_FALSE(group({"1", "3", "2", "4"}).has_value());
  const auto fails_at = [&](std::initializer_list<const char*> rows, std::uint32_t index) {
    const std::optional<GroupFailure> failure = group(rows);
    REQUIRE(failure.has_value());
    CHECK(failure->error.code == ErrorCode::batch_duplicate_row);
    CHECK(failure->index == index);
  };
  fails_at({"1", "1"}, 1);
  fails_at({"1", "2", "1"}, 2);
  fails_at({"3", "2", "1", "2"}, 3);
  fails_at({"2", "1", "3", "3"}, 3);
  fails_at({"1", "3", "2", "4", "3"}, 4);
}

TEST_CASE("names known to the table's schema are not checked again, but values are") {
  Schema schema;
  const auto code_of = [&schema](std::vector<Property> properties) -> std::optional<ErrorCode> {
    const auto failure =
        check_group({insert("p", "r", std::move(properties))}, false, false, &schema);
    return failure.has_value() ? std::optional(failure->error.code) : std::nullopt;
  };
  const Property good{"a", Value::of_string("x")};
  const Property large{"a", Value::of_string(std::string(limits::string_units_max + 1, 'x'))};
  CHECK(code_of({good}) == std::nullopt);
  CHECK(code_of({{"1a", Value::of_int32(1)}}) == ErrorCode::property_name_invalid);
  schema.intern(std::vector<Property>{good});
  CHECK(code_of({good}) == std::nullopt);
  CHECK(code_of({large}) == ErrorCode::property_value_too_large);
  CHECK(code_of({good, good}) == ErrorCode::duplicate_properties);
  CHECK(code_of({{"1a", Value::of_int32(1)}}) == ErrorCode::property_name_invalid);
}

TEST_CASE("values are checked even if the names equal those of the previous operation") {
  const Property good = {"a", Value::of_int32(1)};
  const Property too_long = {"a", Value::of_string(std::string(40'000, 'x'))};
  const auto code_of = [](const std::vector<Operation>& operations) {
    const std::optional<GroupFailure> failure = check_group(operations, true);
    REQUIRE(failure.has_value());
    CHECK(failure->index == 1);
    return failure->error.code;
  };
  CHECK(code_of({insert("p", "1", {good}), insert("p", "2", {too_long})}) ==
        ErrorCode::property_value_too_large);
  CHECK(code_of({insert("p", "1", {good}), insert("p", "2", {good, good})}) ==
        ErrorCode::duplicate_properties);
  CHECK(code_of({insert("p", "1", {good}), insert("p", "2", {{"a b", Value::of_int32(1)}})}) ==
        ErrorCode::property_name_invalid);
}
