#include "core/base/double_from_decimal.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/prng.h"

using namespace entitable;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double exact(std::uint64_t digits, std::int64_t exponent) {
  return std::strtod((std::to_string(digits) + "e" + std::to_string(exponent)).c_str(), nullptr);
}

// Whether double_from_decimal() returned a value; checks that the value is right.
bool converts(std::uint64_t digits, std::int64_t exponent) {
  const std::optional<double> value = double_from_decimal(digits, exponent);
  if (value && *value != exact(digits, exponent)) {
    CAPTURE(digits, exponent, *value);
    CHECK(*value == exact(digits, exponent));
  }
  return value.has_value();
}

}  // namespace

TEST_CASE("few digits and small exponents are always converted") {
  for (std::int64_t exponent = -22; exponent <= 22; ++exponent) {
    for (const std::uint64_t digits :
         {0ull, 1ull, 7ull, 123456789ull, (1ull << 53) - 1, 1ull << 53}) {
      CHECK(converts(digits, exponent));
    }
  }
}

TEST_CASE("every power of ten of a normal double is converted, and never wrongly beyond") {
  for (std::int64_t exponent = -400; exponent <= 400; ++exponent) {
    CAPTURE(exponent);
    const bool tie = exponent == 23;  // 5^23 has 54 bits: exactly between two doubles
    const bool normal = exponent > -308;
    CHECK(converts(1, exponent) == (normal && !tie));
    converts(std::numeric_limits<std::uint64_t>::max(), exponent);
    converts(9'999'999'999'999'999'999u, exponent);
    converts(12'345'678'901'234'567u, exponent);
  }
  CHECK(double_from_decimal(0, -1'000'000) == 0.0);
  CHECK(double_from_decimal(0, 1'000'000) == 0.0);
  CHECK(double_from_decimal(1, 1'000'000'000'000) == infinity);
  CHECK_FALSE(double_from_decimal(1, -1'000'000'000'000));
}

TEST_CASE("the edges of the normal range") {
  CHECK(double_from_decimal(17976931348623157, 292) == std::numeric_limits<double>::max());
  CHECK(double_from_decimal(17976931348623159, 292) == infinity);
  CHECK(converts(22250738585072014, -324));        // the least normal
  CHECK_FALSE(converts(22250738585072011, -324));  // subnormal
  CHECK_FALSE(converts(5, -324));
}

TEST_CASE("ties are left to the slow conversion") {
  CHECK_FALSE(double_from_decimal((1ull << 53) + 1, 0));
  CHECK_FALSE(double_from_decimal((1ull << 53) + 3, 0));
  CHECK(converts((1ull << 53) + 2, 0));
  CHECK(converts(((1ull << 53) + 1) * 1000 + 1, -3));  // just above the tie
  CHECK(converts(((1ull << 53) + 1) * 1000 - 1, -3));
}

TEST_CASE("random decimals are converted correctly, and nearly always") {
  constexpr std::uint64_t seed = 9;
  CAPTURE(seed);
  test::Prng prng(seed);
  int unconverted = 0;
  constexpr int rounds = 50'000;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t digits = prng.next() >> prng.below(60);
    const std::int64_t exponent = static_cast<std::int64_t>(prng.below(590)) - 300;
    unconverted += converts(digits, exponent) ? 0 : 1;
  }
  CHECK(unconverted < rounds / 1000);
}
