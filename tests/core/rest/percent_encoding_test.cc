#include "core/rest/percent_encoding.h"

#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

std::string encoded(std::string_view text, std::string_view also = {}) {
  std::string out;
  append_percent_encoded(out, text, also);
  return out;
}

TEST_CASE("escapes are decoded in any case") {
  CHECK(percent_decode("") == "");
  CHECK(percent_decode("a%20b%2Fc%2fd%C3%BC") == "a b/c/d\xC3\xBC");
  CHECK(percent_decode("%00") == std::string(1, '\0'));
  CHECK(percent_decode("%2525") == "%25");  // decoded only once
  CHECK(percent_decode("\xC3\xBC") == "\xC3\xBC");
}

TEST_CASE("a plus is a plus, or a blank on request") {
  CHECK(percent_decode("a+b%2B") == "a+b+");
  CHECK(percent_decode("a+b%2B", true) == "a b+");
}

TEST_CASE("malformed escapes are rejected") {
  for (const char* text : {"%", "%2", "a%", "%2g", "%g2", "%%20", "% 2", "%-1"}) {
    CAPTURE(text);
    CHECK_FALSE(percent_decode(text).has_value());
  }
}

TEST_CASE("decoded text is WTF-8") {
  for (const char* text : {"%FF", "%C3", "%C0%80", "\xFF", "%F4%90%80%80", "%ED%A0%BD%ED%B8%80"}) {
    CAPTURE(text);
    CHECK_FALSE(percent_decode(text).has_value());
  }
  CHECK(percent_decode("%ED%A0%BD") == "\xED\xA0\xBD");  // a lone surrogate
}

TEST_CASE("the service's unescaped characters stay, others are escaped in capitals") {
  CHECK(encoded("azAZ09-_.!~*'()") == "azAZ09-_.!~*'()");
  CHECK(encoded(" \"#$%&+,/:;<=>?@[\\]^`{|}") ==
        "%20%22%23%24%25%26%2B%2C%2F%3A%3B%3C%3D%3E%3F%40%5B%5C%5D%5E%60%7B%7C%7D");
  CHECK(encoded("\xC3\xBC\x7F") == "%C3%BC%7F");
  CHECK(encoded("a, b", ",") == "a,%20b");
}

}  // namespace
}  // namespace entitable::rest
