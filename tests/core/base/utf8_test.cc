#include "core/base/utf8.h"

#include <vector>

#include "tests/support/catch.h"
#include "tests/support/prng.h"

using namespace entitable;
using namespace std::string_literals;

namespace {

int sign(int x) {
  return (x > 0) - (x < 0);
}

// Code points at which something changes: lengths of the encoding, surrogates, the maximum.
const std::vector<char16_t> edge_units = {0x0,    0x1,    'a',    'b',    0x7F,   0x80,   0x7FF,
                                          0x800,  0xCFFF, 0xD000, 0xD7FF, 0xD800, 0xD801, 0xDBFF,
                                          0xDC00, 0xDC01, 0xDFFF, 0xE000, 0xEFFF, 0xF000, 0xFFFF};

std::u16string random_units(test::Prng& prng, std::size_t size_max) {
  std::u16string text;
  // Texts use few different units, so that two texts often share a long prefix.
  const std::size_t variety = 1 + prng.below(edge_units.size());
  const std::size_t first = prng.below(edge_units.size());
  for (std::uint64_t i = prng.below(size_max + 1); i > 0; --i) {
    text.push_back(edge_units[(first + prng.below(variety)) % edge_units.size()]);
  }
  return text;
}

int naive_compare(const std::u16string& a, const std::u16string& b) {
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}

void check_pair(const std::u16string& a, const std::u16string& b) {
  const std::string wtf8_a = wtf8_from_utf16(a);
  const std::string wtf8_b = wtf8_from_utf16(b);
  const int expected = naive_compare(a, b);
  if (sign(compare_utf16(wtf8_a, wtf8_b)) != expected ||
      sign(compare_utf16(wtf8_b, wtf8_a)) != -expected) {
    CAPTURE(wtf8_a, wtf8_b, expected);
    CHECK(false);
  }
}

}  // namespace

TEST_CASE("is_wtf8 accepts the first and last character of every length") {
  for (const std::string& text :
       {""s, "\0"s, "\x7F"s, "\xC2\x80"s, "\xDF\xBF"s, "\xE0\xA0\x80"s, "\xED\x9F\xBF"s,
        "\xEE\x80\x80"s, "\xEF\xBF\xBF"s, "\xF0\x90\x80\x80"s, "\xF4\x8F\xBF\xBF"s}) {
    CAPTURE(text);
    CHECK(is_wtf8(text));
    CHECK(is_well_formed(text));
    CHECK(is_wtf8("12345678" + text + "12345678"));
  }
}

TEST_CASE("is_wtf8 accepts unpaired surrogates and is_well_formed does not") {
  for (const std::string& text :
       {"\xED\xA0\x80"s, "\xED\xAF\xBF"s, "\xED\xB0\x80"s, "\xED\xBF\xBF"s,
        "\xED\xA0\x80\xED\xA0\x80"s,   // high, high
        "\xED\xB0\x80\xED\xA0\x80"s,   // low, high
        "\xED\xA0\x80x\xED\xB0\x80"s,  // high, x, low
        "\xED\xA0\x80\xF0\x90\x80\x80"s, "\xED\x9F\xBF\xED\xB0\x80"s}) {
    CAPTURE(text);
    CHECK(is_wtf8(text));
    CHECK_FALSE(is_well_formed(text));
  }
  CHECK(is_well_formed("\xED\x9F\xBF\xED\x80\x80"));
}

