#include "core/rpc/message.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/base/utf8.h"

namespace entitable::rpc {
namespace {

std::uint32_t load_u32(const char* at) {
  std::uint32_t v;
  std::memcpy(&v, at, sizeof v);
  return v;
}

void store_u32(char* at, std::uint32_t v) {
  std::memcpy(at, &v, sizeof v);
}

constexpr std::size_t retained_bytes_max = std::size_t{4} << 20;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "messages are little-endian");

// Returns how many bytes are missing to a multiple of 8.
std::size_t padding_of(std::size_t size) {
  return (8 - size % 8) % 8;
}

bool is_ascii(std::string_view text) {
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, text.data() + i, sizeof eight);
    if ((eight & 0x8080'8080'8080'8080u) != 0) return false;
  }
  for (; i < text.size(); ++i) {
    if ((static_cast<std::uint8_t>(text[i]) & 0x80) != 0) return false;
  }
  return true;
}

}  // namespace

// ---- MessageReader ------------------------------------------------------------------------------

MessageReader::MessageReader(std::string_view message, std::uint8_t known_flags)
    : message_(message) {
  ok_ = false;
  if (message.size() < header_bytes) return;
  kind_ = static_cast<std::uint8_t>(message[0]);
  const auto version = static_cast<std::uint8_t>(message[1]);
  const auto flags = static_cast<std::uint8_t>(message[2]);
  if (version != message_version || (flags & ~known_flags) != 0 || message[3] != 0) return;
  // The sum of the three lengths may need more than 32 bits.
  const std::uint64_t text_at = load_u32(message.data() + 4);
  const std::uint64_t text_bytes = load_u32(message.data() + 8);
  const std::uint64_t binary_bytes = load_u32(message.data() + 12);
  if (text_at < header_bytes || text_at % 4 != 0) return;
  if (text_at + text_bytes + binary_bytes != message.size()) return;
  at_ = header_bytes;
  words_end_ = text_at_ = static_cast<std::size_t>(text_at);
  text_end_ = binary_at_ = static_cast<std::size_t>(text_at + text_bytes);
  const std::string_view area = message.substr(text_at_, text_end_ - text_at_);
  utf16_ = (flags & flag_utf16) != 0;
  if (utf16_) {
    ok_ = area.size() % 2 == 0;
  } else {
    ascii_ = is_ascii(area);
    ok_ = ascii_ || is_wtf8(area);
  }
}

