#include "core/model/value.h"

#include <cmath>
#include <limits>

#include "core/base/utf8.h"
#include "core/model/limits.h"
#include "tests/support/catch.h"
#include "tests/support/generators.h"

using namespace entitable;
using namespace std::string_literals;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

const Error does_not_fit(ErrorCode::invalid_input,
                         "An error occurred while processing this request.");
const Error too_large(ErrorCode::property_value_too_large);

Value parsed(EdmType type, std::string_view text) {
  CAPTURE(static_cast<int>(type), text);
  const Result<Value> value = parse_value(type, text, "p");
  REQUIRE(value.ok());
  return *value;
}

Error error_of(EdmType type, std::string_view text) {
  CAPTURE(static_cast<int>(type), text);
  const Result<Value> value = parse_value(type, text, "p");
  REQUIRE_FALSE(value.ok());
  return value.error();
}

Ordering order(const Value& a, const Value& b) {
  return compare_values(a.view(), b.view());
}

Ordering reversed(Ordering ordering) {
  switch (ordering) {
    case Ordering::less:
      return Ordering::greater;
    case Ordering::greater:
      return Ordering::less;
    case Ordering::equal:
    case Ordering::unordered:
      return ordering;
  }
  return ordering;
}

}  // namespace

TEST_CASE("a value returns what it was built from") {
  CHECK(Value::of_string("a\0b"s).view().string() == "a\0b"s);
  CHECK(Value::of_binary("\xFF\0"s).view().binary() == "\xFF\0"s);
  CHECK(Value::of_boolean(true).view().boolean());
  CHECK_FALSE(Value::of_boolean(false).view().boolean());
  CHECK(Value::of_date_time(7).view().date_time() == 7);
  CHECK(Value::of_double(1.5).view().float64() == 1.5);
  CHECK(std::signbit(Value::of_double(-0.0).view().float64()));
  CHECK(std::isnan(Value::of_double(not_a_number).view().float64()));
  CHECK(Value::of_int32(-1).view().int32() == -1);
  CHECK(Value::of_int32(-1).view().bits() == -1);
  CHECK(Value::of_int64(std::numeric_limits<std::int64_t>::min()).view().int64() ==
        std::numeric_limits<std::int64_t>::min());
  const Guid guid = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  CHECK(Value::of_guid(guid).view().guid_bytes() ==
        "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D\x0E\x0F\x10");
}

TEST_CASE("equality is of type and bits") {
  CHECK(Value::of_double(not_a_number) == Value::of_double(not_a_number));
  CHECK_FALSE(Value::of_double(0.0) == Value::of_double(-0.0));
  CHECK_FALSE(Value::of_int32(3) == Value::of_int64(3));
  CHECK_FALSE(Value::of_string("a") == Value::of_binary("a"));
  CHECK_FALSE(Value::of_string("a") == Value::of_string("a\0"s));
  CHECK(Value::of_string("a") == Value::of_string("a"));
}

TEST_CASE("random values round-trip through parts and through text") {
  constexpr std::uint64_t seed = 28;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 5000; ++round) {
    const Value value = test::random_value(prng);
    const ValueView view = value.view();
    CHECK(ValueView::from_parts(view.type(), view.bits(), view.bytes()) == view);
    CHECK(Value(view) == value);
    CHECK(check_value(view, "p").ok());
    const std::string text = value_text(view);
    CAPTURE(static_cast<int>(view.type()), text);
    const Value back = parsed(view.type(), text);
    // The text of a NaN does not contain the NaN's bits.
    const bool is_nan = view.type() == EdmType::float64 && std::isnan(view.float64());
    if (is_nan) {
      CHECK(std::isnan(back.view().float64()));
    } else {
      CHECK(back == value);
    }
  }
}

TEST_CASE("order within each type") {
  CHECK(order(Value::of_string("a"), Value::of_string("b")) == Ordering::less);
  CHECK(order(Value::of_string("a"), Value::of_string("a")) == Ordering::equal);
  CHECK(order(Value::of_string("\xEF\xBD\x9E"), Value::of_string("\xF0\x9F\x98\x80")) ==
        Ordering::greater);
  CHECK(order(Value::of_binary("\xEF\xBD\x9E"), Value::of_binary("\xF0\x9F\x98\x80")) ==
        Ordering::less);
  CHECK(order(Value::of_binary("\x7F"), Value::of_binary("\x80")) == Ordering::less);  // unsigned
  CHECK(order(Value::of_binary("a"), Value::of_binary("a\0"s)) == Ordering::less);  // prefix first
  CHECK(order(Value::of_binary(""), Value::of_binary("")) == Ordering::equal);
  CHECK(order(Value::of_boolean(false), Value::of_boolean(true)) == Ordering::less);
  CHECK(order(Value::of_date_time(2), Value::of_date_time(10)) == Ordering::less);
  CHECK(order(Value::of_int32(-1), Value::of_int32(1)) == Ordering::less);
  CHECK(order(Value::of_int64(10), Value::of_int64(9)) == Ordering::greater);
  Guid high{};
  high[0] = 0x80;
  Guid low{};
  low[0] = 0x7F;
  low[15] = 0xFF;
  CHECK(order(Value::of_guid(low), Value::of_guid(high)) == Ordering::less);
}