TEST_CASE("is_wtf8 rejects everything else") {
  for (const std::string& text : {"\x80"s,
                                  "\xBF"s,
                                  "\xC0\x80"s,
                                  "\xC1\xBF"s,
                                  "\xC2"s,
                                  "\xC2\x7F"s,
                                  "\xC2\xC0"s,
                                  "\xE0\x80\x80"s,
                                  "\xE0\x9F\xBF"s,
                                  "\xE1\x80"s,
                                  "\xE1\x80\x7F"s,
                                  "\xE1\x7F\x80"s,
                                  "\xF0\x80\x80\x80"s,
                                  "\xF0\x8F\xBF\xBF"s,
                                  "\xF1\x80\x80"s,
                                  "\xF1\x80\x80\xC0"s,
                                  "\xF4\x90\x80\x80"s,
                                  "\xF5\x80\x80\x80"s,
                                  "\xFF"s,
                                  "\xFE"s,
                                  "\xED\xA0\x80\xED\xB0\x80"s,
                                  "a\xED\xAF\xBF\xED\xBF\xBFz"s}) {
    CAPTURE(text);
    CHECK_FALSE(is_wtf8(text));
    CHECK_FALSE(is_wtf8("12345678" + text));
    CHECK_FALSE(
        is_wtf8("\xC3\xA4"
                "123456789" +
                text + "12345678"));
  }
}

TEST_CASE("every code point encodes to WTF-8 and reads back") {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    std::string text;
    append_code_point(text, c);
    std::size_t at = 0;
    const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
    const bool good = is_wtf8(text) && is_well_formed(text) != surrogate &&
                      next_code_point(text, at) == c && at == text.size() &&
                      utf16_length(text) == (c < 0x10000 ? 1 : 2) &&
                      wtf8_from_utf16(utf16_from_wtf8(text)) == text;
    if (!good) {
      CAPTURE(static_cast<std::uint32_t>(c));
      REQUIRE(good);
    }
  }
}

TEST_CASE("append_code_point joins a high surrogate with the low one that follows") {
  std::string text = "x";
  append_code_point(text, 0xD83D);
  CHECK(text == "x\xED\xA0\xBD");
  append_code_point(text, 0xDE00);
  CHECK(text == "x\xF0\x9F\x98\x80");
  append_code_point(text, 0xDE00);  // a lone low surrogate stays
  CHECK(text == "x\xF0\x9F\x98\x80\xED\xB8\x80");
  std::string two_high;
  append_code_point(two_high, 0xD83D);
  append_code_point(two_high, 0xD83D);
  append_code_point(two_high, 0xDE00);
  CHECK(two_high == "\xED\xA0\xBD\xF0\x9F\x98\x80");
}

TEST_CASE("for_each_code_point visits all in order") {
  std::u32string seen;
  for_each_code_point("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\xED\xA0\x80",
                      [&](char32_t c) { seen.push_back(c); });
  CHECK(seen == std::u32string({U'a', 0xE4, 0x20AC, 0x1F600, 0xD800}));
}

TEST_CASE("compare_utf16 where units and bytes disagree") {
  const std::string grin = "\xF0\x9F\x98\x80";     // U+1F600 = D83D DE00
  const std::string high = "\xED\xA0\xBD";         // D83D alone
  const std::string low = "\xED\xB8\x80";          // DE00 alone
  CHECK(compare_utf16(grin, "\xEF\xBD\x9E") < 0);  // U+FF5E (core/rest/SERVICE.md §1.5)
  CHECK(compare_utf16("\xEE\x80\x80", grin) > 0);  // U+E000
  CHECK(compare_utf16("\xED\x9F\xBF", grin) < 0);  // U+D7FF
  CHECK(compare_utf16(low, grin) > 0);
  CHECK(compare_utf16(high, grin) < 0);                   // the shorter
  CHECK(compare_utf16(high + "a", grin) < 0);             // 0061 below DE00
  CHECK(compare_utf16(high + "\xEE\x80\x80", grin) > 0);  // E000 above DE00
  CHECK(compare_utf16(high + high, grin) < 0);            // D83D below DE00
  CHECK(compare_utf16(high + grin, grin) < 0);            // the same, first half of a pair
  CHECK(compare_utf16("\xED\xA0\xBC", grin) < 0);         // D83C alone
  CHECK(compare_utf16("\xED\xA0\xBE", grin) > 0);         // D83E alone
  CHECK(compare_utf16("prefix 12" + high, "prefix 12" + grin) < 0);
}

