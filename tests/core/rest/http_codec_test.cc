#include "core/rest/http_codec.h"

#include <string>

#include "core/base/bytes.h"
#include "tests/core/rest/http_request_message.h"
#include "tests/support/catch.h"
#include "tests/support/prng.h"

namespace entitable::rest {
namespace {

using test::http_request_message;

Request sample() {
  return Request{"POST",
                 "http://127.0.0.1:10002/acct/people",
                 {{"Accept", "*/*"}, {"x-empty", ""}},
                 std::string_view("{\"a\":\0}", 7),
                 "127.0.0.1"};
}

const std::string id = "0123456789abcdef";

}  // namespace

TEST_CASE("A request message is decoded to every part of the request") {
  const Request in = sample();
  const std::string message = http_request_message(in, id);
  CHECK(is_http_request_message(message));
  const auto read = decode_http_request(message);
  REQUIRE(read.has_value());
  CHECK(read->id == id);
  CHECK(read->request.method == in.method);
  CHECK(read->request.url == in.url);
  CHECK(read->request.client_ip == in.client_ip);
  CHECK(read->request.body == in.body);
  REQUIRE(read->request.headers.size() == 2);
  CHECK(read->request.headers[0].name == "Accept");
  CHECK(read->request.headers[0].value == "*/*");
  CHECK(read->request.headers[1].name == "x-empty");
  CHECK(read->request.headers[1].value.empty());
  CHECK_FALSE(read->request.trusted);
}

TEST_CASE("A request message contains whether it is trusted and whether its body is pending") {
  for (const bool trusted : {false, true}) {
    for (const bool body_pending : {false, true}) {
      Request in = sample();
      in.trusted = trusted;
      in.body_pending = body_pending;
      const std::string message = http_request_message(in, id);
      const auto read = decode_http_request(message);
      REQUIRE(read.has_value());
      CHECK(read->request.trusted == trusted);
      CHECK(read->request.body_pending == body_pending);
    }
  }
}

TEST_CASE("An empty request is valid") {
  const std::string message = http_request_message(Request{}, id);
  const auto read = decode_http_request(message);
  REQUIRE(read.has_value());
  CHECK(read->request.method.empty());
  CHECK(read->request.headers.empty());
}

TEST_CASE("A request message that is truncated or too long is malformed") {
  const std::string message = http_request_message(sample(), id);
  for (std::size_t size = 0; size < message.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(decode_http_request(std::string_view(message).substr(0, size)).has_value());
  }
  CHECK_FALSE(decode_http_request(message + '\0').has_value());
}

TEST_CASE("Another kind or version, or an unknown flag, is malformed") {
  for (const std::size_t at : {0u, 1u, 2u, 3u}) {
    std::string message = http_request_message(sample(), id);
    message[at] = static_cast<char>(message[at] + 4);
    CAPTURE(at);
    CHECK_FALSE(decode_http_request(message).has_value());
  }
  CHECK_FALSE(is_http_request_message(""));
  CHECK_FALSE(is_http_request_message("\1"));
}

TEST_CASE("Lengths that do not fit are malformed, whatever they are") {
  const std::string good = http_request_message(sample(), id);
  constexpr std::size_t first = 4, count_at = 20, header_lengths = 40;
  for (std::size_t at = first; at < header_lengths + 16; at += 4) {
    if (at > count_at && at < header_lengths) continue;  // the bytes of the id
    for (const std::uint32_t length : {0x7FFF'FFFFu, 0xFFFF'FFFFu, 0x1FFF'FFFFu, 0x2000'0001u}) {
      std::string message = good;
      std::string word;
      ByteWriter(word).u32(length);
      message.replace(at, 4, word);
      CAPTURE(at, length);
      CHECK_FALSE(decode_http_request(message).has_value());
    }
  }
}

TEST_CASE("A response message has the layout that the header documents") {
  const Response response{409, "Conflict", {{"a", "bc"}, {"def", ""}}, "{}"};
  const std::string message = encode_http_response(response);
  ByteReader in(message);
  CHECK(in.u8() == 65);
  CHECK(in.u8() == 1);
  CHECK(in.u16() == 409);
  CHECK(in.u32() == 8);
  CHECK(in.u32() == 2);
  CHECK(in.u32() == 2);
  CHECK(in.u32() == 1);
  CHECK(in.u32() == 2);
  CHECK(in.u32() == 3);
  CHECK(in.u32() == 0);
  CHECK(in.raw(in.remaining()) == "Conflictabcdef{}");
}

TEST_CASE("A response is decoded from its message") {
  const std::string message =
      encode_http_response({409, "Conflict", {{"a", "bc"}, {"def", ""}}, "{}"});
  const ResponseView view = decode_http_response(message);
  CHECK(view.status == 409);
  REQUIRE(view.headers.size() == 2);
  CHECK(view.headers[0].name == "a");
  CHECK(view.headers[0].value == "bc");
  CHECK(view.headers[1].name == "def");
  CHECK(view.body == "{}");
}

TEST_CASE("Random damage never makes the decoder read past the end") {
  constexpr std::uint64_t seed = 20'240'717;
  CAPTURE(seed);
  test::Prng prng(seed);
  const std::string good = http_request_message(sample(), id);
  constexpr std::size_t frame = 4;
  for (int round = 0; round < 2000; ++round) {
    std::string message = good.substr(0, frame + 1 + prng.below(good.size() - frame));
    for (std::uint64_t i = prng.below(8); i-- > 0;) {
      message[frame + prng.below(message.size() - frame)] = static_cast<char>(prng.below(256));
    }
    const auto read = decode_http_request(message);
    if (read.has_value()) CHECK(read->request.body.size() <= message.size());
  }
}

}  // namespace entitable::rest
