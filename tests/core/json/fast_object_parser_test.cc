#include "core/json/fast_object_parser.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/object_parser.h"
#include "tests/support/catch.h"
#include "tests/support/prng.h"

namespace entitable::json {
namespace {

bool is_parsed_by_fast_path(std::string_view text) {
  Object object;
  return try_parse_simple_object(text, object);
}

// "name=text" of all members, by kind.
std::string shown(const std::vector<Member>& members, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < members.size(); ++i) {
    text.append(members[i].name).append("=").append(members[i].text);
    text.append(1, static_cast<char>('0' + static_cast<int>(members[i].kind))).append("\n");
  }
  return text;
}

// Returns what the full parser reads. An unusual first member is added, so that the fast parser
// rejects the text.
std::string parsed(std::string_view text) {
  const std::size_t open = text.find('{');
  const bool empty = text.find('"') == std::string_view::npos;
  const std::string unusual =
      std::string(R"({"\u0061":1)") + (empty ? "" : ",") + std::string(text.substr(open + 1));
  REQUIRE_FALSE(is_parsed_by_fast_path(unusual));
  const auto object = parse_object(unusual);
  return object.ok() ? shown(object->members, 1) : "rejected";
}

void check_agrees(std::string_view text) {
  Object object;
  if (!try_parse_simple_object(text, object)) return;
  CAPTURE(std::string(text));
  CHECK(shown(object.members, 0) == parsed(text));
}

const std::string_view usual[] = {
    "{}",
    " { } ",
    R"({"PartitionKey":"p","RowKey":"r","name":"a text of some length","active":true})",
    R"({ "a" : null , "b" : false ,"c":-12.50, "d":1e10,"e":0,"f":-0,"g":0.1E-9})",
    R"({"text":"say \"x\" \\ \/ \b\f\n\r\t in seven letters","\\":"\"","a@odata.type":"Edm.Int64"})",
    "{\"\xC3\xBC\":\"\xF0\x9F\x98\x80 and \\n \xE2\x82\xAC\",\"long\":12345678901234567890123}",
};

TEST_CASE("common text is read in one pass, with the same result as the full parser") {
  for (const std::string_view text : usual) {
    CHECK(is_parsed_by_fast_path(text));
    check_agrees(text);
  }
}

TEST_CASE("invalid or unusual text is left to the full parser") {
  for (const char* text : {"",
                           "null",
                           "[]",
                           "{",
                           "{}x",
                           "{} {}",
                           R"({"a":1,})",
                           R"({"a" 1})",
                           R"({"a":})",
                           R"({"a":01})",
                           R"({"a":.5})",
                           R"({"a":1.})",
                           R"({"a":1e})",
                           R"({"a":1e400})",
                           R"({"a":-})",
                           R"({"a":tru})",
                           R"({"a":True})",
                           R"({"a":[]})",
                           R"({"a":{}})",
                           R"({"a":"\u0061"})",
                           R"({"a":"\x"})",
                           R"({"a":"x)",
                           R"({"a":"\)",
                           R"({"a":"\n)",
                           "{\"a\":\"\n\"}",
                           "{\"a\":\"\\t\n\"}",
                           "{\"a\":\"\xFF\"}",
                           "{\"a\":\"\\n\xED\xA0\x80\"}",
                           "\xEF\xBB\xBF{}"}) {
    CAPTURE(std::string(text));
    CHECK_FALSE(is_parsed_by_fast_path(text));
  }
  CHECK_FALSE(is_parsed_by_fast_path(std::string_view("{\"a\":1}\0", 8)));
  CHECK_FALSE(is_parsed_by_fast_path(std::string_view("{\"a\":\"\0\"}", 9)));
}

TEST_CASE("randomly changed text is read like the full parser does, or not at all") {
  constexpr std::string_view pieces[] = {"\"", "\\", "\\n",  "{",    "}",    "[",   ",",    ":",
                                         "0",  "9",  ".",    "e",    "-",    "+",   "true", " ",
                                         "\n", "x",  "\xC3", "\xBC", "\xED", "\xA0"};
  const std::uint64_t seed = 20'261'121;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 20'000; ++round) {
    std::string text(usual[2 + prng.below(4)]);
    for (std::size_t changes = 1 + prng.below(3); changes > 0; --changes) {
      const std::size_t at = 1 + prng.below(text.size() - 1);
      const std::string_view piece = pieces[prng.below(std::size(pieces))];
      text.replace(at, prng.below(2), piece);
    }
    check_agrees(text);
  }
}

}  // namespace
}  // namespace entitable::json
