#include "core/filter/literal.h"

#include <cmath>
#include <limits>
#include <string>

#include "core/filter/lexer.h"
#include "tests/support/catch.h"
#include "tests/support/generators.h"

using namespace entitable;

namespace {

// Parses `text`, which is a single literal.
Result<Value> parse(std::string_view text) {
  Lexer lexer(text);
  const Token token = lexer.next();
  REQUIRE(token.text == text);
  REQUIRE(is_literal(token));
  return parse_literal(token);
}

Value parsed_value(std::string_view text) {
  CAPTURE(text);
  const Result<Value> value = parse(text);
  REQUIRE(value.ok());
  return *value;
}

std::string message_of_error(std::string_view text) {
  CAPTURE(text);
  const Result<Value> value = parse(text);
  REQUIRE_FALSE(value.ok());
  CHECK(value.error().code == ErrorCode::invalid_input);
  return value.error().message;
}

bool is_literal_text(std::string_view text) {
  Lexer lexer(text);
  return is_literal(lexer.next());
}

}  // namespace

TEST_CASE("literals of every type parse to their value") {
  CHECK(parsed_value("'o''clock'") == Value::of_string("o'clock"));
  CHECK(parsed_value("''") == Value::of_string(""));
  CHECK(parsed_value("''''") == Value::of_string("'"));
  CHECK(parsed_value("123") == Value::of_int32(123));
  CHECK(parsed_value("-0") == Value::of_int32(0));
  CHECK(parsed_value("007") == Value::of_int32(7));
  CHECK(parsed_value("123L") == Value::of_int64(123));
  CHECK(parsed_value("-5l") == Value::of_int64(-5));
  CHECK(parsed_value("1.5") == Value::of_double(1.5));
  CHECK(parsed_value("-2.5e3") == Value::of_double(-2500));
  CHECK(parsed_value("1e3") == Value::of_double(1000));
  CHECK(parsed_value("1E-3") == Value::of_double(0.001));
  CHECK(parsed_value("3D") == Value::of_double(3));
  CHECK(parsed_value("-3d") == Value::of_double(-3));
  CHECK(parsed_value("1.5e1d") == Value::of_double(15));
  CHECK(parsed_value("-0.0") == Value::of_double(-0.0));
  CHECK(parsed_value("true") == Value::of_boolean(true));
  CHECK(parsed_value("false") == Value::of_boolean(false));
  CHECK(parsed_value("datetime'1601-01-01T00:00:00Z'") ==
        Value::of_date_time(limits::date_time_ticks_min));
  CHECK(parsed_value("guid'A455C695-df98-5678-aaaa-81d3367e5a34'") ==
        Value::of_guid(*parse_guid("a455c695-df98-5678-aaaa-81d3367e5a34")));
  for (const char* binary : {"X'0a1B'", "x'0a1b'", "binary'0A1B'"}) {
    CHECK(parsed_value(binary) == Value::of_binary("\x0A\x1B"));
  }
  CHECK(parsed_value("X''") == Value::of_binary(""));
}

TEST_CASE("the special doubles have OData's names and .NET's") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(std::isnan(parsed_value("NaN").view().float64()));
  CHECK(parsed_value("INF") == Value::of_double(infinity));
  CHECK(parsed_value("Infinity") == Value::of_double(infinity));
  CHECK(parsed_value("-INF") == Value::of_double(-infinity));
  CHECK(parsed_value("-Infinity") == Value::of_double(-infinity));
}

TEST_CASE("integers stay within their type") {
  CHECK(parsed_value("2147483647") == Value::of_int32(2147483647));
  CHECK(parsed_value("-2147483648") == Value::of_int32(-2147483647 - 1));
  CHECK(message_of_error("2147483648") == "Unrecognized 'Edm.Int32' literal '2147483648'");
  CHECK(message_of_error("-2147483649") == "Unrecognized 'Edm.Int32' literal '-2147483649'");
  CHECK(message_of_error("5454161346626") == "Unrecognized 'Edm.Int32' literal '5454161346626'");
  CHECK(parsed_value("2147483648L") == Value::of_int64(2147483648));
  CHECK(parsed_value("9223372036854775807L") ==
        Value::of_int64(std::numeric_limits<std::int64_t>::max()));
  CHECK(parsed_value("-9223372036854775808L") ==
        Value::of_int64(std::numeric_limits<std::int64_t>::min()));
  CHECK(message_of_error("9223372036854775808L") ==
        "Unrecognized 'Edm.Int64' literal '9223372036854775808L'");
  CHECK(message_of_error("-9223372036854775809l") ==
        "Unrecognized 'Edm.Int64' literal '-9223372036854775809l'");
  CHECK(message_of_error("1.5L") == "Unrecognized 'Edm.Int64' literal '1.5L'");
  CHECK(message_of_error("1e3L") == "Unrecognized 'Edm.Int64' literal '1e3L'");
}

