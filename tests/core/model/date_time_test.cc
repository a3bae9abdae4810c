#include "core/model/date_time.h"

#include <cstdio>
#include <limits>
#include <string>

#include "core/model/limits.h"
#include "tests/support/catch.h"
#include "tests/support/generators.h"

using namespace entitable;

namespace {

constexpr Ticks second = 10'000'000;
constexpr Ticks minute = 60 * second;
constexpr Ticks hour = 60 * minute;
constexpr Ticks day = 24 * hour;

Ticks parsed(std::string_view text) {
  CAPTURE(text);
  const Result<Ticks> ticks = parse_date_time(text, "when");
  REQUIRE(ticks.ok());
  return *ticks;
}

Error error_of(std::string_view text) {
  CAPTURE(text);
  const Result<Ticks> ticks = parse_date_time(text, "when");
  REQUIRE_FALSE(ticks.ok());
  return ticks.error();
}

Error out_of_range(const std::string& shown) {
  return Error(ErrorCode::out_of_range_input,
               "The 'when' parameter of value '" + shown + "' is out of range.");
}

const Error malformed(ErrorCode::invalid_input, "An error occurred while processing this request.");

}  // namespace

TEST_CASE("ticks of known instants") {
  CHECK(parsed("1970-01-01T00:00:00Z") == ticks_at_unix_epoch);
  CHECK(parsed("1601-01-01T00:00:00Z") == limits::date_time_ticks_min);
  CHECK(parsed("9999-12-31T23:59:59.9999999Z") == limits::date_time_ticks_max);
  CHECK(parsed("2020-07-24T14:34:48.4767Z") == 637311980884767000);
  CHECK(parsed("2000-02-29T00:00:00Z") == ticks_at_unix_epoch + 951'782'400 * second);
}

TEST_CASE("every accepted form") {
  const Ticks noon = parsed("2008-07-10T12:00:00Z");
  CHECK(parsed("2008-07-10") == noon - 12 * hour);
  CHECK(parsed("2008-07-10Z") == noon - 12 * hour);
  CHECK(parsed("2008-07-10+01:00") == noon - 13 * hour);
  CHECK(parsed("2008-07-10T12:00") == noon);
  CHECK(parsed("2008-07-10T12:00Z") == noon);
  CHECK(parsed("2008-07-10T12:00:00") == noon);  // no zone is UTC
  CHECK(parsed("2008-07-10T12:00:00.0") == noon);
  CHECK(parsed("2008-07-10T12:00:00.5Z") == noon + second / 2);
  CHECK(parsed("2008-07-10T12:00:00.000Z") == noon);
  CHECK(parsed("2008-07-10T12:00:00.0000001Z") == noon + 1);
  CHECK(parsed("2008-07-10T12:00:00.123456Z") == noon + 1'234'560);
  CHECK(parsed("2008-07-10T12:00:00.00000009999999999Z") == noon);  // cut off, not rounded
  CHECK(parsed("2008-07-10T12:00:59Z") == noon + 59 * second);
  CHECK(parsed("2008-07-10T13:30:00+01:30") == noon);
  CHECK(parsed("2008-07-10T04:00-08:00") == noon);
  CHECK(parsed("2008-07-11T02:00:00+14:00") == noon);
  CHECK(parsed("2008-07-09T22:00:00-14:00") == noon);
  CHECK(parsed("2008-07-10T12:00:00-00:00") == noon);
}

TEST_CASE("malformed dates") {
  for (const char* bad : {"",
                          "T",
                          "2008",
                          "2008-07",
                          "2008-07-",
                          "08-07-10",
                          "2008-7-10",
                          "2008-07-1",
                          "20080710",
                          "2008/07/10",
                          "10-07-2008",
                          "2008-07-10 ",
                          " 2008-07-10",
                          "2008-07-10t12:00:00Z",
                          "2008-07-10 12:00:00Z",
                          "2008-07-10T",
                          "2008-07-10T1:00",
                          "2008-07-10T12",
                          "2008-07-10T12Z",
                          "2008-07-10T12:0",
                          "2008-07-10T12:00:",
                          "2008-07-10T12:00:0",
                          "2008-07-10T12:00:00.",
                          "2008-07-10T12:00:00.Z",
                          "2008-07-10T12:00:00,5Z",
                          "2008-07-10T12:00:00z",
                          "2008-07-10T12:00:00ZZ",
                          "2008-07-10T12:00:00Z ",
                          "2008-07-10T12:00.5Z",
                          "2008-07-10T12:00:00+",
                          "2008-07-10T12:00:00+1",
                          "2008-07-10T12:00:00+01",
                          "2008-07-10T12:00:00+0100",
                          "2008-07-10T12:00:00+01:0",
                          "2008-07-10T12:00:00+01:00Z",
                          "2008-07-10T12:00:00.5 Z",
                          "-2008-07-10",
                          "+2008-07-10",
                          "12008-07-10",
                          "now",
                          "\xD9\xA2\xD9\xA0\xD9\xA0\xD9\xA8-07-10"}) {
    CHECK(error_of(bad) == malformed);
  }
}

