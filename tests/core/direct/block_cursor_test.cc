#include "core/direct/block_cursor.h"

#include <string>

#include "tests/support/catch.h"

namespace entitable::direct {
namespace {

std::uint32_t word_at(const std::string& block, std::size_t at) {
  std::uint32_t v;
  std::memcpy(&v, block.data() + at, 4);
  return v;
}

}  // namespace

TEST_CASE("Bytes of every length are copied, and told from ASCII wherever they are not") {
  for (std::size_t size = 0; size < 40; ++size) {
    std::string from;
    for (std::size_t i = 0; i < size; ++i) from += static_cast<char>('A' + i);
    CAPTURE(size);
    std::string to(size + 2, '.');
    CHECK(detail::copy(to.data() + 1, from));
    CHECK(to == "." + from + ".");
    for (std::size_t i = 0; i < size; ++i) {
      std::string other = from;
      other[i] = '\x80';
      CAPTURE(i);
      REQUIRE_FALSE(detail::copy(to.data() + 1, other));
      REQUIRE(to == "." + other + ".");
    }
  }
}

TEST_CASE("What a cursor writes is as if the writer had written it") {
  const std::string smile = "\xF0\x9F\x98\x80";
  ReplyBuffer by_cursor;
  {
    BlockWriter block(by_cursor, ReplyKind::page, 20);
    block.word(1);
    BlockCursor out = block.lend_cursor(15, 100);
    out.two_words(0x1'0000'0002);
    out.float64(0.5);
    out.text("plain");
    out.text(smile);
    out.ascii("a");
    std::memcpy(out.ascii_room(3), "xyz", 3);
    out.binary("\x01\x02");
    block.take_back(out);
    block.text("behind");
    block.binary("\x03");
    block.finish();
  }
  ReplyBuffer by_writer;
  BlockWriter block(by_writer, ReplyKind::page, 20);
  block.word(1);
  block.two_words(0x1'0000'0002);
  block.float64(0.5);
  block.text("plain");
  block.text(smile);
  block.ascii("a");
  block.text_only("xyz");
  block.binary("\x01\x02");
  block.text("behind");
  block.binary("\x03");
  block.finish();
  CHECK(by_cursor.str() == by_writer.str());
}

TEST_CASE("A lone surrogate that a cursor writes makes the text UTF-16") {
  ReplyBuffer reply;
  BlockWriter block(reply, ReplyKind::page, 2);
  BlockCursor out = block.lend_cursor(1, 10);
  out.text("\xED\xA0\xBD");
  block.take_back(out);
  block.finish();
  CHECK(static_cast<std::uint8_t>(reply.str()[2]) == flag_utf16);
  CHECK(word_at(reply.str(), 16) == 1);
  CHECK(word_at(reply.str(), 8) == 2);
}

}  // namespace entitable::direct
