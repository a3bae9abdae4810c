#include "core/base/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/double_from_decimal.h"

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

// A decimal number: digits * 10^exponent, without leading zeros (zero has no digits). Keeps the
// first 800 digits, because 768 significant digits decide every rounding. Of the dropped digits it
// only matters whether any is not zero: if so, finish() appends a 1.
struct Decimal {
  static constexpr std::size_t digits_max = 800;
  char digits[digits_max + 1];
  std::size_t size = 0;
  std::int64_t exponent = 0;
  bool negative = false;
  bool inexact = false;  // a dropped digit is not zero

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

// Adds the digits from `at` on to `out` and moves `at` past them. Returns how many there were.
std::size_t read_digits(std::string_view text, std::size_t& at, bool after_point, Decimal& out) {
  const std::size_t start = at;
  for (; at < text.size() && is_digit(text[at]); ++at) out.add_digit(text[at], after_point);
  return at - start;
}

// Parses [(e|E) [+|-] digits] and moves `at` past it. Returns 0 if there is no exponent, and
// nothing if the exponent has no digits. Ignores the digits after the exponent has reached
// exponent_max.
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

// strtod rounds correctly in every library we build with. Its decimal point depends on the host's
// locale, so the text passed to it has none: digits, 'e', exponent.
double exact_double(const Decimal& decimal) {
  constexpr std::int64_t exponent_max =
      100'000;  // beyond this, zero or infinity whatever the digits
  const std::int64_t exponent = std::max(-exponent_max, std::min(exponent_max, decimal.exponent));
  std::string text(decimal.digits, decimal.size);
  text += 'e';
  text += std::to_string(exponent);
  return std::strtod(text.c_str(), nullptr);
}

double magnitude_of(const Decimal& decimal) {
  constexpr std::size_t digits_of_64_bits = 19;
  if (decimal.size <= digits_of_64_bits) {
    std::uint64_t digits = 0;
    for (std::size_t i = 0; i < decimal.size; ++i) {
      digits = digits * 10 + static_cast<std::uint64_t>(decimal.digits[i] - '0');
    }
    if (const std::optional<double> quick = double_from_decimal(digits, decimal.exponent))
      return *quick;
  }
  return exact_double(decimal);
}

// ------------------------------------------------------------------------------------------------
// Double to text

// A positive number: digits * 10^exponent.
struct ShortDecimal {
  std::uint64_t digits = 0;
  int exponent = 0;

  void strip_trailing_zeros() {
    for (; digits % 10 == 0; digits /= 10) ++exponent;
  }
  bool parses_to(double positive) const {
    if (const std::optional<double> quick = double_from_decimal(digits, exponent)) {
      return *quick == positive;
    }
    const std::string text = std::to_string(digits) + "e" + std::to_string(exponent);
    return std::strtod(text.c_str(), nullptr) == positive;
  }
};

// Returns a decimal that reads back as the same bits and is nearly always the shortest one that
// does. Uses the Grisu2 implementation inside nlohmann/json.
ShortDecimal grisu_decimal(double positive) {
  char text[64] = {};  // zeros, so that the exponent is terminated
  const char* end = nlohmann::detail::to_chars(text, text + sizeof(text), positive);
  ShortDecimal decimal;
  bool after_point = false;
  const char* at = text;
  for (; at != end && *at != 'e'; ++at) {
    if (*at == '.') {
      after_point = true;
      continue;
    }
    decimal.digits = decimal.digits * 10 + static_cast<std::uint64_t>(*at - '0');
    if (after_point) --decimal.exponent;
  }
  if (at != end) decimal.exponent += std::atoi(at + 1);
  decimal.strip_trailing_zeros();
  return decimal;
}

ShortDecimal shortest_decimal(double positive) {
  ShortDecimal decimal = grisu_decimal(positive);
  // Two decimals of up to 15 digits never round to the same normal double, so a result with at most
  // 15 digits is the shortest. For a longer result, a shorter decimal may round to the same double.
  // The only candidates are the two nearest decimals with one digit less.
  const bool subnormal = positive < std::numeric_limits<double>::min();
  const std::uint64_t unrivalled = subnormal ? 9 : 999'999'999'999'999;
  while (decimal.digits > unrivalled) {
    ShortDecimal lower = {decimal.digits / 10, decimal.exponent + 1};
    ShortDecimal upper = {lower.digits + 1, lower.exponent};
    if (lower.parses_to(positive)) {
      decimal = lower;
    } else if (upper.parses_to(positive)) {
      decimal = upper;
    } else {
      break;
    }
    decimal.strip_trailing_zeros();
  }
  return decimal;
}

template <typename Integer>
void append_integer(std::string& out, Integer value) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

// Writes the service's form: plain notation for small exponents, else one digit before the point.
void append_positive(std::string& out, double positive) {
  const ShortDecimal decimal = shortest_decimal(positive);
  char memory[24];
  const char* end = std::to_chars(memory, memory + sizeof memory, decimal.digits).ptr;
  const std::string_view digits(memory, static_cast<std::size_t>(end - memory));
  const int size = static_cast<int>(digits.size());
  const int point = size + decimal.exponent;  // number of digits before the decimal point
  if (point < -3 || point > 15) {
    out.append(digits, 0, 1);
    if (size > 1) out.append(".").append(digits, 1);
    const int exponent = point - 1;
    out.append(exponent < 0 ? "E-" : "E+");
    if (std::abs(exponent) < 10) out.push_back('0');
    append_integer(out, std::abs(exponent));
  } else if (point <= 0) {
    out.append("0.").append(static_cast<std::size_t>(-point), '0').append(digits);
  } else if (point >= size) {
    out.append(digits).append(static_cast<std::size_t>(point - size), '0').append(".0");
  } else {
    const auto whole = static_cast<std::size_t>(point);
    out.append(digits, 0, whole).append(".").append(digits, whole);
  }
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
  const double magnitude = magnitude_of(decimal);
  if (std::isinf(magnitude)) return std::nullopt;
  return decimal.negative ? -magnitude : magnitude;
}

void append_text(std::string& out, std::int32_t value) {
  append_integer(out, value);
}
void append_text(std::string& out, std::int64_t value) {
  append_integer(out, value);
}

void append_text(std::string& out, double value) {
  if (std::isnan(value)) {
    out.append("NaN");
    return;
  }
  if (std::signbit(value)) out.push_back('-');
  if (std::isinf(value)) {
    out.append("Infinity");
  } else if (value == 0) {
    out.append("0.0");
  } else {
    append_positive(out, std::fabs(value));
  }
}

std::string to_text(std::int32_t value) {
  return std::to_string(value);
}
std::string to_text(std::int64_t value) {
  return std::to_string(value);
}
std::string to_text(double value) {
  std::string text;
  append_text(text, value);
  return text;
}

}  // namespace entitable
