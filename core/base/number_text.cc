#include "core/base/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

namespace entitable {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// ------------------------------------------------------------------------------------------------
// Integers

template <typename Integer>
std::optional<Integer> parse_integer(std::string_view text) {
  Integer value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, value);
  if (text.empty() || problem != std::errc() || stopped != end) return std::nullopt;
  return value;
}

// ------------------------------------------------------------------------------------------------
// Text to double

// A decimal number: digits * 10^exponent, the digits without leading zeros (none at all: zero).
// 768 significant digits decide every rounding, so those beyond are only asked whether one is not
// zero: if so, the last digit kept is followed by a 1.
struct Decimal {
  static constexpr std::size_t digits_max = 800;
  char digits[digits_max + 1];
  std::size_t size = 0;
  std::int64_t exponent = 0;
  bool negative = false;
  bool inexact = false;  // a digit that was not kept is not zero

  void add_digit(char digit, bool after_point) {
    if (size == digits_max) {
      inexact = inexact || digit != '0';
      if (!after_point) ++exponent;
      return;
    }
    if (after_point) --exponent;
    if (size > 0 || digit != '0') digits[size++] = digit;
  }
  void finish() {
    if (!inexact) return;
    digits[size++] = '1';
    --exponent;
  }
};

// Reads digits from `at` on; returns how many there were.
std::size_t read_digits(std::string_view text, std::size_t& at, bool after_point, Decimal& out) {
  const std::size_t start = at;
  for (; at < text.size() && is_digit(text[at]); ++at) out.add_digit(text[at], after_point);
  return at - start;
}

// [(e|E) [+|-] digits]; nothing if malformed. Magnitudes beyond any meaning stay large, that is
// all.
std::optional<std::int64_t> read_exponent(std::string_view text, std::size_t& at) {
  constexpr std::int64_t exponent_max = 1'000'000'000'000;
  if (at == text.size() || (text[at] != 'e' && text[at] != 'E')) return 0;
  ++at;
  const bool negative = at < text.size() && text[at] == '-';
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  const std::size_t start = at;
  std::int64_t exponent = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    if (exponent < exponent_max) exponent = exponent * 10 + (text[at] - '0');
  }
  if (at == start) return std::nullopt;
  return negative ? -exponent : exponent;
}

bool read_decimal(std::string_view text, Decimal& out) {
  std::size_t at = 0;
  out.negative = !text.empty() && text[0] == '-';
  if (out.negative) ++at;
  std::size_t digits = read_digits(text, at, false, out);
  if (at < text.size() && text[at] == '.') {
    ++at;
    digits += read_digits(text, at, true, out);
  }
  if (digits == 0) return false;
  const std::optional<std::int64_t> exponent = read_exponent(text, at);
  if (!exponent || at != text.size()) return false;
  out.exponent += *exponent;
  out.finish();
  return true;
}

// Few digits and a small exponent, as nearly all numbers have: both are exact as doubles, so the
// one multiplication or division rounds correctly (W. Clinger, 1990).
std::optional<double> quick_value(const Decimal& decimal) {
  constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (decimal.size > 15 || decimal.exponent < -22 || decimal.exponent > 22) return std::nullopt;
  std::int64_t digits = 0;
  for (std::size_t i = 0; i < decimal.size; ++i) digits = digits * 10 + (decimal.digits[i] - '0');
  const auto whole = static_cast<double>(digits);
  return decimal.exponent < 0 ? whole / powers[-decimal.exponent]
                              : whole * powers[decimal.exponent];
}

// strtod rounds correctly in every library we build with. It obeys the decimal point of the host's
// locale, so it is given a text without one: digits, 'e', exponent.
double slow_value(const Decimal& decimal) {
  constexpr std::int64_t exponent_max = 100'000;  // beyond: zero or infinity whatever the digits
  const std::int64_t exponent = std::max(-exponent_max, std::min(exponent_max, decimal.exponent));
  std::string text(decimal.digits, decimal.size);
  text += 'e';
  text += std::to_string(exponent);
  return std::strtod(text.c_str(), nullptr);
}

// ------------------------------------------------------------------------------------------------
// Double to text

// The digits of a positive finite double: 0.d1d2d3… * 10^point.
struct ShortDigits {
  std::string digits;  // no leading or trailing zeros
  int point = 0;
};

