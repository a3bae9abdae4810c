#include "core/model/etag.h"

#include "core/model/limits.h"
#include "tests/support/catch.h"
#include "tests/support/generators.h"

using namespace entitable;

namespace {

constexpr Ticks example = 637'311'980'884'767'000;  // 2020-07-24T14:34:48.4767Z
const std::string example_tag = "W/\"datetime'2020-07-24T14%3A34%3A48.4767Z'\"";

IfMatch condition_of(std::string_view text) {
  CAPTURE(text);
  const Result<IfMatch> condition = IfMatch::parse(text);
  REQUIRE(condition.ok());
  return *condition;
}

}  // namespace

TEST_CASE("the ETag is the Timestamp") {
  CHECK(etag_text(example) == example_tag);
  CHECK(etag_text(limits::date_time_ticks_min) == "W/\"datetime'1601-01-01T00%3A00%3A00Z'\"");
  CHECK(etag_text(limits::date_time_ticks_max) ==
        "W/\"datetime'9999-12-31T23%3A59%3A59.9999999Z'\"");
}

TEST_CASE("no condition and any condition match everything") {
  CHECK_FALSE(IfMatch().has_condition());
  CHECK_FALSE(condition_of("").has_condition());
  CHECK(condition_of("").matches(example));
  CHECK(condition_of("*").has_condition());
  CHECK(condition_of("*").matches(example));
  CHECK(IfMatch::any().has_condition());
  CHECK(IfMatch::any().matches(0));
}

TEST_CASE("a tag matches as a whole string only") {
  CHECK(condition_of(example_tag).has_condition());
  CHECK(condition_of(example_tag).matches(example));
  CHECK_FALSE(condition_of(example_tag).matches(example + 1));
  for (const char* other :
       {"W/\"\"", "W/\"datetime'2020-07-24T14:34:48.4767Z'\"",
        "W/\"datetime'2020-07-24T14%3a34%3a48.4767Z'\"",
        "W/\"datetime'2020-07-24T14%3A34%3A48.4767000Z'\"", "W/\"2020-07-24T14%3A34%3A48.4767Z\"",
        "W/\"datetime'2020-07-24T14%3A34%3A48.4767Z' \"", "W/\"anything\"", "W/\"*\""}) {
    CAPTURE(other);
    CHECK(condition_of(other).has_condition());
    CHECK_FALSE(condition_of(other).matches(example));
  }
}

TEST_CASE("anything but '*' or a single weak tag is rejected with the service's text") {
  const std::string list = example_tag + "," + example_tag;
  for (const std::string& bad :
       {std::string("\"strong\""), std::string("W/unquoted"), std::string("w/\"small\""),
        std::string("W/\""), std::string("W/"), std::string("W"), std::string("datetime"),
        std::string("**"), std::string(" *"), std::string("* "), std::string("*,W/\"a\""),
        std::string("W/\"a\"b\""), std::string("W/\"a\" "), std::string(" W/\"a\""),
        std::string("W/\"a\x01\""), std::string("W/\"a\x7F\""), std::string("W/'a'"),
        std::string(" "), list}) {
    CAPTURE(bad);
    const Result<IfMatch> condition = IfMatch::parse(bad);
    REQUIRE_FALSE(condition.ok());
    CHECK(
        condition.error() ==
        Error(
            ErrorCode::invalid_input,
            "The etag value '" + bad +
                "' specified in one of the request headers is not valid. Please make sure only one "
                "etag value is specified and is valid."));
  }
}

TEST_CASE("every ETag matches its own timestamp and no other") {
  constexpr std::uint64_t seed = 27;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 1000; ++round) {
    const Ticks a = test::random_ticks(prng);
    const Ticks b = test::random_ticks(prng);
    CHECK(condition_of(etag_text(a)).matches(a));
    CHECK(condition_of(etag_text(a)).matches(b) == (a == b));
  }
}
