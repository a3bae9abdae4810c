#include "core/base/digits.h"

#include <string>

#include "tests/support/catch.h"

using namespace entitable;

TEST_CASE("two digits of every number that has as many") {
  for (std::uint32_t n = 0; n < 100; ++n) {
    char text[2];
    put_two_digits(text, n);
    CHECK(std::string(text, 2) == std::to_string(100 + n).substr(1));
  }
}

TEST_CASE("seven digits, with zeros before them") {
  for (const std::uint32_t n : {0u, 1u, 9u, 10u, 999u, 1000u, 1001u, 123u, 1'234'567u, 9'000'000u,
                                9'000'900u, 9'999'999u}) {
    CAPTURE(n);
    char text[7];
    put_seven_digits(text, n);
    CHECK(std::string(text, 7) == std::to_string(10'000'000 + n).substr(1));
  }
}
