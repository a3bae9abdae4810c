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

namespace entitable::rpc {

inline constexpr std::uint8_t message_version = 1;
inline constexpr std::size_t header_bytes = 16;
inline constexpr std::uint32_t none = 0xFFFF'FFFF;  // instead of a length: there is no text
inline constexpr std::uint32_t not_a_string =
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

enum class ResponseKind : std::uint8_t {
  page = 1,
  tables = 2,
  write_result = 3,
  explanation = 4,
  error = 15,
};

inline constexpr std::uint8_t flag_utf16 = 1;
inline constexpr std::uint8_t flag_local_failure = 2;
inline constexpr std::uint8_t flag_headers = 4;  // of an error

// Reads a request block, or an error among the replies. Never past the end: a reader that has
// failed stays failed, gives zeros and empty text, and is asked once at the end (ok()). Text is
// always WTF-8, whatever the area holds.
class MessageReader {
 public:
  // The views it gives are valid as long as both `block` and the reader. It has failed if the block
  // has other flags than `known_flags`.
  explicit MessageReader(std::string_view message, std::uint8_t known_flags = flag_utf16);

  std::uint8_t kind() const { return kind_; }
  bool ok() const { return ok_; }
  void fail() { ok_ = false; }

  std::uint32_t word() {
    if (!ok_ || words_end_ - at_ < 4) {
      fail();
      return 0;
    }
    std::uint32_t value;
    std::memcpy(&value, message_.data() + at_, sizeof value);
    at_ += 4;
    return value;
  }
  std::uint64_t two_words() {
    if (at_ % 8 != 0) word();
    const std::uint64_t low = word();
    return low | (static_cast<std::uint64_t>(word()) << 32);
  }
  // Two words, and a payload of two words: what a property takes.
  struct PropertyRecord {
    std::uint32_t name_index = 0;
    std::uint32_t type_and_form = 0;
    std::uint64_t payload = 0;
  };
  PropertyRecord property_record() {
    PropertyRecord record;
    if (ok_ && at_ % 8 == 0 && words_end_ - at_ >= sizeof record) {
      std::memcpy(&record, message_.data() + at_, sizeof record);
      at_ += sizeof record;
      return record;
    }
    record.name_index = word();
    record.type_and_form = word();
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
    if (!ok_ || !ascii_ || text_end_ - text_at_ < units) return decode_text(units);
    const std::string_view piece(message_.data() + text_at_, units);
    text_at_ += units;
    return piece;
  }
  std::string_view text() { return text(word()); }  // its length is the next word
  std::optional<std::string_view> optional_text();  // nothing if the next word is `none`
  std::string_view binary(std::uint32_t bytes);     // the next bytes of the binary area
  // What text looks at that does not stand in the block as it is: for whoever uses it after the
  // reader is gone. Null: there is none.
  std::shared_ptr<const void> converted_texts() const { return converted_texts_; }

 private:
  std::string_view decode_text(std::uint32_t units);
  std::string_view utf8_text(std::uint32_t units);
  std::string_view utf16_text(std::uint32_t units);
  std::string_view keep_converted(std::string text);

  std::string_view message_;
  std::uint8_t kind_ = 0;
  bool ok_ = true;
  bool utf16_ = false;
  bool ascii_ = false;  // text positions are bytes: nothing to count
  std::size_t at_ = 0;
  std::size_t words_end_ = 0;
  std::size_t text_at_ = 0;
  std::size_t text_end_ = 0;
  std::size_t binary_at_ = 0;
  char32_t pending_low_surrogate_ = 0;  // the second half of a pair that the last string ended in
  std::shared_ptr<std::deque<std::string>> converted_texts_;
};

// A growing byte buffer that is not cleared when it grows, and keeps its memory when it is used
// again.
class ResponseBuffer {
 public:
  const char* data() const { return message_.bytes.get(); }
  std::size_t size() const { return message_.size; }
  std::string_view view() const { return {data(), size()}; }
  std::string str() const { return std::string(view()); }
  void assign(std::string_view bytes);  // for a reply that another door wrote
  // A reply of at most so many bytes then needs no more memory. What there is survives.
  void reserve(std::size_t bytes) { message_.reserve(bytes); }

 private:
  friend class ResponseCursor;
  friend class ResponseWriter;
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
  Area message_;
  Area binary_;  // of the block that is being written, until the end of its text is known
};

class ResponseCursor;

// Writes a reply block. The number of words is bounded first, so that text is written to its place
// at once:
//   ResponseWriter w(out, ResponseKind::tables, 2 + names.size());
//   w.word(…); w.text(…); w.finish();
class ResponseWriter {
 public:
  // Memory is asked for once if there is little text, and not at all if `out` has room for so much.
  static constexpr std::size_t initial_text_bytes = 256;
  static constexpr std::size_t initial_bytes(std::size_t words_max) {
    return header_bytes + words_max * 4 + initial_text_bytes;
  }
  // Replaces what `out` holds. At most `words_max` words may be written.
  ResponseWriter(ResponseBuffer& out, ResponseKind kind, std::size_t words_max);

  void set_flag(std::uint8_t flag) { flags_ |= flag; }
  void word(std::uint32_t value);
  void two_words(std::uint64_t value);  // aligned, with a zero word before it if need be
  void float64(double value);
  void text(std::string_view wtf8);  // its length as a word, and into the text area
  void optional_text(const std::optional<std::string>& wtf8);
  void binary(std::string_view bytes);  // its length as a word, and into the binary area
  // Into the text area only; gives its length in units. For text whose word stands elsewhere.
  std::uint32_t append_text(std::string_view wtf8);
  // The same for text that is known to be ASCII.
  void ascii(std::string_view text);
  void words(std::span<const std::uint32_t> values);
  // Room for this much more text: one growth instead of several.
  void reserve_text(std::size_t bytes);
  // For at most so many words and bytes of text (response_cursor.h). What it wrote counts when it
  // is given back, and nothing else is written meanwhile.
  ResponseCursor open_cursor(std::size_t words_max, std::size_t text_max);
  void commit_cursor(ResponseCursor cursor);
  void finish();

 private:
  friend class ResponseCursor;
  char* allocate_text(std::size_t bytes);
  std::uint32_t count_non_ascii_units(std::string_view wtf8);
  void append_binary(std::string_view bytes);
  void text_to_utf16();

  ResponseBuffer& out_;
  ResponseKind kind_;
  std::uint8_t flags_ = 0;
  std::size_t at_ = header_bytes;
  std::size_t text_at_;
  std::size_t text_end_;
  std::size_t cursor_text_end_ = 0;  // where the text of the cursor that is out has to end
};

}  // namespace entitable::rpc
