#include "core/rest/http_date.h"

#include "core/model/limits.h"
#include "tests/support/catch.h"

using namespace entitable;
using namespace entitable::rest;

namespace {

Ticks ticks_of(const char* text) {
  const auto ticks = parse_date_time(text, {});
  REQUIRE(ticks.ok());
  return *ticks;
}

}  // namespace

TEST_CASE("HTTP dates are parsed and printed") {
  const struct {
    const char* iso;
    const char* http;
  } samples[] = {{"2024-01-02T03:04:05Z", "Tue, 02 Jan 2024 03:04:05 GMT"},
                 {"2020-07-24T14:34:48Z", "Fri, 24 Jul 2020 14:34:48 GMT"},
                 {"1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 GMT"},
                 {"2024-02-29T23:59:59Z", "Thu, 29 Feb 2024 23:59:59 GMT"},
                 {"1601-01-01T00:00:00Z", "Mon, 01 Jan 1601 00:00:00 GMT"},
                 {"9999-12-31T23:59:59Z", "Fri, 31 Dec 9999 23:59:59 GMT"}};
  for (const auto& sample : samples) {
    CAPTURE(sample.http);
    CHECK(http_date_text(ticks_of(sample.iso)) == sample.http);
    CHECK(parse_http_date(sample.http) == ticks_of(sample.iso));
  }
}

TEST_CASE("every month has its name") {
  for (int month = 1; month <= 12; ++month) {
    const std::string two = (month < 10 ? "0" : "") + std::to_string(month);
    const Ticks ticks = ticks_of(("2023-" + two + "-15").c_str());
    CHECK(parse_http_date(http_date_text(ticks)) == ticks);
  }
}

TEST_CASE("fractions of a second are dropped") {
  CHECK(http_date_text(ticks_of("2024-01-02T03:04:05.9999999Z")) ==
        "Tue, 02 Jan 2024 03:04:05 GMT");
  CHECK(http_date_text(limits::date_time_ticks_max) == "Fri, 31 Dec 9999 23:59:59 GMT");
}

TEST_CASE("other formats are rejected") {
  for (const char* text : {"", "Tue, 02 Jan 2024 03:04:05", "Tue, 02 Jan 2024 03:04:05 UTC",
                           "Mon, 02 Jan 2024 03:04:05 GMT", "Tue, 2 Jan 2024 03:04:05 GMT",
                           "Tue, 32 Jan 2024 03:04:05 GMT", "Tue, 02 jan 2024 03:04:05 GMT",
                           "Tue, 02 anF 2024 03:04:05 GMT", "Tue, 02 Jan 2024 24:04:05 GMT",
                           "Tue, 02 Jan 2024 03:60:05 GMT", "Tue, 02 Jan 2024 03:04:60 GMT",
                           "Tue, 02 Jan 2024 03:04:05 GMT ", "Tue; 02 Jan 2024 03:04:05 GMT",
                           "Tuesday, 02-Jan-24 03:04:05 GMT", "2024-01-02T03:04:05.0000000Z",
                           "Mon, 01 Jan 1600 00:00:00 GMT", "Tue, 02 Jan 2024 03:04:0\xC3 GMT"}) {
    CAPTURE(text);
    CHECK(parse_http_date(text) == std::nullopt);
  }
}
