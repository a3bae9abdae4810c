#include "core/base/number_text.h"

#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "tests/support/catch.h"
#include "tests/support/prng.h"

using namespace entitable;
using namespace std::string_literals;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double double_max = std::numeric_limits<double>::max();
constexpr double denormal_min = std::numeric_limits<double>::denorm_min();

std::uint64_t bits_of(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, 8);
  return bits;
}
double double_of(std::uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, 8);
  return value;
}

bool parses_to(std::string_view text, double expected) {
  const std::optional<double> value = parse_double(text);
  return value && bits_of(*value) == bits_of(expected);
}

// Returns how many significant digits the text has.
std::size_t digits_of(std::string_view text) {
  std::string digits;
  for (const char c : text.substr(0, text.find_first_of("eE"))) {
    if (c >= '0' && c <= '9') digits.push_back(c);
  }
  digits.erase(0, digits.find_first_not_of('0'));
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits.size();
}

// The references: the standard library's own conversions where it has them (the native builds),
// otherwise the C library's, tried once per length.
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
std::size_t shortest_digits_of(double value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific);
  return digits_of(std::string_view(text, static_cast<std::size_t>(end.ptr - text)));
}
#else
std::size_t shortest_digits_of(double value) {
  char text[64];
  for (int digits = 1;; ++digits) {
    std::snprintf(text, sizeof(text), "%.*e", digits - 1, value);
    if (std::strtod(text, nullptr) == value || digits == 17) return digits_of(text);
  }
}
#endif

// Checks that the text reads back and is as short as possible.
void check_round_trip(double value) {
  const std::string text = to_text(value);
  const std::size_t shortest = shortest_digits_of(value);
  const bool good = parses_to(text, value) && text.find_first_of(".E") != std::string::npos &&
                    digits_of(text) <= shortest;
  if (!good) {
    CAPTURE(text, shortest, bits_of(value));
    CHECK(good);
  }
}

}  // namespace

TEST_CASE("int32 text has exactly the int32 range") {
  CHECK(parse_int32("0") == 0);
  CHECK(parse_int32("-0") == 0);
  CHECK(parse_int32("007") == 7);
  CHECK(parse_int32("2147483647") == 2147483647);
  CHECK_FALSE(parse_int32("2147483648"));
  CHECK(parse_int32("-2147483648") == std::numeric_limits<std::int32_t>::min());
  CHECK_FALSE(parse_int32("-2147483649"));
  CHECK_FALSE(parse_int32("99999999999999999999999999"));
  for (const char* bad :
       {"", "-", "+1", " 1", "1 ", "1.0", "1e0", "0x1", "--1", "abc", "1a", "\xC2\xB2"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_int32(bad));
    CHECK_FALSE(parse_int64(bad));
  }
  CHECK_FALSE(parse_int32("1\0"s));
  CHECK(to_text(std::int32_t{-2147483647 - 1}) == "-2147483648");
  CHECK(to_text(std::int32_t{0}) == "0");
}

