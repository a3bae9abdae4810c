#include "core/base/base64.h"

#include "tests/support/catch.h"
#include "tests/support/prng.h"

using namespace entitable;
using namespace std::string_literals;

TEST_CASE("base64 of the vectors of RFC 4648") {
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"},
                                                         {"\0"s, "AA=="}};
  for (const auto& [bytes, text] : vectors) {
    CHECK(base64_encode(bytes) == text);
    CHECK(base64_decode(text) == bytes);
    CHECK(base64url_encode(bytes) == text);
    CHECK(base64url_decode(text) == bytes);
  }
}

TEST_CASE("the two alphabets differ in their last two digits and do not mix") {
  CHECK(base64_encode("\xFB\xFF\xFE") == "+//+");
  CHECK(base64url_encode("\xFB\xFF\xFE") == "-__-");
  CHECK(base64_decode("+//+") == "\xFB\xFF\xFE");
  CHECK(base64url_decode("-__-") == "\xFB\xFF\xFE");
  CHECK_FALSE(base64_decode("-__-"));
  CHECK_FALSE(base64url_decode("+//+"));
}

TEST_CASE("only the one padded text of a value decodes") {
  for (const char* bad : {"Z",      "Zg",    "Zg=",   "Zg===",    "Zm8",  "Zm8==",   "=",    "==",
                          "===",    "====",  "A===",  "Zg==Zg==", "Z=g=", "=Zg=",    "Zh==", "Zm9=",
                          "Zg==\n", " Zg==", "Zm 9v", "Zm9v\n",   "Zm9*", "Zm9\xC3", "Zg\0="}) {
    CAPTURE(bad);
    CHECK_FALSE(base64_decode(bad));
    CHECK_FALSE(base64url_decode(bad));
  }
  CHECK_FALSE(base64_decode("Zm9\0"s));
}

TEST_CASE("random bytes round-trip, and every text is canonical") {
  constexpr std::uint64_t seed = 4;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int round = 0; round < 500; ++round) {
    std::string bytes;
    for (std::uint64_t i = prng.below(70); i > 0; --i)
      bytes.push_back(static_cast<char>(prng.next()));
    const std::string text = base64_encode(bytes);
    CHECK(text.size() == (bytes.size() + 2) / 3 * 4);
    CHECK(base64_decode(text) == bytes);
    CHECK(base64url_decode(base64url_encode(bytes)) == bytes);
    // Changing one digit results in another value or in invalid text.
    if (text.empty()) continue;
    std::string changed = text;
    changed[prng.below(text.size())] = "AQgwz09+/=-"[prng.below(11)];
    const std::optional<std::string> decoded = base64_decode(changed);
    if (changed != text && decoded) CHECK(base64_encode(*decoded) == changed);
  }
}
