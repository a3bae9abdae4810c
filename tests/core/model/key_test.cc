#include "core/model/key.h"

#include "core/model/limits.h"
#include "core/model/service_error.h"
#include "tests/support/catch.h"
#include "tests/support/generators.h"

using namespace entitable;
using namespace std::string_literals;

namespace {

Error out_of_range(const std::string& name, const std::string& value) {
  return Error(ErrorCode::out_of_range_input,
               "The '" + name + "' parameter of value '" + value + "' is out of range.");
}

}  // namespace

TEST_CASE("keys may be empty and hold anything that is not forbidden") {
  CHECK(check_key({"", ""}).ok());
  for (const std::string& key :
       {"a"s, " "s, "'"s, "%"s, "%2F"s, "a,b)('"s, "~"s, "!"s, "\xC2\xA0"s, "\xC3\xBC 1"s,
        "\xC3\x80"s, "\xC3\x9F"s, "\xE0\xA0\x80"s, "\xF0\x9F\x98\x80"s, "\xED\xA0\x80"s,
        "\xED\xB0\x80"s, "\xEF\xBF\xBF"s}) {
    CAPTURE(key);
    CHECK(check_key({key, ""}).ok());
    CHECK(check_key({"", key}).ok());
  }
}

TEST_CASE("every forbidden character is found, alone and inside, and its neighbours are not") {
  for (char32_t c = 0; c <= 0x120; ++c) {
    const bool forbidden =
        c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == '/' || c == '\\' || c == '#' || c == '?';
    std::string alone;
    append_code_point(alone, c);
    for (const std::string& key : {alone, "a" + alone + "z", "\xC3\xA4" + alone}) {
      CAPTURE(static_cast<std::uint32_t>(c), key);
      const Result<void> partition = check_key({key, "r"});
      const Result<void> row = check_key({"p", key});
      CHECK(partition.ok() == !forbidden);
      CHECK(row.ok() == !forbidden);
      if (!forbidden) continue;
      CHECK(partition.error() == out_of_range("PartitionKey", key));
      CHECK(row.error() == out_of_range("RowKey", key));
    }
  }
}

TEST_CASE(
    "in an address, slashes are a syntax error, other forbidden characters are out of range") {
  const Error bad_syntax(ErrorCode::invalid_input, "Bad Request - Error in query syntax.");
  for (char32_t c = 0; c <= 0x120; ++c) {
    std::string alone;
    append_code_point(alone, c);
    for (const std::string& key : {alone, "a" + alone + "z", "\xC3\xA4" + alone}) {
      CAPTURE(static_cast<std::uint32_t>(c), key);
      for (const KeyView address : {KeyView{key, "r"}, KeyView{"p", key}}) {
        const Result<void> checked = check_url_key(address);
        if (c == '/' || c == '\\') {
          CHECK(checked.error() == bad_syntax);
        } else if (!check_key(address).ok()) {
          CHECK(checked.error() == Error(ErrorCode::out_of_range_input));
        } else {
          CHECK(checked.ok());
        }
      }
    }
  }
  CHECK(check_url_key({"#", "/"}).error() == bad_syntax);
}

TEST_CASE("an address may be longer than any key") {
  const std::string long_text(limits::key_units_max + 1, 'x');
  CHECK(check_url_key({long_text, long_text}).ok());
  CHECK(check_url_key({"", ""}).ok());
}

TEST_CASE("a key has at most 512 units, however many bytes they take") {
  for (const std::string& unit : {"a"s, "\xC3\xA4"s, "\xE2\x82\xAC"s, "\xED\xA0\x80"s}) {
    std::string key;
    for (std::size_t i = 0; i < limits::key_units_max; ++i) key += unit;
    CAPTURE(unit);
    CHECK(check_key({key, key}).ok());
    const std::string longer = key + unit;
    CHECK(check_key({longer, ""}).error() == Error(ErrorCode::property_value_too_large));
    CHECK(check_key({"", longer}).error() == Error(ErrorCode::property_value_too_large));
  }
  std::string pairs;
  for (int i = 0; i < 256; ++i) pairs += "\xF0\x9F\x98\x80";
  CHECK(check_key({pairs, ""}).ok());
  CHECK_FALSE(check_key({pairs + "a", ""}).ok());
}

TEST_CASE("the PartitionKey is checked first, and length before characters") {
  const std::string too_long(513, '/');
  CHECK(check_key({"a/", too_long}).error() == out_of_range("PartitionKey", "a/"));
  CHECK(check_key({too_long, "a/"}).error() == Error(ErrorCode::property_value_too_large));
  CHECK(check_key({"/", "#"}).error() == out_of_range("PartitionKey", "/"));
}

TEST_CASE("keys order by partition, then by row") {
  CHECK(compare({"a", "z"}, {"b", "a"}) < 0);
  CHECK(compare({"a", "b"}, {"a", "a"}) > 0);
  CHECK(compare({"a", "b"}, {"a", "b"}) == 0);
  CHECK(compare({"", ""}, {"", "\x01"}) < 0);
  CHECK(compare({"a", "b"}, {"ab", ""}) < 0);
  CHECK(compare({"\xF0\x9F\x98\x80", ""}, {"\xEF\xBD\x9E", ""}) < 0);  // by unit, not by byte
}

TEST_CASE("nothing fits between a text and its successor") {
  constexpr std::uint64_t seed = 25;
  CAPTURE(seed);
  test::Prng prng(seed);
  CHECK(successor("a") == "a\0"s);
  for (int round = 0; round < 2000; ++round) {
    const std::string a = test::random_key(prng);
    const std::string b = test::random_key(prng);
    const std::string next = successor(a);
    CHECK(is_wtf8(next));
    CHECK(compare_utf16(a, next) < 0);
    CHECK((compare_utf16(b, a) <= 0) == (compare_utf16(b, next) < 0));
  }
}

TEST_CASE("the order of random keys is total and agrees with UTF-16") {
  constexpr std::uint64_t seed = 26;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 5000; ++round) {
    const EntityKey a = test::random_entity_key(prng);
    const EntityKey b = test::random_entity_key(prng);
    const auto units = [](const EntityKey& key) {
      return std::pair(utf16_from_wtf8(key.partition), utf16_from_wtf8(key.row));
    };
    CHECK((compare(a.view(), b.view()) < 0) == (units(a) < units(b)));
    CHECK((compare(a.view(), b.view()) == 0) == (a == b));
  }
}