TEST_CASE("order of doubles") {
  CHECK(order(Value::of_double(-0.0), Value::of_double(0.0)) == Ordering::equal);
  CHECK(order(Value::of_double(-infinity), Value::of_double(-1e308)) == Ordering::less);
  CHECK(order(Value::of_double(infinity), Value::of_double(1e308)) == Ordering::greater);
  CHECK(order(Value::of_double(-1.0), Value::of_double(-2.0)) == Ordering::greater);
  for (const double other : {not_a_number, 0.0, infinity, -infinity}) {
    CHECK(order(Value::of_double(not_a_number), Value::of_double(other)) == Ordering::unordered);
    CHECK(order(Value::of_double(other), Value::of_double(not_a_number)) == Ordering::unordered);
  }
}

TEST_CASE("the order of random values is antisymmetric, and equal values compare equal") {
  constexpr std::uint64_t seed = 29;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 3000; ++round) {
    const EdmType type = test::random_type(prng);
    const Value a = test::random_value(prng, type);
    const Value b = test::random_value(prng, type);
    CHECK(order(a, b) == reversed(order(b, a)));
    if (a == b) CHECK((order(a, b) == Ordering::equal || order(a, b) == Ordering::unordered));
  }
}

TEST_CASE("a String has at most 32768 units") {
  for (const std::string& unit : {"a"s, "\xC3\xA4"s, "\xE2\x82\xAC"s, "\xED\xA0\x80"s}) {
    CAPTURE(unit);
    std::string text;
    for (std::size_t i = 0; i < limits::string_units_max; ++i) text += unit;
    CHECK(check_value(ValueView::of_string(text), "p").ok());
    CHECK(parse_value(EdmType::string, text, "p").ok());
    text += unit;
    CHECK(check_value(ValueView::of_string(text), "p").error() == too_large);
    CHECK(error_of(EdmType::string, text) == too_large);
  }
  std::string pairs;
  for (int i = 0; i < 16'384; ++i) pairs += "\xF0\x9F\x98\x80";
  CHECK(check_value(ValueView::of_string(pairs), "p").ok());
  CHECK(check_value(ValueView::of_string(pairs + "a"), "p").error() == too_large);
  CHECK(check_value(ValueView::of_string(std::string(1'000'000, 'a')), "p").error() == too_large);
}

TEST_CASE("a Binary has at most 65536 bytes") {
  const std::string bytes(limits::binary_bytes_max, '\xFF');
  CHECK(check_value(ValueView::of_binary(bytes), "p").ok());
  CHECK(check_value(ValueView::of_binary(bytes + "x"), "p").error() == too_large);
  CHECK(parsed(EdmType::binary, value_text(ValueView::of_binary(bytes))).view().binary() == bytes);
  CHECK(error_of(EdmType::binary, value_text(ValueView::of_binary(bytes + "x"))) == too_large);
}

TEST_CASE("a DateTime is in range, and the error names the property") {
  CHECK(check_value(ValueView::of_date_time(limits::date_time_ticks_min), "p").ok());
  CHECK(check_value(ValueView::of_date_time(limits::date_time_ticks_max), "p").ok());
  CHECK(check_value(ValueView::of_date_time(limits::date_time_ticks_min - 1), "born").error() ==
        Error(ErrorCode::out_of_range_input,
              "The 'born' parameter of value '12/31/1600 23:59:59' is out of range."));
  CHECK(check_value(ValueView::of_date_time(limits::date_time_ticks_max + 1), "born").error() ==
        Error(ErrorCode::out_of_range_input,
              "The 'born' parameter of value '12/31/9999 23:59:59' is out of range."));
  CHECK(error_of(EdmType::date_time, "1600-12-31T00:00:00Z") ==
        Error(ErrorCode::out_of_range_input,
              "The 'p' parameter of value '12/31/1600 00:00:00' is out of range."));
  CHECK(error_of(EdmType::date_time, "yesterday") == does_not_fit);
}

TEST_CASE("a trivially valid value passes check_value") {
  const std::string at_most(limits::string_units_max, 'a');
  const std::string beyond(limits::binary_bytes_max + 1, 'a');
  const auto fits = [](const ValueView& value) {
    const bool surely = is_trivially_valid(value);
    if (surely) CHECK(check_value(value, "p").ok());
    return surely;
  };
  CHECK(fits(ValueView::of_string(at_most)));
  CHECK_FALSE(fits(ValueView::of_string(beyond)));
  CHECK(fits(ValueView::of_binary(at_most)));
  CHECK_FALSE(fits(ValueView::of_binary(beyond)));
  CHECK(fits(ValueView::of_date_time(limits::date_time_ticks_min)));
  CHECK_FALSE(fits(ValueView::of_date_time(limits::date_time_ticks_min - 1)));
  CHECK(fits(ValueView::of_date_time(limits::date_time_ticks_max)));
  CHECK_FALSE(fits(ValueView::of_date_time(limits::date_time_ticks_max + 1)));
  CHECK(fits(ValueView::of_double(not_a_number)));
  CHECK(fits(ValueView::of_int64(std::numeric_limits<std::int64_t>::min())));
}

TEST_CASE("text forms of numbers") {
  CHECK(parsed(EdmType::int32, "-2147483648") ==
        Value::of_int32(std::numeric_limits<std::int32_t>::min()));
  CHECK(parsed(EdmType::int32, "2147483647") == Value::of_int32(2147483647));
  CHECK(parsed(EdmType::int64, "9223372036854775807") ==
        Value::of_int64(std::numeric_limits<std::int64_t>::max()));
  CHECK(parsed(EdmType::float64, "1.5") == Value::of_double(1.5));
  CHECK(parsed(EdmType::float64, "3") == Value::of_double(3.0));
  CHECK(parsed(EdmType::float64, "-0.0") == Value::of_double(-0.0));
  CHECK(parsed(EdmType::float64, "1.23456789012346E+24") == Value::of_double(1.23456789012346e24));
  CHECK(std::isnan(parsed(EdmType::float64, "NaN").view().float64()));
  CHECK(parsed(EdmType::float64, "Infinity") == Value::of_double(infinity));
  CHECK(parsed(EdmType::float64, "-Infinity") == Value::of_double(-infinity));
  for (const char* bad :
       {"", "abc", "2147483648", "-2147483649", "1.0", "1e3", "0x1", " 1", "+1", "1L"}) {
    CHECK(error_of(EdmType::int32, bad) == does_not_fit);
  }
  for (const char* bad : {"", "abc", "9223372036854775808", "-9223372036854775809", "1.0", "1L"}) {
    CHECK(error_of(EdmType::int64, bad) == does_not_fit);
  }
  for (const char* bad : {"", "abc", "1e400", "-1e400", "nan", "INF", "-INF", "inf", "+Infinity",
                          "-NaN", "infinity", "1,5", "1.5d"}) {
    CHECK(error_of(EdmType::float64, bad) == does_not_fit);
  }
}

TEST_CASE("text forms of the other types") {
  CHECK(parsed(EdmType::boolean, "true") == Value::of_boolean(true));
  CHECK(parsed(EdmType::boolean, "false") == Value::of_boolean(false));
  CHECK(parsed(EdmType::boolean, "True") == Value::of_boolean(true));
  CHECK(parsed(EdmType::boolean, "FALSE") == Value::of_boolean(false));
  CHECK(parsed(EdmType::boolean, "tRUE") == Value::of_boolean(true));
  for (const char* bad : {"", "t", "1", "0", "yes", "true ", "\xC5\xA7rue", "Falsee"}) {
    CHECK(error_of(EdmType::boolean, bad) == does_not_fit);
  }
  CHECK(value_text(parsed(EdmType::guid, "C9DA6455-213D-42C9-9A79-3E9149A57833").view()) ==
        "c9da6455-213d-42c9-9a79-3e9149a57833");
  for (const char* bad :
       {"", "c9da6455213d42c99a793e9149a57833", "{c9da6455-213d-42c9-9a79-3e9149a57833}"}) {
    CHECK(error_of(EdmType::guid, bad) == does_not_fit);
  }
  CHECK(parsed(EdmType::binary, "YmluYXJ5") == Value::of_binary("binary"));
  CHECK(parsed(EdmType::binary, "") == Value::of_binary(""));
  for (const char* bad : {"Y", "YmluYXJ", "YmluYXJ5=", "_-_-", "YmluYXJ5 "}) {
    CHECK(error_of(EdmType::binary, bad) == does_not_fit);
  }
  CHECK(parsed(EdmType::string, "") == Value::of_string(""));
  CHECK(parsed(EdmType::string, "\xED\xA0\x80") == Value::of_string("\xED\xA0\x80"));
  CHECK(error_of(EdmType::string, "\xFF") == does_not_fit);
  CHECK(error_of(EdmType::string, "\xED\xA0\xBD\xED\xB8\x80") == does_not_fit);
}

TEST_CASE("values print in the service's form") {
  CHECK(value_text(ValueView::of_double(3.0)) == "3.0");
  CHECK(value_text(ValueView::of_double(not_a_number)) == "NaN");
  CHECK(value_text(ValueView::of_int64(39)) == "39");
  CHECK(value_text(ValueView::of_int32(-5)) == "-5");
  CHECK(value_text(ValueView::of_boolean(true)) == "true");
  CHECK(value_text(ValueView::of_boolean(false)) == "false");
  CHECK(value_text(ValueView::of_binary("binary")) == "YmluYXJ5");
  CHECK(value_text(ValueView::of_string("text")) == "text");
  CHECK(value_text(ValueView::of_date_time(ticks_at_unix_epoch)) == "1970-01-01T00:00:00Z");
}
