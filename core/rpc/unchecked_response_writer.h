// Writes a section of a response message faster than ResponseWriter, if the maximum size of the
// section is known in advance. A row of a page is such a section. The cursor's positions stay in
// registers, and bounds are checked only once, in commit_unchecked_writer(). Internal to core/rpc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/base/check.h"
#include "core/base/copy_words.h"
#include "core/rpc/message.h"

namespace entitable::rpc {

namespace detail {

// Copies the bytes and returns whether all of them are ASCII.
inline bool copy_and_check_ascii(char* to, std::string_view bytes) {
  std::uint64_t bits = 0;
  copy_words(to, bytes.data(), bytes.size(), [&bits](std::uint64_t word) { bits |= word; });
  return (bits & 0x8080'8080'8080'8080u) == 0;
}

}  // namespace detail

class UncheckedResponseWriter {
 public:
  void word(std::uint32_t value) {
    std::memcpy(word_, &value, sizeof value);
    word_ += sizeof value;
  }
  void two_words(std::uint64_t value) {  // aligns to 8 bytes with a zero word if necessary
    if (((word_ - message_) & 7) != 0) word(0);
    std::memcpy(word_, &value, sizeof value);
    word_ += sizeof value;
  }
  void float64(double value) { two_words(__builtin_bit_cast(std::uint64_t, value)); }
  // Writes the length as a word and the text to the text area.
  void text(std::string_view wtf8) {
    const bool ascii = detail::copy_and_check_ascii(text_, wtf8);
    text_ += wtf8.size();
    word(ascii ? static_cast<std::uint32_t>(wtf8.size()) : out_.count_non_ascii_units(wtf8));
  }
  void ascii(std::string_view text) {
    detail::copy_and_check_ascii(text_, text);
    text_ += text.size();
    word(static_cast<std::uint32_t>(text.size()));
  }
  // Returns space in the text area for ASCII text whose length is written separately.
  char* allocate_ascii(std::size_t bytes) {
    char* const target = text_;
    text_ += bytes;
    return target;
  }
  void binary(std::string_view bytes) {
    word(static_cast<std::uint32_t>(bytes.size()));
    ResponseBuffer::Area& area = out_.out_.binary_;
    area.reserve(area.size + bytes.size());
    detail::copy_and_check_ascii(area.bytes.get() + area.size, bytes);
    area.size += bytes.size();
  }

 private:
  friend class ResponseWriter;
  UncheckedResponseWriter(ResponseWriter& out, char* message, std::size_t word_at,
                          std::size_t text_at)
      : out_(out), message_(message), word_(message + word_at), text_(message + text_at) {}

  ResponseWriter& out_;
  char* const message_;
  char* word_;
  char* text_;
};

inline UncheckedResponseWriter ResponseWriter::open_unchecked_writer(std::size_t words_max,
                                                                     std::size_t text_max) {
  ENTITABLE_CHECK(at_ + words_max * 4 <= text_at_);
  cursor_text_end_ = text_end_ + text_max;
  out_.message_.reserve(cursor_text_end_);
  return {*this, out_.message_.bytes.get(), at_, text_end_};
}

inline void ResponseWriter::commit_unchecked_writer(UncheckedResponseWriter cursor) {
  at_ = static_cast<std::size_t>(cursor.word_ - cursor.message_);
  text_end_ = static_cast<std::size_t>(cursor.text_ - cursor.message_);
  ENTITABLE_CHECK(at_ <= text_at_ && text_end_ <= cursor_text_end_);
  out_.message_.size = text_end_;
}

}  // namespace entitable::rpc
