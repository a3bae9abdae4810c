// Writes a stretch of a block whose room is known beforehand, such as a row of a page: where the
// next word and the next text go stays in registers, and nothing is checked but when it is given
// back. Internal to core/direct; block.h says how it is got.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/base/check.h"
#include "core/direct/block.h"

namespace entitable::direct {

namespace detail {

template <typename Word>
Word copy_word(char* to, const char* from) {
  Word word;
  std::memcpy(&word, from, sizeof(Word));
  std::memcpy(to, &word, sizeof(Word));
  return word;
}

// Copies bytes and tells whether they are ASCII. By words, of which the last two may overlap.
inline bool copy(char* to, std::string_view bytes) {
  const char* const from = bytes.data();
  const std::size_t size = bytes.size();
  std::uint64_t bits = 0;
  if (size >= 8) {
    for (std::size_t at = 0; at + 8 < size; at += 8) {
      bits |= copy_word<std::uint64_t>(to + at, from + at);
    }
    bits |= copy_word<std::uint64_t>(to + size - 8, from + size - 8);
  } else if (size >= 4) {
    bits = copy_word<std::uint32_t>(to, from);
    bits |= copy_word<std::uint32_t>(to + size - 4, from + size - 4);
  } else {
    for (std::size_t at = 0; at < size; ++at) bits |= copy_word<std::uint8_t>(to + at, from + at);
  }
  return (bits & 0x8080'8080'8080'8080u) == 0;
}

}  // namespace detail

class BlockCursor {
 public:
  void word(std::uint32_t value) {
    std::memcpy(word_, &value, sizeof value);
    word_ += sizeof value;
  }
  void two_words(std::uint64_t value) {  // aligned, with a zero word before it if need be
    if (((word_ - block_) & 7) != 0) word(0);
    std::memcpy(word_, &value, sizeof value);
    word_ += sizeof value;
  }
  void float64(double value) { two_words(__builtin_bit_cast(std::uint64_t, value)); }
  // Its length as a word, and into the text area.
  void text(std::string_view wtf8) {
    const bool ascii = detail::copy(text_, wtf8);
    text_ += wtf8.size();
    word(ascii ? static_cast<std::uint32_t>(wtf8.size()) : out_.note_units(wtf8));
  }
  void ascii(std::string_view text) {
    detail::copy(text_, text);
    text_ += text.size();
    word(static_cast<std::uint32_t>(text.size()));
  }
  // Room for ASCII text whose word stands elsewhere.
  char* ascii_room(std::size_t bytes) {
    char* const room = text_;
    text_ += bytes;
    return room;
  }
  void binary(std::string_view bytes) {
    word(static_cast<std::uint32_t>(bytes.size()));
    ReplyBuffer::Area& area = out_.out_.binary_;
    area.reserve(area.size + bytes.size());
    detail::copy(area.bytes.get() + area.size, bytes);
    area.size += bytes.size();
  }

 private:
  friend class BlockWriter;
  BlockCursor(BlockWriter& out, char* block, std::size_t word_at, std::size_t text_at)
      : out_(out), block_(block), word_(block + word_at), text_(block + text_at) {}

  BlockWriter& out_;
  char* const block_;
  char* word_;
  char* text_;
};

inline BlockCursor BlockWriter::lend_cursor(std::size_t words_max, std::size_t text_max) {
  ENTITABLE_CHECK(at_ + words_max * 4 <= text_at_);
  text_lent_ = text_end_ + text_max;
  out_.block_.reserve(text_lent_);
  return {*this, out_.block_.bytes.get(), at_, text_end_};
}

inline void BlockWriter::take_back(BlockCursor cursor) {
  at_ = static_cast<std::size_t>(cursor.word_ - cursor.block_);
  text_end_ = static_cast<std::size_t>(cursor.text_ - cursor.block_);
  ENTITABLE_CHECK(at_ <= text_at_ && text_end_ <= text_lent_);
  out_.block_.size = text_end_;
}

}  // namespace entitable::direct
