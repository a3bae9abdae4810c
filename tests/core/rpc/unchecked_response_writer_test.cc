#include "core/rpc/unchecked_response_writer.h"

#include <string>

#include "tests/support/catch.h"

namespace entitable::rpc {
namespace {

std::uint32_t word_at(const std::string& bytes, std::size_t at) {
  std::uint32_t v;
  std::memcpy(&v, bytes.data() + at, 4);
  return v;
}

}  // namespace

TEST_CASE("Bytes of every length are copied, and a non-ASCII byte is detected anywhere") {
  for (std::size_t size = 0; size < 40; ++size) {
    std::string from;
    for (std::size_t i = 0; i < size; ++i) from += static_cast<char>('A' + i);
    CAPTURE(size);
    std::string to(size + 2, '.');
    CHECK(detail::copy_and_check_ascii(to.data() + 1, from));
    CHECK(to == "." + from + ".");
    for (std::size_t i = 0; i < size; ++i) {
      std::string other = from;
      other[i] = '\x80';
      CAPTURE(i);
      REQUIRE_FALSE(detail::copy_and_check_ascii(to.data() + 1, other));
      REQUIRE(to == "." + other + ".");
    }
  }
}

TEST_CASE("A cursor writes the same bytes as the writer") {
  const std::string smile = "\xF0\x9F\x98\x80";
  ResponseBuffer by_cursor;
  {
    ResponseWriter writer(by_cursor, ResponseKind::page, 20);
    writer.word(1);
    UncheckedResponseWriter out = writer.open_unchecked_writer(15, 100);
    out.two_words(0x1'0000'0002);
    out.float64(0.5);
    out.text("plain");
    out.text(smile);
    out.ascii("a");
    std::memcpy(out.allocate_ascii(3), "xyz", 3);
    out.binary("\x01\x02");
    writer.commit_unchecked_writer(out);
    writer.text("behind");
    writer.binary("\x03");
    writer.finish();
  }
  ResponseBuffer by_writer;
  ResponseWriter writer(by_writer, ResponseKind::page, 20);
  writer.word(1);
  writer.two_words(0x1'0000'0002);
  writer.float64(0.5);
  writer.text("plain");
  writer.text(smile);
  writer.ascii("a");
  writer.text_without_length("xyz");
  writer.binary("\x01\x02");
  writer.text("behind");
  writer.binary("\x03");
  writer.finish();
  CHECK(by_cursor.str() == by_writer.str());
}

TEST_CASE("A lone surrogate that a cursor writes makes the text UTF-16") {
  ResponseBuffer response;
  ResponseWriter writer(response, ResponseKind::page, 2);
  UncheckedResponseWriter out = writer.open_unchecked_writer(1, 10);
  out.text("\xED\xA0\xBD");
  writer.commit_unchecked_writer(out);
  writer.finish();
  CHECK(static_cast<std::uint8_t>(response.str()[2]) == flag_utf16);
  CHECK(word_at(response.str(), 16) == 1);
  CHECK(word_at(response.str(), 8) == 2);
}

}  // namespace entitable::rpc