TEST_CASE("int64 text has exactly the int64 range") {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  CHECK(parse_int64("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  CHECK_FALSE(parse_int64("9223372036854775808"));
  CHECK(parse_int64("-9223372036854775808") == least);
  CHECK_FALSE(parse_int64("-9223372036854775809"));
  CHECK(to_text(least) == "-9223372036854775808");
  CHECK(to_text(std::numeric_limits<std::int64_t>::max()) == "9223372036854775807");
}

TEST_CASE("a view into a longer text is read to its end only") {
  CHECK(parse_int32(std::string_view("123456").substr(0, 3)) == 123);
  CHECK(parse_double(std::string_view("1.2345e9").substr(0, 4)) == 1.23);
}

TEST_CASE("double text: accepted forms") {
  CHECK(parses_to("0", 0.0));
  CHECK(parses_to("-0", -0.0));
  CHECK(parses_to("-0.000e50", -0.0));
  CHECK(parses_to("1", 1.0));
  CHECK(parses_to("3.0", 3.0));
  CHECK(parses_to("3.", 3.0));
  CHECK(parses_to(".5", 0.5));
  CHECK(parses_to("-.5e1", -5.0));
  CHECK(parses_to("1e3", 1000.0));
  CHECK(parses_to("1E+3", 1000.0));
  CHECK(parses_to("1e-3", 0.001));
  CHECK(parses_to("00012.5000", 12.5));
  CHECK(parses_to("1.23456789012346E+24", 1.23456789012346e24));
}

TEST_CASE("double text: everything else is rejected") {
  for (const char* bad :
       {"",    "-",     "+1",       ".",   "-.",        "e5",    ".e5",  "1e",   "1e+",
        "1e-", "1e+-1", "1.2.3",    "1,5", " 1",        "1 ",    "0x10", "1f",   "1d",
        "NaN", "nan",   "Infinity", "inf", "-Infinity", "1_000", "--1",  "1e1.5"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_double(bad));
  }
  CHECK_FALSE(parse_double("1\0"s));
}

TEST_CASE("double text: overflow has no value, underflow is zero or a subnormal") {
  CHECK(parses_to("1.7976931348623157e308", double_max));
  CHECK(parses_to("-1.7976931348623157e308", -double_max));
  CHECK(parses_to("1.7976931348623158e308", double_max));  // still nearest to the largest
  CHECK_FALSE(parse_double("1.7976931348623159e308"));     // beyond the last half
  CHECK_FALSE(parse_double("1e309"));
  CHECK_FALSE(parse_double("1e400"));
  CHECK_FALSE(parse_double("-1e400"));
  CHECK_FALSE(parse_double("1e99999999999999999999999999999"));
  CHECK(parses_to("0e99999999999999999999999999999", 0.0));
  CHECK(parses_to("2.2250738585072014e-308", std::numeric_limits<double>::min()));
  CHECK(parses_to("2.2250738585072011e-308", double_of(0x000FFFFFFFFFFFFF)));
  CHECK(parses_to("5e-324", denormal_min));
  CHECK(parses_to("2.4703282292062328e-324", denormal_min));  // just above half
  CHECK(parses_to("2.4703282292062327e-324", 0.0));           // just below
  CHECK(parses_to("-1e-400", -0.0));
  CHECK(parses_to("1e-99999999999999999999999999999", 0.0));
}

TEST_CASE("double text: ties go to even, and one digit far away breaks them") {
  CHECK(parses_to("9007199254740993", 9007199254740992.0));  // 2^53 + 1
  CHECK(parses_to("9007199254740995", 9007199254740996.0));
  CHECK(parses_to("9007199254740993.00000000000000000000000000000000000001", 9007199254740994.0));
  CHECK(parses_to("9007199254740993." + std::string(2000, '0') + "1", 9007199254740994.0));
  CHECK(parses_to("9007199254740993" + std::string(2000, '0') + "e-2000", 9007199254740992.0));
  CHECK(parses_to("9007199254740993" + std::string(2000, '0') + "1e-2001", 9007199254740994.0));
  CHECK(parses_to("0." + std::string(5000, '0') + "125e5000", 0.125));
  CHECK(parses_to("125" + std::string(5000, '0') + "e-5003", 0.125));
  CHECK(parses_to(std::string(100'000, '0') + "1", 1.0));
}

TEST_CASE("double text agrees with the C library on random decimals") {
  constexpr std::uint64_t seed = 7;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 50'000; ++round) {
    std::string text;
    for (std::uint64_t i = prng.below(prng.chance(4) ? 40 : 18) + 1; i > 0; --i) {
      text.push_back(static_cast<char>('0' + prng.below(10)));
    }
    if (prng.chance(2)) text.insert(prng.below(text.size()), ".");
    if (text[0] == '.') text.insert(0, "0");
    if (prng.chance(2)) text += "e" + std::to_string(static_cast<int>(prng.below(700)) - 360);
    const double expected = std::strtod(text.c_str(), nullptr);
    const std::optional<double> value = parse_double(text);
    const bool good = std::isinf(expected) ? !value : value && bits_of(*value) == bits_of(expected);
    if (!good) {
      CAPTURE(text, expected);
      CHECK(good);
    }
  }
}

TEST_CASE("doubles print in the service's form") {
  CHECK(to_text(0.0) == "0.0");
  CHECK(to_text(-0.0) == "-0.0");
  CHECK(to_text(3.0) == "3.0");
  CHECK(to_text(-1.0) == "-1.0");
  CHECK(to_text(1.5) == "1.5");
  CHECK(to_text(0.1) == "0.1");
  CHECK(to_text(100.0) == "100.0");
  CHECK(to_text(1234567.875) == "1234567.875");
  CHECK(to_text(0.0001) == "0.0001");
  CHECK(to_text(0.00001) == "1E-05");
  CHECK(to_text(-0.000012) == "-1.2E-05");
  CHECK(to_text(123456789012345.0) == "123456789012345.0");
  CHECK(to_text(1e14) == "100000000000000.0");
  CHECK(to_text(1e15) == "1E+15");
  CHECK(to_text(9007199254740992.0) == "9.007199254740992E+15");
  CHECK(to_text(1.2345e24) == "1.2345E+24");
  CHECK(to_text(1e100) == "1E+100");
  CHECK(to_text(1e-100) == "1E-100");
  CHECK(to_text(double_max) == "1.7976931348623157E+308");
  CHECK(to_text(denormal_min) == "5E-324");
  CHECK(to_text(0.1 + 0.2) == "0.30000000000000004");
  CHECK(to_text(std::numeric_limits<double>::quiet_NaN()) == "NaN");
  CHECK(to_text(infinite) == "Infinity");
  CHECK(to_text(-infinite) == "-Infinity");
}

TEST_CASE("edge doubles round-trip, in the shortest text") {
  for (const double value :
       {0.0, 1e22, 1e23, 9.5e-3, 5e-324, 1e-323, 1.5e-323, 4.4501477170144023e-308,
        2.2250738585072014e-308, 8.41e21, 2.0e-5, 9007199254740993.0, 1.9156918820264798e-56,
        6.6665384617468005e-300, double_max}) {
    check_round_trip(value);
    check_round_trip(-value);
  }
  for (int exponent = -1074; exponent <= 1023; ++exponent) {
    const double power = std::ldexp(1.0, exponent);
    check_round_trip(power);
    check_round_trip(std::nextafter(power, 0.0));
    check_round_trip(std::nextafter(power, infinite));
  }
  for (int exponent = -323; exponent <= 308; ++exponent) {
    check_round_trip(*parse_double("1e" + std::to_string(exponent)));
    check_round_trip(*parse_double("9.999999999999999e" + std::to_string(exponent - 1)));
  }
  for (std::uint64_t bits = 1; bits < 2000; ++bits)
    check_round_trip(double_of(bits));  // subnormals
}

TEST_CASE("random bit patterns round-trip, in the shortest text") {
  constexpr std::uint64_t seed = 8;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 30'000; ++round) {
    const double value = double_of(prng.next());
    if (std::isfinite(value)) check_round_trip(value);
    check_round_trip(double_of(prng.next() >> (12 + prng.below(52))));     // subnormals
    check_round_trip(static_cast<double>(prng.next() >> prng.below(64)));  // whole numbers
    check_round_trip(static_cast<double>(prng.below(100'000'000)) /
                     10'000.0);  // as people write numbers
  }
}

TEST_CASE("a decimal comma in the host's locale changes nothing") {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  bool comma = false;
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR.utf8"}) {
    comma = comma || std::setlocale(LC_NUMERIC, name) != nullptr;
  }
  INFO("a locale with a decimal comma is installed: " << comma);
  CHECK(parses_to("1234567.891234567891234567", 1234567.891234567891234567));
  CHECK_FALSE(parse_double("1,5"));
  CHECK(to_text(1234567.891) == "1234567.891");
  CHECK(to_text(0.30000000000000004) == "0.30000000000000004");
  std::setlocale(LC_NUMERIC, before.c_str());
}