TEST_CASE("doubles may underflow and not overflow") {
  CHECK(parsed_value("1.7976931348623157e308") ==
        Value::of_double(std::numeric_limits<double>::max()));
  CHECK(parsed_value("1e-400") == Value::of_double(0));
  CHECK(message_of_error("1e400") == "Unrecognized 'Edm.Double' literal '1e400'");
  CHECK(message_of_error("-1e400D") == "Unrecognized 'Edm.Double' literal '-1e400D'");
}

TEST_CASE("bad content of a typed literal names its type") {
  CHECK(message_of_error("datetime''") == "Unrecognized 'Edm.DateTime' literal 'datetime'''");
  CHECK(message_of_error("datetime'2008-02-30'") ==
        "Unrecognized 'Edm.DateTime' literal 'datetime'2008-02-30''");
  CHECK(message_of_error("datetime'1600-12-31T23:59:59.9999999Z'") ==
        "Unrecognized 'Edm.DateTime' literal 'datetime'1600-12-31T23:59:59.9999999Z''");
  CHECK(message_of_error("guid'a455c695df985678aaaa81d3367e5a34'") ==
        "Unrecognized 'Edm.Guid' literal 'guid'a455c695df985678aaaa81d3367e5a34''");
  CHECK(message_of_error("X'0'") == "Unrecognized 'Edm.Binary' literal 'X'0''");
  CHECK(message_of_error("x'0g'") == "Unrecognized 'Edm.Binary' literal 'x'0g''");
  CHECK(message_of_error("binary'a'''") == "Unrecognized 'Edm.Binary' literal 'binary'a''''");
}

TEST_CASE("null and the types that no property has get the standard text") {
  for (const char* literal :
       {"null", "1M", "1.5m", "1F", "-1e3f", "time'PT1S'", "datetimeoffset'2008-07-10T00:00:00Z'",
        "duration'PT1S'", "geography'POINT(1 2)'", "geometry'POINT(1 2)'"}) {
    CHECK(message_of_error(literal).empty());
  }
}

TEST_CASE("words in another case and punctuation are no literals") {
  for (const char* text : {"a", "True", "FALSE", "Null", "nan", "inf", "infinity", "not", "(", ")",
                           ",", "-", "'open", "#", ""}) {
    CAPTURE(text);
    CHECK_FALSE(is_literal_text(text));
  }
}

TEST_CASE("literal_text has one form for each type") {
  CHECK(literal_text(ValueView::of_string("o'clock")) == "'o''clock'");
  CHECK(literal_text(ValueView::of_int32(-5)) == "-5");
  CHECK(literal_text(ValueView::of_int64(5)) == "5L");
  CHECK(literal_text(ValueView::of_double(3)) == "3.0");
  CHECK(literal_text(ValueView::of_double(-0.0)) == "-0.0");
  CHECK(literal_text(Value::of_double(std::nan("")).view()) == "NaN");
  CHECK(literal_text(ValueView::of_double(-std::numeric_limits<double>::infinity())) == "-INF");
  CHECK(literal_text(ValueView::of_boolean(true)) == "true");
  CHECK(literal_text(ValueView::of_date_time(637'311'980'884'767'000)) ==
        "datetime'2020-07-24T14:34:48.4767Z'");
  CHECK(literal_text(parsed_value("guid'A455C695-df98-5678-aaaa-81d3367e5a34'").view()) ==
        "guid'a455c695-df98-5678-aaaa-81d3367e5a34'");
  CHECK(literal_text(ValueView::of_binary("\x0A\xFF")) == "X'0aff'");
}

TEST_CASE("every value round-trips as a literal") {
  const std::uint64_t seed = 20'080'710;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int i = 0; i < 5000; ++i) {
    const Value value = test::random_value(prng);
    const std::string text = literal_text(value.view());
    const Value again = parsed_value(text);
    const bool nan = value.type() == EdmType::float64 && std::isnan(value.view().float64());
    CAPTURE(text);
    CHECK((nan ? literal_text(again.view()) == "NaN" : again == value));
  }
}