double value_of(const ShortDigits& number) {
  std::string text = number.digits;
  text += 'e';
  text += std::to_string(number.point - static_cast<int>(number.digits.size()));
  return std::strtod(text.c_str(), nullptr);
}

void strip_trailing_zeros(ShortDigits& number) {
  while (number.digits.size() > 1 && number.digits.back() == '0') number.digits.pop_back();
}

// The next decimal with the same number of digits.
ShortDigits next_up(ShortDigits number) {
  std::size_t at = number.digits.size();
  while (at > 0 && number.digits[at - 1] == '9') number.digits[--at] = '0';
  if (at > 0) {
    ++number.digits[at - 1];
  } else {
    number.digits.insert(number.digits.begin(), '1');
    ++number.point;
  }
  strip_trailing_zeros(number);
  return number;
}

// nlohmann/json's private Grisu2: always reads back as the same bits, nearly always the shortest.
// This is the only use of it in the project.
ShortDigits grisu_digits(double positive) {
  char buffer[64] = {};
  const char* end = nlohmann::detail::to_chars(buffer, buffer + sizeof(buffer), positive);
  ShortDigits number;
  const char* at = buffer;
  bool after_point = false;
  for (; at != end && *at != 'e'; ++at) {
    if (*at == '.') {
      after_point = true;
      continue;
    }
    if (!after_point) ++number.point;
    if (number.digits.empty() && *at == '0') {
      --number.point;  // 0.00123 is 0.123e-2
      continue;
    }
    number.digits.push_back(*at);
  }
  if (at != end) number.point += std::atoi(at + 1);
  strip_trailing_zeros(number);
  return number;
}

ShortDigits shortest_digits(double positive) {
  ShortDigits number = grisu_digits(positive);
  // Decimals of up to 15 digits are all different as normal doubles, so such a result has no rival.
  // Any other may have a shorter neighbour: whatever reads back as the same double lies within its
  // rounding interval, which then also holds one of the two nearest with one digit less.
  const std::size_t unrivalled = positive < std::numeric_limits<double>::min() ? 1 : 15;
  while (number.digits.size() > unrivalled) {
    ShortDigits lower = number;
    lower.digits.pop_back();
    const ShortDigits upper = next_up(lower);
    strip_trailing_zeros(lower);
    if (value_of(lower) == positive) {
      number = lower;
    } else if (value_of(upper) == positive) {
      number = upper;
    } else {
      break;
    }
  }
  return number;
}

// The service's form: plain while the point is near the digits, else one digit before the point.
std::string positive_text(double positive) {
  const ShortDigits number = shortest_digits(positive);
  const std::string& digits = number.digits;
  const int size = static_cast<int>(digits.size());
  const int point = number.point;
  if (point < -3 || point > 15) {
    std::string text = digits.substr(0, 1);
    if (size > 1) text.append(".").append(digits, 1);
    const int exponent = point - 1;
    text.append(exponent < 0 ? "E-" : "E+");
    if (std::abs(exponent) < 10) text.push_back('0');
    return text.append(std::to_string(std::abs(exponent)));
  }
  if (point <= 0) return "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  const auto whole = static_cast<std::size_t>(point);
  if (point >= size) return digits + std::string(whole - digits.size(), '0') + ".0";
  return digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace

std::optional<std::int32_t> parse_int32(std::string_view text) {
  return parse_integer<std::int32_t>(text);
}
std::optional<std::int64_t> parse_int64(std::string_view text) {
  return parse_integer<std::int64_t>(text);
}

std::optional<double> parse_double(std::string_view text) {
  Decimal decimal;
  if (!read_decimal(text, decimal)) return std::nullopt;
  double magnitude = 0.0;
  if (decimal.size > 0) {
    const std::optional<double> quick = quick_value(decimal);
    magnitude = quick ? *quick : slow_value(decimal);
  }
  if (std::isinf(magnitude)) return std::nullopt;
  return decimal.negative ? -magnitude : magnitude;
}

std::string to_text(std::int32_t value) {
  return std::to_string(value);
}
std::string to_text(std::int64_t value) {
  return std::to_string(value);
}

std::string to_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  std::string text = value == 0 ? "0.0" : positive_text(std::fabs(value));
  if (std::signbit(value)) text.insert(text.begin(), '-');
  return text;
}

}  // namespace entitable
