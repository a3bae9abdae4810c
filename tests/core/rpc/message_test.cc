#include "core/rpc/message.h"

#include <cstring>

#include "core/base/utf8.h"
#include "tests/core/rpc/request_builder.h"
#include "tests/support/catch.h"

namespace entitable::rpc {
namespace {

using test::RequestBuilder;

const std::string high = "\xED\xA0\xBD";       // U+D83D
const std::string low = "\xED\xB8\x80";        // U+DE00
const std::string smile = "\xF0\x9F\x98\x80";  // the pair of high and low

RequestBuilder request() {
  return RequestBuilder(RequestKind::get);
}

// Reads words, text and binary values of a response.
struct EncodedResponse {
  std::string bytes;
  std::uint32_t word(std::size_t at) const {
    std::uint32_t v;
    std::memcpy(&v, bytes.data() + at, 4);
    return v;
  }
  std::uint8_t flags() const { return static_cast<std::uint8_t>(bytes[2]); }
  std::string text() const { return bytes.substr(word(4), word(8)); }
  std::string binary() const { return bytes.substr(word(4) + word(8)); }
};

}  // namespace

TEST_CASE("A reader returns words, text and binaries in order") {
  const std::string message = request()
                                  .word(7)
                                  .text("tab")
                                  .text("h\xC3\xA9llo " + smile)
                                  .no_text()
                                  .text("")
                                  .word(2)
                                  .append_binary("\x01\x02")
                                  .build();
  MessageReader in(message);
  REQUIRE(in.ok());
  CHECK(in.kind() == 1);
  CHECK(in.word() == 7);
  CHECK(in.text() == "tab");
  CHECK(in.text() == "h\xC3\xA9llo " + smile);
  CHECK_FALSE(in.optional_text().has_value());
  CHECK(in.optional_text() == std::string_view());
  CHECK(in.words_left() == 1);
  CHECK(in.binary(in.word()) == "\x01\x02");
  CHECK(in.ok());
}

TEST_CASE("A two-word payload starts at a multiple of 8") {
  const std::string message = request().word(1).word(0).float64(-1.5).build();
  MessageReader aligned(message);
  CHECK(aligned.word() == 1);
  CHECK(aligned.float64() == -1.5);
  CHECK(aligned.ok());
}

TEST_CASE("Any JavaScript string survives") {
  const std::string texts[] = {"",
                               "ascii",
                               "\xEF\xBB\xBF"
                               "bom",
                               std::string("a\0b", 3),
                               "\xC3\xA9",
                               smile,
                               high,
                               low,
                               low + high,
                               "x" + high};
  for (const bool utf16 : {false, true}) {
    RequestBuilder builder = request();
    for (const std::string& text : texts) builder.text(text);
    if (utf16) builder.as_utf16();
    const std::string message = builder.build();
    MessageReader in(message);
    for (const std::string& text : texts) {
      CAPTURE(text);
      CHECK(in.text() == text);
    }
    CHECK(in.ok());
  }
}

TEST_CASE("A string may end inside a surrogate pair that the next string completes") {
  // TextEncoder encodes "a\uD83D" + "\uDE00b" as one well-formed area.
  const std::string message = request().word(2).word(2).append_text("a" + smile + "b").build();
  MessageReader in(message);
  CHECK(in.text() == "a" + high);
  CHECK(in.text() == low + "b");
  CHECK(in.ok());

  SECTION("with an empty string between") {
    const std::string three = request().word(1).word(0).word(1).append_text(smile).build();
    MessageReader reader(three);
    CHECK(reader.text() == high);
    CHECK(reader.text().empty());
    CHECK(reader.text() == low);
    CHECK(reader.ok());
  }
  SECTION("twice in a row") {
    const std::string two = request().word(1).word(2).word(1).append_text(smile + smile).build();
    MessageReader reader(two);
    CHECK(reader.text() == high);
    CHECK(reader.text() == low + high);
    CHECK(reader.text() == low);
    CHECK(reader.ok());
  }
}

TEST_CASE("After a read past any end the reader stays failed") {
  const std::string message = request().word(3).append_text("ab").append_binary("x").build();
  SECTION("words") {
    MessageReader in(message);
    in.word();
    CHECK(in.ok());
    CHECK(in.word() == 0);
    CHECK_FALSE(in.ok());
    CHECK(in.text(1).empty());
    CHECK(in.binary(1).empty());
  }
  SECTION("text") {
    MessageReader in(message);
    CHECK(in.text().empty());
    CHECK_FALSE(in.ok());
  }
  SECTION("text that is not ASCII") {
    const std::string accents = request().word(3).append_text("\xC3\xA9\xC3\xA9").build();
    MessageReader in(accents);
    CHECK(in.text().empty());
    CHECK_FALSE(in.ok());
  }
  SECTION("UTF-16 text") {
    const std::string wide = request().word(3).append_text("ab").as_utf16().build();
    MessageReader in(wide);
    CHECK(in.text().empty());
    CHECK_FALSE(in.ok());
  }
  SECTION("binary") {
    MessageReader in(message);
    CHECK(in.binary(1) == "x");
    CHECK(in.binary(1).empty());
    CHECK_FALSE(in.ok());
  }
  SECTION("words from the end") {
    MessageReader in(message);
    CHECK(in.take_last_words(1).size() == 4);
    CHECK(in.ok());
    CHECK(in.words_left() == 0);
    CHECK(in.take_last_words(1).empty());
    CHECK_FALSE(in.ok());
  }
}

TEST_CASE("An inconsistent frame is rejected") {
  const std::string good = request().text("ab").build();
  REQUIRE(MessageReader(good).ok());
  const auto is_rejected = [](std::string message) { return !MessageReader(message).ok(); };
  for (std::size_t cut = 0; cut < good.size(); ++cut) CHECK(is_rejected(good.substr(0, cut)));
  CHECK(is_rejected(good + "x"));
  const auto with = [&](std::size_t at, char byte) {
    std::string message = good;
    message[at] = byte;
    return message;
  };
  CHECK(is_rejected(with(1, 2)));       // version
  CHECK(is_rejected(with(2, 2)));       // a flag of responses
  CHECK(is_rejected(with(3, 1)));       // reserved byte
  CHECK(is_rejected(with(4, 15)));      // text before the end of the header
  CHECK(is_rejected(with(4, 21)));      // text that is not aligned to a word
  CHECK(is_rejected(with(7, '\x7F')));  // text outside the message
  CHECK(is_rejected(with(11, '\xFF')));
  CHECK(is_rejected(with(15, '\xFF')));
  CHECK(is_rejected(with(20, '\xFF')));  // not UTF-8
  std::string odd = request().text("ab").as_utf16().build();
  odd.pop_back();
  odd[8] = 3;
  CHECK(is_rejected(odd));
}

TEST_CASE("A response holds what was written") {
  ResponseBuffer buffer;
  ResponseWriter out(buffer, ResponseKind::tables, 12);
  out.word(5);
  out.text("h\xC3\xA9llo");
  out.text(smile);
  out.ascii("plain");
  out.optional_text(std::nullopt);
  out.two_words(0x1122334455667788u);
  out.binary("\x01\x02\x03");
  out.set_flag(flag_local_failure);
  out.finish();
  const EncodedResponse response{buffer.str()};
  CHECK(response.bytes[0] == 2);
  CHECK(response.bytes[1] == 1);
  CHECK(response.flags() == flag_local_failure);
  CHECK(response.word(4) == 16 + 12 * 4);
  CHECK(response.word(12) == 3);
  CHECK(response.word(16) == 5);
  CHECK(response.word(20) == 5);  // units, not bytes
  CHECK(response.word(24) == 2);
  CHECK(response.word(28) == 5);
  CHECK(response.word(32) == none);
  CHECK(response.word(36) == 0);  // alignment
  CHECK(response.word(40) == 0x55667788);
  CHECK(response.word(44) == 0x11223344);
  CHECK(response.word(48) == 3);
  CHECK(response.text() == "h\xC3\xA9llo" + smile + "plain");
  CHECK(response.binary() == "\x01\x02\x03");
}

TEST_CASE("One string with an unpaired surrogate turns the text area into UTF-16") {
  ResponseBuffer buffer;
  ResponseWriter out(buffer, ResponseKind::tables, 4);
  out.text("a" + high);
  out.text(low + smile);
  out.text("\xC3\xA9");
  out.binary("x");
  out.finish();
  const EncodedResponse response{buffer.str()};
  CHECK(response.flags() == flag_utf16);
  CHECK(response.word(16) == 2);
  CHECK(response.word(20) == 3);
  CHECK(response.word(24) == 1);
  const std::u16string wide = {u'a', 0xD83D, 0xDE00, 0xD83D, 0xDE00, 0xE9};
  const std::string text = response.text();
  REQUIRE(text.size() == wide.size() * 2);
  CHECK(std::memcmp(text.data(), wide.data(), text.size()) == 0);
  CHECK(response.binary() == "x");
}

TEST_CASE("A reused buffer shows nothing of the previous response") {
  ResponseBuffer buffer;
  {
    ResponseWriter out(buffer, ResponseKind::tables, 100);
    for (int i = 0; i < 100; ++i) out.word(0xABABABAB);
    out.finish();
  }
  ResponseWriter out(buffer, ResponseKind::tables, 100);
  out.word(1);
  out.finish();
  const EncodedResponse response{buffer.str()};
  CHECK(response.bytes.size() == 16 + 400);
  for (std::size_t at = 20; at < response.bytes.size(); at += 4) CHECK(response.word(at) == 0);
}

TEST_CASE("A response of many megabytes is complete, and its memory is freed") {
  ResponseBuffer buffer;
  const std::string megabyte(1 << 20, 'x');
  {
    ResponseWriter out(buffer, ResponseKind::tables, 8);
    for (int i = 0; i < 8; ++i) out.text(megabyte);
    out.finish();
    CHECK(EncodedResponse{buffer.str()}.text().size() == 8u << 20);
  }
  ResponseWriter out(buffer, ResponseKind::tables, 1);
  out.word(1);
  out.finish();
  CHECK(buffer.size() == 20);
}

}  // namespace entitable::rpc