double MessageReader::float64() {
  const std::uint64_t bits = two_words();
  double v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

std::string_view MessageReader::take_last_words(std::size_t count) {
  if (!ok_ || words_left() < count) {
    fail();
    return {};
  }
  words_end_ -= count * 4;
  return message_.substr(words_end_, count * 4);
}

std::string_view MessageReader::decode_text(std::uint32_t units) {
  if (!ok_) return {};
  if (utf16_) return utf16_text(units);
  if (!ascii_) return utf8_text(units);
  fail();  // text() calls this function for ASCII only if too few bytes are left
  return {};
}

std::optional<std::string_view> MessageReader::optional_text() {
  const std::uint32_t units = word();
  if (units == none) return std::nullopt;
  return text(units);
}

std::string_view MessageReader::utf8_text(std::uint32_t units) {
  const std::string_view area = message_.substr(0, text_end_);
  const std::size_t begin = text_at_;
  const char32_t leading_surrogate = pending_low_surrogate_;
  std::uint32_t left = units;
  if (leading_surrogate != 0 && left > 0) {
    --left;
    pending_low_surrogate_ = 0;
  }
  char32_t last_half = 0;
  std::size_t end = begin;
  while (left > 0 && end < text_end_ && last_half == 0) {
    const char32_t c = next_code_point(area, end);
    if (c < 0x10000) {
      --left;
    } else if (left >= 2) {
      left -= 2;
    } else {  // the string ends inside this pair
      last_half = 0xD800 + ((c - 0x10000) >> 10);
      pending_low_surrogate_ = 0xDC00 + ((c - 0x10000) & 0x3FF);
      left = 0;
    }
  }
  text_at_ = end;
  if (left > 0) {
    fail();
    return {};
  }
  if (units == 0 || (leading_surrogate == 0 && last_half == 0))
    return area.substr(begin, end - begin);
  std::string text;
  if (leading_surrogate != 0) append_code_point(text, leading_surrogate);
  text.append(area.substr(begin, (last_half != 0 ? end - 4 : end) - begin));
  if (last_half != 0) append_code_point(text, last_half);
  return keep_converted(std::move(text));
}

std::string_view MessageReader::utf16_text(std::uint32_t units) {
  if ((text_end_ - text_at_) / 2 < units) {
    fail();
    return {};
  }
  std::u16string wide(units, u'\0');
  if (units > 0) std::memcpy(wide.data(), message_.data() + text_at_, std::size_t{units} * 2);
  text_at_ += std::size_t{units} * 2;
  return keep_converted(wtf8_from_utf16(wide));
}

// Stores a converted text and returns a view of it. Few messages have such texts, so the container
// is created on first use.
std::string_view MessageReader::keep_converted(std::string text) {
  if (converted_texts_ == nullptr) converted_texts_ = std::make_shared<std::deque<std::string>>();
  return converted_texts_->emplace_back(std::move(text));
}

std::string_view MessageReader::binary(std::uint32_t bytes) {
  if (!ok_ || message_.size() - binary_at_ < bytes) {
    fail();
    return {};
  }
  const std::string_view next = message_.substr(binary_at_, bytes);
  binary_at_ += bytes;
  return next;
}

// ---- ResponseBuffer, ResponseWriter -------------------------------------------------------------

void ResponseBuffer::Area::grow(std::size_t wanted) {
  const std::size_t grown = std::max(wanted, capacity + capacity / 2);
  std::unique_ptr<char[]> larger(new char[grown]);
  if (size > 0) std::memcpy(larger.get(), bytes.get(), size);
  bytes = std::move(larger);
  capacity = grown;
}

void ResponseBuffer::Area::clear() {
  size = 0;
  if (capacity <= retained_bytes_max) return;  // the memory of an unusually large response is freed
  bytes.reset();
  capacity = 0;
}

void ResponseBuffer::pad() {
  const std::size_t padding = padding_of(message_.size);
  if (padding == 0) return;
  message_.reserve(message_.size + padding);
  char* const header = message_.bytes.get();
  std::memset(header + message_.size, 0, padding);
  message_.size += padding;
  char* const last_area = header + (load_u32(header + 12) != 0 ? 12 : 8);
  store_u32(last_area, load_u32(last_area) + static_cast<std::uint32_t>(padding));
}

void ResponseBuffer::assign(std::string_view bytes) {
  message_.size = 0;
  message_.reserve(bytes.size());
  if (!bytes.empty()) std::memcpy(message_.bytes.get(), bytes.data(), bytes.size());
  message_.size = bytes.size();
}

ResponseWriter::ResponseWriter(ResponseBuffer& out, ResponseKind kind, std::size_t words_max)
    : out_(out), kind_(kind), text_at_(header_bytes + words_max * 4), text_end_(text_at_) {
  out_.message_.clear();
  out_.binary_.clear();
  out_.message_.reserve(initial_bytes(words_max));
  out_.message_.size = text_at_;
}

void ResponseWriter::word(std::uint32_t value) {
  ENTITABLE_CHECK(at_ + 4 <= text_at_);
  store_u32(out_.message_.bytes.get() + at_, value);
  at_ += 4;
}

void ResponseWriter::append_words(std::span<const std::uint32_t> values) {
  ENTITABLE_CHECK(at_ + values.size_bytes() <= text_at_);
  if (!values.empty())
    std::memcpy(out_.message_.bytes.get() + at_, values.data(), values.size_bytes());
  at_ += values.size_bytes();
}

void ResponseWriter::two_words(std::uint64_t value) {
  if (at_ % 8 != 0) word(0);
  word(static_cast<std::uint32_t>(value));
  word(static_cast<std::uint32_t>(value >> 32));
}

void ResponseWriter::float64(double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  two_words(bits);
}

void ResponseWriter::text(std::string_view wtf8) {
  word(text_without_length(wtf8));
}

void ResponseWriter::optional_text(const std::optional<std::string>& wtf8) {
  if (wtf8.has_value()) {
    text(*wtf8);
  } else {
    word(none);
  }
}

void ResponseWriter::binary(std::string_view bytes) {
  word(static_cast<std::uint32_t>(bytes.size()));
  append_binary(bytes);
}

void ResponseWriter::append_binary(std::string_view bytes) {
  ResponseBuffer::Area& area = out_.binary_;
  area.reserve(area.size + bytes.size());
  if (!bytes.empty()) std::memcpy(area.bytes.get() + area.size, bytes.data(), bytes.size());
  area.size += bytes.size();
}

std::uint32_t ResponseWriter::text_without_length(std::string_view wtf8) {
  char* to = allocate_text(wtf8.size());
  if (!wtf8.empty()) std::memcpy(to, wtf8.data(), wtf8.size());
  return is_ascii(wtf8) ? static_cast<std::uint32_t>(wtf8.size()) : count_non_ascii_units(wtf8);
}

// Returns the length of non-ASCII text in UTF-16 units. If the text has an unpaired surrogate,
// finish() will convert the whole text area to UTF-16.
std::uint32_t ResponseWriter::count_non_ascii_units(std::string_view wtf8) {
  if (!is_well_formed(wtf8)) flags_ |= flag_utf16;
  return static_cast<std::uint32_t>(utf16_length(wtf8));
}

void ResponseWriter::ascii(std::string_view text) {
  word(static_cast<std::uint32_t>(text.size()));
  std::memcpy(allocate_text(text.size()), text.data(), text.size());
}

void ResponseWriter::reserve_text(std::size_t bytes) {
  out_.message_.reserve(text_end_ + bytes);
}

char* ResponseWriter::allocate_text(std::size_t bytes) {
  out_.message_.reserve(text_end_ + bytes);
  char* target = out_.message_.bytes.get() + text_end_;
  text_end_ += bytes;
  out_.message_.size = text_end_;
  return target;
}

// Converts the text area to UTF-16. Each string in the area is WTF-8 on its own. A high surrogate
// at the end of a string and a low surrogate at the start of the next stay two units.
void ResponseWriter::text_to_utf16() {
  const std::string area(out_.message_.bytes.get() + text_at_, text_end_ - text_at_);
  std::u16string wide;
  wide.reserve(area.size());
  for (std::size_t at = 0; at < area.size();) {
    const char32_t c = next_code_point(area, at);
    if (c < 0x10000) {
      wide.push_back(static_cast<char16_t>(c));
    } else {
      wide.push_back(static_cast<char16_t>(0xD800 + ((c - 0x10000) >> 10)));
      wide.push_back(static_cast<char16_t>(0xDC00 + ((c - 0x10000) & 0x3FF)));
    }
  }
  text_end_ = text_at_;
  std::memcpy(allocate_text(wide.size() * 2), wide.data(), wide.size() * 2);
}

void ResponseWriter::finish() {
  if ((flags_ & flag_utf16) != 0) text_to_utf16();
  if (aligns_binary_) {
    const std::size_t padding = padding_of(text_end_);
    std::memset(allocate_text(padding), 0, padding);
  }
  const std::size_t text_bytes = text_end_ - text_at_;
  const std::size_t binary_bytes = out_.binary_.size;
  if (binary_bytes != 0) {
    std::memcpy(allocate_text(binary_bytes), out_.binary_.bytes.get(), binary_bytes);
  }
  char* header = out_.message_.bytes.get();
  header[0] = static_cast<char>(kind_);
  header[1] = static_cast<char>(message_version);
  header[2] = static_cast<char>(flags_);
  header[3] = 0;
  // Clears unused words, which may hold data of an earlier response.
  std::memset(header + at_, 0, text_at_ - at_);
  store_u32(header + 4, static_cast<std::uint32_t>(text_at_));
  store_u32(header + 8, static_cast<std::uint32_t>(text_bytes));
  store_u32(header + 12, static_cast<std::uint32_t>(binary_bytes));
}

}  // namespace entitable::rpc
