#include "core/json/writer.h"

#include <string>
#include <string_view>
#include <utility>

#include "core/base/utf8.h"
#include "core/json/object_parser.h"
#include "tests/support/catch.h"
#include "tests/support/prng.h"

namespace entitable::json {
namespace {

std::string in_quotes(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}

TEST_CASE("strings are escaped on one line") {
  CHECK(in_quotes("") == R"("")");
  CHECK(in_quotes("plain / text \xC3\xBC \xF0\x9F\x98\x80") ==
        "\"plain / text \xC3\xBC \xF0\x9F\x98\x80\"");
  CHECK(in_quotes("a\"b\\c") == R"("a\"b\\c")");
  CHECK(in_quotes("\n\r\t\b\f\x01\x1F\x7F") == "\"\\n\\r\\t\\u0008\\u000c\\u0001\\u001f\x7F\"");
  CHECK(in_quotes(std::string_view("\0", 1)) == "\"\\u0000\"");
}

TEST_CASE("special characters are found at every position of texts of any length") {
  const std::pair<std::string, std::string> pairs[] = {
      {"\"", "\\\""},   {"\\", "\\\\"},           {"\n", "\\n"}, {"\x1F", "\\u001f"},
      {"\x7F", "\x7F"}, {"\xC3\xBC", "\xC3\xBC"}, {" ", " "},    {"\xED\xA0\x80", "\\ud800"}};
  for (const auto& [special, written] : pairs) {
    for (std::size_t before = 0; before < 20; ++before) {
      for (std::size_t after = 0; after < 20; ++after) {
        const std::string left(before, '!');
        const std::string right(after, '#');
        std::string out;
        append_string(out, left + special + right + special);
        CHECK(out == '"' + left + written + right + written + '"');
      }
    }
  }
}

TEST_CASE("lone surrogates are escaped, their neighbours are not") {
  CHECK(in_quotes("\xED\xA0\x80") == R"("\ud800")");
  CHECK(in_quotes("a\xED\xBF\xBFz") == R"("a\udfffz")");
  CHECK(in_quotes("\xED\x9F\xBF\xEE\x80\x80") == "\"\xED\x9F\xBF\xEE\x80\x80\"");
}

TEST_CASE("commas stand between members and elements only") {
  std::string out;
  Writer writer(out);
  writer.begin_object();
  writer.name("a");
  writer.raw("1");
  writer.name("b");
  writer.begin_array();
  writer.string("x");
  writer.begin_object();
  writer.end_object();
  writer.begin_object();
  writer.name("n");
  writer.raw("null");
  writer.end_object();
  writer.end_array();
  writer.name("c");
  writer.begin_array();
  writer.end_array();
  writer.name("d");
  writer.string("y");
  writer.end_object();
  CHECK(out == R"({"a":1,"b":["x",{},{"n":null}],"c":[],"d":"y"})");
}

TEST_CASE("written values read back unchanged") {
  const std::uint64_t seed = 20240102;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (std::uint64_t left = prng.below(20); left > 0; --left) {
      const std::uint64_t kind = prng.below(4);
      append_code_point(text, static_cast<char32_t>(kind == 0   ? prng.below(0x80)
                                                    : kind == 1 ? 0xD7F0 + prng.below(0x820)
                                                    : kind == 2 ? 0xFFF0 + prng.below(0x20)
                                                                : prng.below(0x110000)));
    }
    const std::string json = "{" + in_quotes(text) + ":" + in_quotes(text) + "}";
    const auto read = parse_object(json);
    REQUIRE(read.ok());
    REQUIRE(read->members.size() == 1);
    CHECK(read->members.front().name == text);
    CHECK(read->members.front().text == text);
  }
}

}  // namespace
}  // namespace entitable::json
