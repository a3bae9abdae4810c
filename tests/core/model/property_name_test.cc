#include "core/model/property_name.h"

#include "core/base/utf8.h"
#include "core/model/limits.h"
#include "core/model/unicode_categories.h"
#include "tests/support/catch.h"

using namespace entitable;
using namespace std::string_literals;

namespace {

const Error invalid(ErrorCode::property_name_invalid);
const Error too_long(ErrorCode::property_name_too_long);

std::string utf8(char32_t c) {
  std::string text;
  append_code_point(text, c);
  return text;
}

// One character of each category that is allowed first, or only later, or nowhere.
constexpr char32_t starts[] = {'_',     'a', 'Z',
                               0xC4,      // Lu
                               0xE4,      // Ll
                               0x1C5,     // Lt
                               0x2B0,     // Lm
                               0xAA,      // Lo
                               0x4E2D,    // Lo
                               0xAC00,    // Lo, first of a long range
                               0xD7A3,    // and its last
                               0x2160,    // Nl
                               0x10400,   // Lu beyond U+FFFF
                               0x2A6DF};  // Lo
constexpr char32_t parts_only[] = {'0',     '9',
                                   0x660,     // Nd
                                   0x301,     // Mn
                                   0x903,     // Mc
                                   0x203F,    // Pc
                                   0xAD,      // Cf
                                   0x200D,    // Cf
                                   0x1D7CE,   // Nd beyond U+FFFF
                                   0xE0100};  // Mn
constexpr char32_t never[] = {0,       ' ', '-', '.', '@', '$', '\'', '/', '[', '`', '{', 0x7F,
                              0x80,     // Cc
                              0xA0,     // Zs
                              0xB2,     // No
                              0x20AC,   // Sc
                              0x2014,   // Pd
                              0x488,    // Me
                              0x378,    // Cn
                              0xD7A4,   // Cn, after a long range
                              0xE000,   // Co
                              0xD800,   // Cs
                              0xDFFF,   // Cs
                              0x1F600,  // So
                              0x10FFFF};

}  // namespace

TEST_CASE("characters by category") {
  for (const char32_t c : starts) {
    CAPTURE(static_cast<std::uint32_t>(c));
    CHECK(is_identifier_start(c));
    CHECK(is_identifier_part(c));
    CHECK(check_property_name(utf8(c)).ok());
    CHECK(check_property_name("a" + utf8(c)).ok());
  }
  for (const char32_t c : parts_only) {
    CAPTURE(static_cast<std::uint32_t>(c));
    CHECK_FALSE(is_identifier_start(c));
    CHECK(is_identifier_part(c));
    CHECK(check_property_name(utf8(c)).error() == invalid);
    CHECK(check_property_name("a" + utf8(c)).ok());
  }
  for (const char32_t c : never) {
    CAPTURE(static_cast<std::uint32_t>(c));
    CHECK_FALSE(is_identifier_start(c));
    CHECK_FALSE(is_identifier_part(c));
    CHECK(check_property_name(utf8(c)).error() == invalid);
    CHECK(check_property_name("a" + utf8(c)).error() == invalid);
    CHECK(check_property_name("a" + utf8(c) + "b").error() == invalid);
  }
}

TEST_CASE("the tables hold as many characters as Unicode has") {
  REQUIRE(unicode_version() ==
          "14.0.0");  // another version has other numbers: see unicode_categories.py
  int letters = 0;
  int marks = 0;
  for (char32_t c = 0x80; c <= 0x10FFFF; ++c) {
    letters += is_unicode_letter(c) ? 1 : 0;
    marks += is_unicode_name_mark(c) ? 1 : 0;
    if (is_unicode_letter(c) && is_unicode_name_mark(c))
      FAIL("in both tables: " << static_cast<std::uint32_t>(c));
  }
  CHECK(letters == 131'940);
  CHECK(marks == 3'217);
}

TEST_CASE("names have 1 to 255 units") {
  CHECK(check_property_name("").error() == invalid);
  CHECK(check_property_name("a").ok());
  CHECK(check_property_name(std::string(255, 'a')).ok());
  CHECK(check_property_name(std::string(256, 'a')).error() == too_long);
  std::string units;
  for (int i = 0; i < 255; ++i) units += "\xE4\xB8\xAD";
  CHECK(check_property_name(units).ok());
  CHECK(check_property_name(units + "a").error() == too_long);
  std::string pairs;
  for (int i = 0; i < 127; ++i) pairs += "\xF0\x90\x90\x80";
  CHECK(check_property_name(pairs + "a").ok());
  CHECK(check_property_name(pairs + "ab").error() == too_long);
  CHECK(check_property_name(std::string(256, '-')).error() == too_long);  // length is checked first
}

TEST_CASE("keywords of languages are valid names") {
  for (const char* name : {"class", "eq", "and", "not", "true", "null", "partitionKey", "ETag",
                           "etag", "_", "__", "a1"}) {
    CAPTURE(name);
    CHECK(check_property_name(name).ok());
  }
  for (const char* name : {"odata.etag", "a@odata.type", "a b", "a-b", "1a", "a.b", " a", "a "}) {
    CAPTURE(name);
    CHECK(check_property_name(name).error() == invalid);
  }
}

TEST_CASE("system properties, in exact case") {
  for (const char* name : {"PartitionKey", "RowKey", "Timestamp"}) CHECK(is_system_property(name));
  for (const char* name :
       {"partitionkey", "Rowkey", "timestamp", "TimeStamp", "PartitionKey2", "", "ETag"}) {
    CAPTURE(name);
    CHECK_FALSE(is_system_property(name));
  }
}
