// Reads and writes the frame of an RPC message: header, words, text area and binary area
// (LAYOUT.md). Operations are encoded elsewhere.
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
// The word that replaces the length of a text that is absent.
inline constexpr std::uint32_t none = 0xFFFF'FFFF;
// The word that replaces the length of a key that is not a string.
inline constexpr std::uint32_t not_a_string = 0xFFFF'FFFE;

enum class RequestKind : std::uint8_t {
  get = 1,
  query = 2,
  explain = 3,
  list_tables = 4,
  multi_get = 5,
  query_descending = 6,
  count = 7,
  partition_keys = 8,
  open_watch = 9,
  read_watch = 10,
  close_watch = 11,
  open_feed = 12,
  close_feed = 13,
  close_listeners = 14,
  take_changes = 15,
  write = 16,
  create_table = 17,
  drop_table = 18,
  read_past = 19,
  feed_reader = 20,
};

enum class ResponseKind : std::uint8_t {
  page = 1,
  tables = 2,
  write_result = 3,
  explanation = 4,
  count = 5,
  listener = 6,
  watch_page = 7,
  changes = 8,
  past_changes = 9,
  feed_reader = 10,
  error = 15,
};

inline constexpr std::uint8_t flag_utf16 = 1;
inline constexpr std::uint8_t flag_local_failure = 2;
inline constexpr std::uint8_t flag_headers = 4;  // only in errors

// Reads a request message or an error response. Never reads past the end. After a failure, the
// reader stays failed and returns zeros and empty text, so callers check ok() once at the end.
// Returns text as WTF-8, whether the text area is UTF-8 or UTF-16.
class MessageReader {
 public:
  // Returned views are valid while both the bytes of `message` and the reader exist. The reader
  // fails if the message has flags outside `known_flags`.
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
  // The four words of one property: two that describe it, and a payload of two words.
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
  // Returns the number of unread words.
  std::size_t words_left() const { return (words_end_ - at_) / 4; }
  // Returns the bytes of the last `count` words and makes the message end before them. Used for a
  // list that comes last in the message but is needed first.
  std::string_view take_last_words(std::size_t count);

  // Returns the next string of the text area. `units`: its length in UTF-16 units.
  std::string_view text(std::uint32_t units) {
    if (!ok_ || !ascii_ || text_end_ - text_at_ < units) return decode_text(units);
    const std::string_view next(message_.data() + text_at_, units);
    text_at_ += units;
    return next;
  }
  std::string_view text() { return text(word()); }  // its length is the next word
  std::optional<std::string_view> optional_text();  // nothing if the next word is `none`
  std::string_view binary(std::uint32_t bytes);     // the next bytes of the binary area
  // Returns an owner of the strings that the reader had to convert, or null if there are none. The
  // views of these strings stay valid as long as the owner exists, even after the reader is
  // destroyed.
  std::shared_ptr<const void> converted_text_owner() const { return converted_texts_; }

 private:
  std::string_view decode_text(std::uint32_t units);
  std::string_view utf8_text(std::uint32_t units);
  std::string_view utf16_text(std::uint32_t units);
  std::string_view keep_converted(std::string text);

  std::string_view message_;
  std::uint8_t kind_ = 0;
  bool ok_ = true;
  bool utf16_ = false;
  bool ascii_ = false;  // the text area is ASCII: a length in units is a length in bytes
  std::size_t at_ = 0;
  std::size_t words_end_ = 0;
  std::size_t text_at_ = 0;
  std::size_t text_end_ = 0;
  std::size_t binary_at_ = 0;
  char32_t pending_low_surrogate_ = 0;  // starts the next text: the last text ended inside a pair
  std::shared_ptr<std::deque<std::string>> converted_texts_;
};

// A growing byte buffer for one response message. Does not clear new memory, and keeps its memory
// when it is reused.
class ResponseBuffer {
 public:
  const char* data() const { return message_.bytes.get(); }
  std::size_t size() const { return message_.size; }
  std::string_view view() const { return {data(), size()}; }
  std::string str() const { return std::string(view()); }
  void assign(std::string_view bytes);  // sets the content; for a response that is no RPC message
  // Allocates memory for a response of `bytes` bytes. The content stays.
  void reserve(std::size_t bytes) { message_.reserve(bytes); }
  // Makes the size of a finished message a multiple of 8, by zeros at its end.
  void pad();

 private:
  friend class UncheckedResponseWriter;
  friend class ResponseWriter;
  struct Area {
    std::unique_ptr<char[]> bytes;
    std::size_t capacity = 0;
    std::size_t size = 0;
    void clear();
    void reserve(std::size_t wanted) {  // keeps the first `size` bytes
      if (wanted > capacity) grow(wanted);
    }
    void grow(std::size_t wanted);
  };
  Area message_;
  Area binary_;  // the message's binary area until finish() appends it to the text
};

class UncheckedResponseWriter;

// Writes a response message. The caller passes the maximum number of words first, so that text can
// be written at its final position:
//   ResponseWriter w(out, ResponseKind::tables, 2 + names.size());
//   w.word(…); w.text(…); w.finish();
class ResponseWriter {
 public:
  // The constructor allocates space for this much text, so a response with little text needs one
  // allocation, or none if the buffer is already large enough.
  static constexpr std::size_t initial_text_bytes = 256;
  static constexpr std::size_t initial_bytes(std::size_t words_max) {
    return header_bytes + words_max * 4 + initial_text_bytes;
  }
  // Replaces the content of `out`. REQUIRES: the caller writes at most `words_max` words.
  ResponseWriter(ResponseBuffer& out, ResponseKind kind, std::size_t words_max);

  void set_flag(std::uint8_t flag) { flags_ |= flag; }
  void word(std::uint32_t value);
  void two_words(std::uint64_t value);  // aligns to 8 bytes with a zero word if necessary
  void float64(double value);
  void text(std::string_view wtf8);  // writes the length as a word and the text to the text area
  void optional_text(const std::optional<std::string>& wtf8);
  void binary(std::string_view bytes);  // writes the length as a word and the bytes to their area
  // Makes the binary area start at a multiple of 8, by zeros at the end of the text area.
  void align_binary() { aligns_binary_ = true; }
  // Writes to the text area only, and returns the length in UTF-16 units. The caller writes the
  // length itself.
  std::uint32_t text_without_length(std::string_view wtf8);
  // Same as text(), for text that is known to be ASCII.
  void ascii(std::string_view text);
  void append_words(std::span<const std::uint32_t> values);
  // Allocates memory for this much more text at once.
  void reserve_text(std::size_t bytes);
  // Returns a cursor (unchecked_response_writer.h) for at most `words_max` words and `text_max`
  // bytes of text. commit_unchecked_writer() makes its output part of the message. REQUIRES:
  // nothing else is written until then.
  UncheckedResponseWriter open_unchecked_writer(std::size_t words_max, std::size_t text_max);
  void commit_unchecked_writer(UncheckedResponseWriter cursor);
  void finish();

 private:
  friend class UncheckedResponseWriter;
  char* allocate_text(std::size_t bytes);
  std::uint32_t count_non_ascii_units(std::string_view wtf8);
  void append_binary(std::string_view bytes);
  void text_to_utf16();

  ResponseBuffer& out_;
  ResponseKind kind_;
  std::uint8_t flags_ = 0;
  bool aligns_binary_ = false;
  std::size_t at_ = header_bytes;
  std::size_t text_at_;
  std::size_t text_end_;
  std::size_t cursor_text_end_ = 0;  // the limit for the text of the open cursor
};

}  // namespace entitable::rpc