TEST_CASE("both sides of every field") {
  for (const char* bad :
       {"0000-01-01", "2008-00-10", "2008-13-10", "2008-07-00", "2008-07-32", "2008-06-31",
        "2008-02-30", "2007-02-29", "1900-02-29", "2100-02-29", "2008-07-10T24:00",
        "2008-07-10T23:60", "2008-07-10T23:59:60", "2008-07-10T12:00+14:01",
        "2008-07-10T12:00+15:00", "2008-07-10T12:00+01:60", "2008-07-10T12:00-14:01"}) {
    CHECK(error_of(bad) == malformed);
  }
  parsed("2008-01-31");
  parsed("2008-12-31");
  parsed("2008-06-30");
  parsed("2008-02-29");
  parsed("2000-02-29");
  parsed("2008-07-10T23:59:59");
  parsed("2008-07-10T00:00:00");
}

TEST_CASE("dates outside the range show as invariant text in UTC") {
  CHECK(error_of("1600-12-31T23:59:59.9999999Z") == out_of_range("12/31/1600 23:59:59"));
  CHECK(error_of("0001-01-01") == out_of_range("01/01/0001 00:00:00"));
  CHECK(error_of("1492-10-12T08:05:03.25Z") == out_of_range("10/12/1492 08:05:03"));
  CHECK(error_of("1601-01-01T00:59:00+01:00") == out_of_range("12/31/1600 23:59:00"));
  CHECK(parsed("1600-12-31T23:00:00-01:00") == limits::date_time_ticks_min);
  CHECK(parsed("9999-12-31T23:59:59.99999999999Z") == limits::date_time_ticks_max);
  // Instants beyond the range of .NET's calendar show as its limits.
  CHECK(error_of("0001-01-01T00:00:00+01:00") == out_of_range("01/01/0001 00:00:00"));
  CHECK(error_of("9999-12-31T23:30:00-01:00") == out_of_range("12/31/9999 23:59:59"));
}

TEST_CASE("tick counts are checked on both sides of the range") {
  CHECK(check_date_time_range(limits::date_time_ticks_min, "when").ok());
  CHECK(check_date_time_range(limits::date_time_ticks_max, "when").ok());
  CHECK(check_date_time_range(limits::date_time_ticks_min - 1, "when").error() ==
        out_of_range("12/31/1600 23:59:59"));
  CHECK(check_date_time_range(limits::date_time_ticks_max + 1, "when").error() ==
        out_of_range("12/31/9999 23:59:59"));
  CHECK(check_date_time_range(0, "when").error() == out_of_range("01/01/0001 00:00:00"));
  CHECK(check_date_time_range(std::numeric_limits<Ticks>::min(), "when").error() ==
        out_of_range("01/01/0001 00:00:00"));
  CHECK(check_date_time_range(std::numeric_limits<Ticks>::max(), "when").error() ==
        out_of_range("12/31/9999 23:59:59"));
}

TEST_CASE("text has a fraction without trailing zeros") {
  const Ticks base = parsed("1973-10-04T00:00:00.000000Z");
  CHECK(date_time_text(base) == "1973-10-04T00:00:00Z");
  CHECK(date_time_text(base + 1) == "1973-10-04T00:00:00.0000001Z");
  CHECK(date_time_text(base + 10) == "1973-10-04T00:00:00.000001Z");
  CHECK(date_time_text(base + 1'000'000) == "1973-10-04T00:00:00.1Z");
  CHECK(date_time_text(base + 9'999'999) == "1973-10-04T00:00:00.9999999Z");
  CHECK(date_time_text(base + day - 1) == "1973-10-04T23:59:59.9999999Z");
  CHECK(date_time_text(base - 1) == "1973-10-03T23:59:59.9999999Z");
  CHECK(date_time_text(637311980884767000) == "2020-07-24T14:34:48.4767Z");
  CHECK(date_time_text(limits::date_time_ticks_min) == "1601-01-01T00:00:00Z");
  CHECK(date_time_text(limits::date_time_ticks_max) == "9999-12-31T23:59:59.9999999Z");
}

TEST_CASE("every day of 400 years, and the ends of all months of other years") {
  const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int year = 1601;
  int month = 1;
  int day_of_month = 1;
  for (Ticks at = limits::date_time_ticks_min; at < limits::date_time_ticks_max; at += day) {
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    const int length = lengths[month - 1] + (month == 2 && leap ? 1 : 0);
    if (year <= 2001 || day_of_month == 1 || day_of_month == length) {
      char expected[40];
      std::snprintf(expected, sizeof(expected), "%04d-%02d-%02d", year, month, day_of_month);
      const Result<Ticks> back = parse_date_time(expected, "when");
      if (date_time_text(at) != std::string(expected) + "T00:00:00Z" || !back.ok() || *back != at) {
        CAPTURE(expected, at);
        REQUIRE(false);
      }
    }
    if (++day_of_month > length) {
      day_of_month = 1;
      if (++month > 12) month = 1, ++year;
    }
  }
  CHECK(year == 10'000);
}

TEST_CASE("random instants round-trip") {
  constexpr std::uint64_t seed = 24;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 5000; ++round) {
    const Ticks ticks = test::random_ticks(prng);
    CHECK(parsed(date_time_text(ticks)) == ticks);
  }
}
