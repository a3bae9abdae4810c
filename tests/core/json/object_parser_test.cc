#include "core/json/object_parser.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"

namespace entitable::json {
namespace {

// A member that owns its text.
struct Owned {
  std::string name;
  ValueKind kind;
  std::string text;
  friend bool operator==(const Owned&, const Owned&) = default;
};

std::vector<Owned> read(std::string_view text) {
  CAPTURE(std::string(text));
  const auto object = parse_object(text);
  REQUIRE(object.ok());
  std::vector<Owned> members;
  for (const Member& member : object->members) {
    members.push_back({std::string(member.name), member.kind, std::string(member.text)});
  }
  return members;
}

Owned only(std::string_view text) {
  const std::vector<Owned> members = read(text);
  REQUIRE(members.size() == 1);
  return members.front();
}

Error error_of(std::string_view text) {
  CAPTURE(std::string(text));
  const auto members = parse_object(text);
  REQUIRE_FALSE(members.ok());
  return members.error();
}

TEST_CASE("scalars keep their kind and text") {
  CHECK(read("{}").empty());
  CHECK(only(R"({"a":null})") == Owned{"a", ValueKind::null, ""});
  CHECK(only(R"({"a":true})") == Owned{"a", ValueKind::boolean, "true"});
  CHECK(only(R"({"a":false})") == Owned{"a", ValueKind::boolean, "false"});
  CHECK(only(R"({"a":"x"})") == Owned{"a", ValueKind::string, "x"});
  CHECK(only(R"({"":""})") == Owned{"", ValueKind::string, ""});
}

TEST_CASE("numbers keep their text") {
  for (const char* text :
       {"0", "-0", "3", "3.0", "-3.50", "1e3", "1E+3", "2.5e-7", "-2147483648", "2147483648",
        "9223372036854775807", "-9223372036854775808", "18446744073709551615",
        "18446744073709551616", "-9223372036854775809", "123456789012345678901234567890"}) {
    CHECK(only("{\"a\":" + std::string(text) + "}") == Owned{"a", ValueKind::number, text});
  }
}

TEST_CASE("a number beyond a double has the service's text") {
  const Error expected(ErrorCode::invalid_input,
                       "An error occurred while processing this request.");
  CHECK(error_of(R"({"a":1e400})") == expected);
  CHECK(error_of(R"({"a":[-1e309]})") == expected);
  CHECK(only(R"({"a":1e-400})") == Owned{"a", ValueKind::number, "1e-400"});
}

TEST_CASE("order and duplicates are kept") {
  CHECK(read(R"( { "b" : 1 , "a" : 2 , "b" : "3" } )") ==
        std::vector<Owned>{{"b", ValueKind::number, "1"},
                           {"a", ValueKind::number, "2"},
                           {"b", ValueKind::string, "3"}});
}

TEST_CASE("structures are checked and dropped") {
  CHECK(read(R"({"a":{"x":[1,{"y":null}],"z":"q"},"b":[[],"s",true,1.5],"c":1})") ==
        std::vector<Owned>{{"a", ValueKind::structure, ""},
                           {"b", ValueKind::structure, ""},
                           {"c", ValueKind::number, "1"}});
  error_of(R"({"a":{"x":}})");
  error_of(R"({"a":[1,]})");
}

TEST_CASE("a very deep structure does not overflow the stack") {
  const std::string open(200'000, '[');
  const std::string close(200'000, ']');
  CHECK(only("{\"a\":" + open + close + "}").kind == ValueKind::structure);
  error_of("{\"a\":" + open);
}

TEST_CASE("anything but an object is rejected") {
  for (const char* text : {"",
                           " ",
                           "null",
                           "1",
                           "\"a\"",
                           "[]",
                           "[{}]",
                           "{",
                           "}",
                           "{}{}",
                           "{} x",
                           "{a:1}",
                           "{'a':1}",
                           R"({"a"})",
                           R"({"a":})",
                           R"({"a":1,})",
                           R"({"a":01})",
                           R"({"a":+1})",
                           R"({"a":.5})",
                           R"({"a":1.})",
                           R"({"a":NaN})",
                           R"({"a":Infinity})",
                           R"({"a":True})",
                           "{\"a\":\"x}",
                           "{\"a\":\"\n\"}",
                           "{\"a\":\"\\x\"}",
                           "{\"a\":\"\\u12\"}",
                           "/**/{}",
                           "\xEF\xBB{}"}) {
    CHECK(error_of(text) == Error(ErrorCode::invalid_input));
  }
  error_of(std::string_view("{\"a\":1}\0", 8));
  error_of(std::string_view("{\"a\":1}\0x", 9));
}

TEST_CASE("a byte order mark is ignored") {
  CHECK(only("\xEF\xBB\xBF{\"a\":1}").text == "1");
}

TEST_CASE("text must be UTF-8") {
  CHECK(only("{\"\xC3\xBC\":\"\xF0\x9F\x98\x80\"}") ==
        Owned{"\xC3\xBC", ValueKind::string, "\xF0\x9F\x98\x80"});
  for (const char* bytes : {"\xFF", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
    error_of("{\"a\":\"" + std::string(bytes) + "\"}");
  }
}

TEST_CASE("escapes are decoded, in names too") {
  CHECK(only(R"({"\u0061\n":"\"\\\/\b\f\n\r\t\u00e9\u20ac\ud83d\ude00\u0000"})") ==
        Owned{"a\n", ValueKind::string,
              std::string("\"\\/\b\f\n\r\t\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\0", 18)});
}

TEST_CASE("lone surrogates come out as WTF-8") {
  CHECK(only(R"({"a":"\ud800"})").text == "\xED\xA0\x80");
  CHECK(only(R"({"a":"\uDFFF"})").text == "\xED\xBF\xBF");
  CHECK(only(R"({"a":"x\udc00\ud83dy"})").text == "x\xED\xB0\x80\xED\xA0\xBDy");
  CHECK(only(R"({"a":"\ud83d\ud83d\ude00"})").text == "\xED\xA0\xBD\xF0\x9F\x98\x80");
  CHECK(only(R"({"\ud800":"\ufffd"})") == Owned{"\xED\xA0\x80", ValueKind::string, "\xEF\xBF\xBD"});
}

TEST_CASE("lone surrogates and replacement characters are not mistaken for each other") {
  CHECK(only("{\"a\":\"\xEF\xBF\xBD\\ud800\\uFFFD\\udc00\xEF\xBF\xBD\"}").text ==
        "\xEF\xBF\xBD\xED\xA0\x80\xEF\xBF\xBD\xED\xB0\x80\xEF\xBF\xBD");
  CHECK(read("{\"x\":{\"\\ud801\":[\"\\ufffd\",\"\\ud802\"]},\"a\":\"\\ud803\"}")[1].text ==
        "\xED\xA0\x83");
}

TEST_CASE("a backslash before what looks like an escape") {
  CHECK(only(R"({"a":"\\ud800"})").text == "\\ud800");
  CHECK(only(R"({"a":"\\\ud800\\"})").text == "\\\xED\xA0\x80\\");
  error_of(R"({"a":"\ud80"})");
  error_of(R"({"a":"\ud8)");
  error_of(R"({"a":"\ud800\)");
  error_of(R"(\ud800{"a":1})");
}

}  // namespace
}  // namespace entitable::json