TEST_CASE("compare_utf16 of plain text, at every length around a word") {
  CHECK(compare_utf16("", "") == 0);
  CHECK(compare_utf16("", "a") < 0);
  CHECK(compare_utf16("a", "") > 0);
  CHECK(compare_utf16("B", "b") < 0);
  CHECK(compare_utf16("b", "bB") < 0);
  CHECK(compare_utf16("10", "2") < 0);
  CHECK(compare_utf16("partition-1", "partition-10") < 0);
  CHECK(compare_utf16("partition-10", "partition-2") < 0);
  CHECK(compare_utf16("\x7F", "\xC2\x80") < 0);  // bytes are unsigned
  for (std::size_t size = 0; size <= 25; ++size) {
    const std::string base(size, 'm');
    CHECK(compare_utf16(base, base) == 0);
    CHECK(compare_utf16(base, base + '\0') < 0);
    for (std::size_t at = 0; at < size; ++at) {
      std::string above = base;
      above[at] = 'n';
      if (at + 1 < size) above[size - 1] = 'a';  // a later byte must not decide
      CHECK(compare_utf16(base, above) < 0);
      CHECK(compare_utf16(above, base) > 0);
    }
  }
}

TEST_CASE("compare_utf16 agrees with UTF-16 for all texts of up to three edge units") {
  std::vector<std::u16string> texts = {u""};
  const std::vector<char16_t> units = {0,      'a',    0xD7FF, 0xD800, 0xDBFF,
                                       0xDC00, 0xDFFF, 0xE000, 0xFFFF};
  for (std::size_t from = 0, length = 0; length < 3; ++length) {
    const std::size_t to = texts.size();
    for (std::size_t i = from; i < to; ++i) {
      for (const char16_t unit : units) texts.push_back(texts[i] + unit);
    }
    from = to;
  }
  for (const std::u16string& a : texts) {
    for (const std::u16string& b : texts) check_pair(a, b);
  }
}

TEST_CASE("random UTF-16 round-trips and compares as units") {
  constexpr std::uint64_t seed = 5;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 50'000; ++round) {
    const std::u16string a = random_units(prng, 24);
    std::u16string b = a;
    if (prng.chance(2)) {
      b = random_units(prng, 24);
    } else if (!b.empty()) {
      b[prng.below(b.size())] = edge_units[prng.below(edge_units.size())];
    }
    const std::string text = wtf8_from_utf16(a);
    const bool good = is_wtf8(text) && utf16_from_wtf8(text) == a && utf16_length(text) == a.size();
    if (!good) {
      CAPTURE(text);
      REQUIRE(good);
    }
    check_pair(a, b);
  }
}

TEST_CASE("is_wtf8 agrees with decoding and encoding again") {
  constexpr std::uint64_t seed = 6;
  CAPTURE(seed);
  test::Prng prng(seed);
  const std::string bytes =
      "a\x80\x8F\x90\x9F\xA0\xAF\xB0\xBF\xC2\xDF\xE0\xE1\xED\xEF\xF0\xF1\xF4\xF5"s;
  int accepted = 0;
  for (int round = 0; round < 100'000; ++round) {
    std::string text;
    for (std::uint64_t i = prng.below(8); i > 0; --i)
      text.push_back(bytes[prng.below(bytes.size())]);
    if (!is_wtf8(text)) continue;
    ++accepted;
    CHECK(wtf8_from_utf16(utf16_from_wtf8(text)) == text);
  }
  CHECK(accepted > 1000);
}

TEST_CASE("same_text is equality, whatever the length") {
  for (std::size_t size = 0; size <= 40; ++size) {
    CAPTURE(size);
    const std::string text(size, 'x');
    const std::string copy = text;
    CHECK(same_text(text, text));
    CHECK(same_text(text, copy));
    CHECK_FALSE(same_text(text, copy + 'x'));
    for (std::size_t at = 0; at < size; ++at) {
      std::string other = text;
      other[at] = 'y';
      CHECK_FALSE(same_text(text, other));
    }
  }
  CHECK(same_text({}, ""));
}
