#include "core/query/continuation.h"

#include <string>
#include <vector>

#include "core/base/utf8.h"
#include "tests/support/catch.h"
#include "tests/support/generators.h"

using namespace entitable;
using namespace entitable::test;

namespace {

void check_rejected(std::string_view token) {
  CAPTURE(token);
  const Result<std::string> key = decode_token(token);
  REQUIRE_FALSE(key.ok());
  CHECK(key.error() == Error(ErrorCode::invalid_input));
}

}  // namespace

TEST_CASE("tokens have the format of the service") {
  CHECK(encode_token("pk801016e8") == "1!16!cGs4MDEwMTZlOA--");
  CHECK(encode_token("") == "1!0!");
  CHECK(encode_token("a") == "1!4!YQ--");
  CHECK(encode_token("ab") == "1!4!YWI-");
  CHECK(encode_token("abc") == "1!4!YWJj");
  CHECK(*decode_token("1!16!cGs4MDEwMTZlOA--") == "pk801016e8");
  CHECK(decode_token("1!0!")->empty());
}

TEST_CASE("a final hyphen is padding, not a base64 digit") {
  // In the URL-safe alphabet both tokens would be YWI-.
  CHECK(encode_token("ab>") == "1!4!YWI*");
  CHECK(*decode_token("1!4!YWI*") == "ab>");
  CHECK(*decode_token("1!4!YWI-") == "ab");
  CHECK(encode_token("ab\x7F") == "1!4!YWJ_");
}

TEST_CASE("every key round-trips through its token") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    const Continuation continuation{random_entity_key(prng)};
    const ContinuationTokens tokens = encode_continuation(continuation);
    for (const std::string* token : {&tokens.next_partition_key, &tokens.next_row_key}) {
      REQUIRE_FALSE(token->empty());
      for (const char c : *token) REQUIRE((c > 0x20 && c < 0x7F));
      REQUIRE(token->find_first_of("%&+=/?#\"\\") == std::string::npos);
    }
    const auto decoded = decode_continuation(tokens.next_partition_key, tokens.next_row_key);
    REQUIRE(decoded.ok());
    REQUIRE(*decoded == continuation);
  }
}

TEST_CASE("the row token may be missing or empty") {
  CHECK(decode_continuation("1!4!YQ--", std::nullopt)->next == EntityKey("a", ""));
  CHECK(decode_continuation("1!4!YQ--", "")->next == EntityKey("a", ""));
  CHECK(decode_continuation("1!4!YQ--", "1!0!")->next == EntityKey("a", ""));
  CHECK(decode_continuation("1!4!YQ--", "1!4!YWI-")->next == EntityKey("a", "ab"));
}

TEST_CASE("an invalid token is an error") {
  CHECK_FALSE(decode_continuation("1!4!YQ--", "1!3!YQ--").ok());
  CHECK(decode_continuation("1!3!YQ--", std::nullopt).error() == Error(ErrorCode::invalid_input));
}

TEST_CASE("text without the shape of a token is the key itself") {
  for (const char* token : {"", "1", "1!", "1!0", "!0!", "2!0!", "1!+0!", "1! 0!", " 1!0!", "1!-0!",
                            "1!!YQ--", "other", "a/b", "\xC3\xA4", "\xED\xA0\xBD"}) {
    CAPTURE(token);
    CHECK(*decode_token(token) == token);
  }
  CHECK(decode_continuation("a", "b")->next == EntityKey("a", "b"));
  CHECK(decode_continuation("a", "1!4!YWI-")->next == EntityKey("a", "ab"));
  CHECK(decode_continuation("1!4!YQ--", "b")->next == EntityKey("a", "b"));
  check_rejected("\xFF");  // no text
}

TEST_CASE("text with the shape of a token that encode_token does not produce is rejected") {
  for (const char* token : {
           "1!00!",
           "1!0! ",
           "1!3!YQ--",
           "1!5!YQ--",
           "1!04!YQ--",
           "1!4!YQ==",
           "1!4!YQ-",
           "1!2!YQ",
           "1!4!Y---",
           "1!4!----",
           "1!4!YR--",
           "1!4!YWJ-",
           "1!4!YW+-",
           "1!4!YW/-",
           "1!4!Y Q-",
           "1!4!\xC3\xA4YQ",
           "1!4!YQ--1!4!YQ--",
           "1!99999999999999999999!YQ--",
       }) {
    check_rejected(token);
  }
  check_rejected("1!4!/w--");
  check_rejected("1!4!_w--");            // the byte FF is no text
  check_rejected("1!8!7aC97bG_");        // a surrogate pair in two halves
  CHECK(decode_token("1!4!7aC9").ok());  // a lone surrogate is valid text
  check_rejected(std::string_view("1!0!\0", 5));
}
