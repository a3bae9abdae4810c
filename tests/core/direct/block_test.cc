#include "core/direct/block.h"

#include <cstring>

#include "core/base/utf8.h"
#include "tests/core/direct/request_builder.h"
#include "tests/support/catch.h"

namespace entitable::direct {
namespace {

using test::RequestBuilder;

const std::string high = "\xED\xA0\xBD";       // U+D83D
const std::string low = "\xED\xB8\x80";        // U+DE00
const std::string smile = "\xF0\x9F\x98\x80";  // the pair of both

RequestBuilder request() {
  return RequestBuilder(RequestKind::get);
}

// Takes words, text and binary of a reply apart again.
struct Reply {
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

TEST_CASE("A request gives its words, text and binaries in order") {
  const std::string block = request()
                                .word(7)
                                .text("tab")
                                .text("h\xC3\xA9llo " + smile)
                                .no_text()
                                .text("")
                                .word(2)
                                .binary_only("\x01\x02")
                                .build();
  BlockReader in(block);
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
  const std::string block = request().word(1).word(0).float64(-1.5).build();
  BlockReader aligned(block);
  CHECK(aligned.word() == 1);
  CHECK(aligned.float64() == -1.5);
  CHECK(aligned.ok());
}

TEST_CASE("Text survives whatever a JavaScript string can hold") {
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
    const std::string block = builder.build();
    BlockReader in(block);
    for (const std::string& text : texts) {
      CAPTURE(text);
      CHECK(in.text() == text);
    }
    CHECK(in.ok());
  }
}

TEST_CASE("A string may end inside a surrogate pair that the next one completes") {
  // What TextEncoder makes of "a\uD83D" + "\uDE00b": one well-formed area.
  const std::string block = request().word(2).word(2).text_only("a" + smile + "b").build();
  BlockReader in(block);
  CHECK(in.text() == "a" + high);
  CHECK(in.text() == low + "b");
  CHECK(in.ok());

  SECTION("with an empty string between") {
    const std::string three = request().word(1).word(0).word(1).text_only(smile).build();
    BlockReader reader(three);
    CHECK(reader.text() == high);
    CHECK(reader.text().empty());
    CHECK(reader.text() == low);
    CHECK(reader.ok());
  }
  SECTION("twice in a row") {
    const std::string two = request().word(1).word(2).word(1).text_only(smile + smile).build();
    BlockReader reader(two);
    CHECK(reader.text() == high);
    CHECK(reader.text() == low + high);
    CHECK(reader.text() == low);
    CHECK(reader.ok());
  }
}

TEST_CASE("Reading past any end fails and stays failed") {
  const std::string block = request().word(3).text_only("ab").binary_only("x").build();
  SECTION("words") {
    BlockReader in(block);
    in.word();
    CHECK(in.ok());
    CHECK(in.word() == 0);
    CHECK_FALSE(in.ok());
    CHECK(in.text(1).empty());
    CHECK(in.binary(1).empty());
  }
  SECTION("text") {
    BlockReader in(block);
    CHECK(in.text().empty());
    CHECK_FALSE(in.ok());
  }
  SECTION("text that is not ASCII") {
    const std::string accents = request().word(3).text_only("\xC3\xA9\xC3\xA9").build();
    BlockReader in(accents);
    CHECK(in.text().empty());
    CHECK_FALSE(in.ok());
  }
  SECTION("UTF-16 text") {
    const std::string wide = request().word(3).text_only("ab").as_utf16().build();
    BlockReader in(wide);
    CHECK(in.text().empty());
    CHECK_FALSE(in.ok());
  }
  SECTION("binary") {
    BlockReader in(block);
    CHECK(in.binary(1) == "x");
    CHECK(in.binary(1).empty());
    CHECK_FALSE(in.ok());
  }
  SECTION("words from the end") {
    BlockReader in(block);
    CHECK(in.take_last_words(1).size() == 4);
    CHECK(in.ok());
    CHECK(in.words_left() == 0);
    CHECK(in.take_last_words(1).empty());
    CHECK_FALSE(in.ok());
  }
}

TEST_CASE("A frame that does not add up is refused") {
  const std::string good = request().text("ab").build();
  REQUIRE(BlockReader(good).ok());
  const auto refused = [](std::string block) { return !BlockReader(block).ok(); };
  for (std::size_t cut = 0; cut < good.size(); ++cut) CHECK(refused(good.substr(0, cut)));
  CHECK(refused(good + "x"));
  const auto with = [&](std::size_t at, char byte) {
    std::string block = good;
    block[at] = byte;
    return block;
  };
  CHECK(refused(with(1, 2)));       // version
  CHECK(refused(with(2, 2)));       // flag of replies
  CHECK(refused(with(3, 1)));       // reserved byte
  CHECK(refused(with(4, 15)));      // text before the end of the header
  CHECK(refused(with(4, 21)));      // text not at a word
  CHECK(refused(with(7, '\x7F')));  // text far outside
  CHECK(refused(with(11, '\xFF')));
  CHECK(refused(with(15, '\xFF')));
  CHECK(refused(with(20, '\xFF')));  // not UTF-8
  std::string odd = request().text("ab").as_utf16().build();
  odd.pop_back();
  odd[8] = 3;
  CHECK(refused(odd));
}

TEST_CASE("A reply holds what was written") {
  ReplyBuffer buffer;
  BlockWriter out(buffer, ReplyKind::tables, 12);
  out.word(5);
  out.text("h\xC3\xA9llo");
  out.text(smile);
  out.ascii("plain");
  out.optional_text(std::nullopt);
  out.two_words(0x1122334455667788u);
  out.binary("\x01\x02\x03");
  out.flag(flag_local_failure);
  out.finish();
  const Reply reply{buffer.str()};
  CHECK(reply.bytes[0] == 2);
  CHECK(reply.bytes[1] == 1);
  CHECK(reply.flags() == flag_local_failure);
  CHECK(reply.word(4) == 16 + 12 * 4);
  CHECK(reply.word(12) == 3);
  CHECK(reply.word(16) == 5);
  CHECK(reply.word(20) == 5);  // units, not bytes
  CHECK(reply.word(24) == 2);
  CHECK(reply.word(28) == 5);
  CHECK(reply.word(32) == none);
  CHECK(reply.word(36) == 0);  // aligns
  CHECK(reply.word(40) == 0x55667788);
  CHECK(reply.word(44) == 0x11223344);
  CHECK(reply.word(48) == 3);
  CHECK(reply.text() == "h\xC3\xA9llo" + smile + "plain");
  CHECK(reply.binary() == "\x01\x02\x03");
}

TEST_CASE("One string with an unpaired surrogate turns the area into UTF-16") {
  ReplyBuffer buffer;
  BlockWriter out(buffer, ReplyKind::tables, 4);
  out.text("a" + high);
  out.text(low + smile);
  out.text("\xC3\xA9");
  out.binary("x");
  out.finish();
  const Reply reply{buffer.str()};
  CHECK(reply.flags() == flag_utf16);
  CHECK(reply.word(16) == 2);
  CHECK(reply.word(20) == 3);
  CHECK(reply.word(24) == 1);
  const std::u16string wide = {u'a', 0xD83D, 0xDE00, 0xD83D, 0xDE00, 0xE9};
  const std::string text = reply.text();
  REQUIRE(text.size() == wide.size() * 2);
  CHECK(std::memcmp(text.data(), wide.data(), text.size()) == 0);
  CHECK(reply.binary() == "x");
}

TEST_CASE("A buffer used again shows nothing of the reply before") {
  ReplyBuffer buffer;
  {
    BlockWriter out(buffer, ReplyKind::tables, 100);
    for (int i = 0; i < 100; ++i) out.word(0xABABABAB);
    out.finish();
  }
  BlockWriter out(buffer, ReplyKind::tables, 100);
  out.word(1);
  out.finish();
  const Reply reply{buffer.str()};
  CHECK(reply.bytes.size() == 16 + 400);
  for (std::size_t at = 20; at < reply.bytes.size(); at += 4) CHECK(reply.word(at) == 0);
}

TEST_CASE("A reply of many megabytes is whole, and its memory is given back") {
  ReplyBuffer buffer;
  const std::string megabyte(1 << 20, 'x');
  {
    BlockWriter out(buffer, ReplyKind::tables, 8);
    for (int i = 0; i < 8; ++i) out.text(megabyte);
    out.finish();
    CHECK(Reply{buffer.str()}.text().size() == 8u << 20);
  }
  BlockWriter out(buffer, ReplyKind::tables, 1);
  out.word(1);
  out.finish();
  CHECK(buffer.size() == 20);
}

}  // namespace entitable::direct
