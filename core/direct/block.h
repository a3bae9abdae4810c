// The frame of a block: header, words, text area, binary area (LAYOUT.md). Knows no operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace entitable::direct {

inline constexpr std::uint8_t block_version = 1;
inline constexpr std::size_t header_bytes = 16;
inline constexpr std::uint32_t none = 0xFFFF'FFFF;  // instead of a length: there is no text
inline constexpr std::uint32_t not_text =
    0xFFFF'FFFE;  // instead of a key's length: it was given, but is no string

enum class RequestKind : std::uint8_t {
  get = 1,
  query = 2,
  explain = 3,
  list_tables = 4,
  get_each = 5,
  write = 16,
  create_table = 17,
  drop_table = 18,
};

enum class ReplyKind : std::uint8_t {
  page = 1,
  tables = 2,
  written = 3,
  explanation = 4,
  error = 15,
};

inline constexpr std::uint8_t flag_utf16 = 1;
inline constexpr std::uint8_t flag_local_failure = 2;
inline constexpr std::uint8_t flag_headers = 4;  // of an error

// Reads a request block, or an error among the replies. Never past the end: a reader that has
// failed stays failed, gives zeros and empty text, and is asked once at the end (ok()). Text is
// always WTF-8, whatever the area holds.
class BlockReader {
 public:
  // The views it gives are valid as long as both `block` and the reader. It has failed if the block
  // has other flags than `known_flags`.
  explicit BlockReader(std::string_view block, std::uint8_t known_flags = flag_utf16);

  std::uint8_t kind() const { return kind_; }
  bool ok() const { return ok_; }
  void fail() { ok_ = false; }

  std::uint32_t word() {
    if (!ok_ || words_end_ - at_ < 4) {
      fail();
      return 0;
    }
    std::uint32_t value;
    std::memcpy(&value, block_.data() + at_, sizeof value);
    at_ += 4;
    return value;
  }
  std::uint64_t two_words() {
    if (at_ % 8 != 0) word();
    const std::uint64_t low = word();
    return low | (static_cast<std::uint64_t>(word()) << 32);
  }
  // Two words, and a payload of two words: what a property takes.
  struct Record {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    std::uint64_t payload = 0;
  };
  Record record() {
    Record record;
    if (ok_ && at_ % 8 == 0 && words_end_ - at_ >= sizeof record) {
      std::memcpy(&record, block_.data() + at_, sizeof record);
      at_ += sizeof record;
      return record;
    }
    record.first = word();
    record.second = word();
    record.payload = two_words();
    return record;
  }
  double float64();
  // Words from here to the text area.
  std::size_t words_left() const { return (words_end_ - at_) / 4; }
  // The last `count` words: for a list that stands behind what is read after it. They are no longer
  // read by word().
  std::string_view take_last_words(std::size_t count);

  // The next string of the area.
  std::string_view text(std::uint32_t units) {
    if (!ok_ || !ascii_ || text_end_ - text_at_ < units) return other_text(units);
    const std::string_view piece(block_.data() + text_at_, units);
    text_at_ += units;
    return piece;
  }
  std::string_view text() { return text(word()); }  // its length is the next word
  std::optional<std::string_view> optional_text();  // nothing if the next word is `none`
  std::string_view binary(std::uint32_t bytes);     // the next bytes of the binary area
  // What text looks at that does not stand in the block as it is: for whoever uses it after the
  // reader is gone. Null: there is none.
  std::shared_ptr<const void> own_texts() const { return own_texts_; }

 private:
  std::string_view other_text(std::uint32_t units);
  std::string_view utf8_text(std::uint32_t units);
  std::string_view utf16_text(std::uint32_t units);
  std::string_view own(std::string text);

  std::string_view block_;
  std::uint8_t kind_ = 0;
  bool ok_ = true;
  bool utf16_ = false;
  bool ascii_ = false;  // text positions are bytes: nothing to count
  std::size_t at_ = 0;
  std::size_t words_end_ = 0;
  std::size_t text_at_ = 0;
  std::size_t text_end_ = 0;
  std::size_t binary_at_ = 0;
  char32_t pending_low_ = 0;  // the second half of a pair that the last string ended in
  std::shared_ptr<std::deque<std::string>> own_texts_;
};

// A growing byte buffer that is not cleared when it grows, and keeps its memory when it is used
// again.
class ReplyBuffer {
 public:
  const char* data() const { return block_.bytes.get(); }
  std::size_t size() const { return block_.size; }
  std::string_view view() const { return {data(), size()}; }
  std::string str() const { return std::string(view()); }
  void assign(std::string_view bytes);  // for a reply that another door wrote
  // A reply of at most so many bytes then needs no more memory. What there is survives.
  void reserve(std::size_t bytes) { block_.reserve(bytes); }

 private:
  friend class BlockCursor;
  friend class BlockWriter;
  struct Area {
    std::unique_ptr<char[]> bytes;
    std::size_t capacity = 0;
    std::size_t size = 0;
    void clear();
    void reserve(std::size_t wanted) {  // contents up to size survive
      if (wanted > capacity) grow(wanted);
    }
    void grow(std::size_t wanted);
  };
  Area block_;
  Area binary_;  // of the block that is being written, until the end of its text is known
};

class BlockCursor;

// Writes a reply block. The number of words is bounded first, so that text is written to its place
// at once:
//   BlockWriter w(out, ReplyKind::tables, 2 + names.size());
//   w.word(…); w.text(…); w.finish();
class BlockWriter {
 public:
  // Memory is asked for once if there is little text, and not at all if `out` has room for so much.
  static constexpr std::size_t text_at_once = 256;
  static constexpr std::size_t bytes_at_once(std::size_t words_max) {
    return header_bytes + words_max * 4 + text_at_once;
  }
  // Replaces what `out` holds. At most `words_max` words may be written.
  BlockWriter(ReplyBuffer& out, ReplyKind kind, std::size_t words_max);

  void flag(std::uint8_t flag) { flags_ |= flag; }
  void word(std::uint32_t value);
  void two_words(std::uint64_t value);  // aligned, with a zero word before it if need be
  void float64(double value);
  void text(std::string_view wtf8);  // its length as a word, and into the text area
  void optional_text(const std::optional<std::string>& wtf8);
  void binary(std::string_view bytes);  // its length as a word, and into the binary area
  // Into the text area only; gives its length in units. For text whose word stands elsewhere.
  std::uint32_t text_only(std::string_view wtf8);
  // The same for text that is known to be ASCII.
  void ascii(std::string_view text);
  void words(std::span<const std::uint32_t> values);
  // Room for this much more text: one growth instead of several.
  void expect_text(std::size_t bytes);
  // For at most so many words and bytes of text (block_cursor.h). What it wrote counts when it is
  // given back, and nothing else is written meanwhile.
  BlockCursor lend_cursor(std::size_t words_max, std::size_t text_max);
  void take_back(BlockCursor cursor);
  void finish();

 private:
  friend class BlockCursor;
  char* text_room(std::size_t bytes);
  std::uint32_t note_units(std::string_view wtf8);
  void append_binary(std::string_view bytes);
  void text_to_utf16();

  ReplyBuffer& out_;
  ReplyKind kind_;
  std::uint8_t flags_ = 0;
  std::size_t at_ = header_bytes;
  std::size_t text_at_;
  std::size_t text_end_;
  std::size_t text_lent_ = 0;  // where the text of the cursor that is out has to end
};

}  // namespace entitable::direct
