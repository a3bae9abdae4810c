#include "core/rpc/sync_filter.h"

#include <string>
#include <vector>

#include "tests/core/rpc/request_builder.h"
#include "tests/support/catch.h"

namespace entitable::rpc {
namespace {

using test::bits_property;
using test::OperationRecord;
using test::string_property;
using test::write_request;
using test::WriteRecord;

const OperationRecord lamp = {
    0,
    "desk",
    "1",
    {string_property("color", "red"), bits_property("watt", EdmType::int32, 7)},
    ""};

std::string message_of(const std::vector<OperationRecord>& operations) {
  return write_request(WriteRecord{"lamps", operations}).build();
}

bool matches(std::string_view filter) {
  const Result<bool> result = SyncFilter().matches(filter, message_of({lamp}));
  REQUIRE(result.ok());
  return *result;
}

Error error_of(std::string_view filter, const std::string& message) {
  const Result<bool> result = SyncFilter().matches(filter, message);
  REQUIRE_FALSE(result.ok());
  return result.error();
}

}  // namespace

TEST_CASE("an entity matches a filter by its keys and its properties") {
  CHECK(matches(""));
  CHECK(matches("color eq 'red' and watt lt 10"));
  CHECK_FALSE(matches("watt gt 7"));
  CHECK(matches("PartitionKey eq 'desk' and RowKey ge '1'"));
  CHECK_FALSE(matches("price ne 1"));
}

TEST_CASE("a filter that cannot be evaluated is reported") {
  const std::string message = message_of({lamp});
  CHECK(error_of("watt gt", message).code == ErrorCode::invalid_input);
  CHECK(error_of("substringof('a', color)", message).code == ErrorCode::invalid_input);
  const Error error = error_of("not (Timestamp lt datetime'2026-01-01T00:00:00Z')", message);
  CHECK(error.code == ErrorCode::invalid_input);
  CHECK(error.message == "The filter of a synced table must not name Timestamp.");
  CHECK(error_of("watt gt 1", "x").code == ErrorCode::invalid_input);
  CHECK(error_of("watt gt 1", message_of({lamp, lamp})).code == ErrorCode::invalid_input);
}

TEST_CASE("a filter is kept until another one is given, also one that cannot be evaluated") {
  const std::string message = message_of({lamp});
  SyncFilter filter;
  const auto matches = [&](std::string_view text) {
    const Result<bool> result = filter.matches(text, message);
    return result.ok() && *result;
  };
  for (int round = 0; round < 2; ++round) {
    CHECK(matches("watt eq 7"));
    CHECK(matches("watt eq 7"));
    CHECK_FALSE(matches("watt eq 8"));
    CHECK_FALSE(filter.matches("watt eq", message).ok());
    CHECK_FALSE(matches("watt eq 8"));
  }
}

}  // namespace entitable::rpc
