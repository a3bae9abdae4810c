#include "core/json/writer.h"

#include <cstddef>
#include <cstdint>

#include "core/json/plain_ascii.h"

namespace entitable::json {
namespace {

constexpr char hex_digits[] = "0123456789abcdef";

// Returns whether the byte at `at` is part of a non-ASCII character that is no surrogate.
// Surrogates are the bytes ED A0 80 to ED BF BF.
bool is_unescaped_non_ascii(std::string_view text, std::size_t at) {
  const auto byte = static_cast<std::uint8_t>(text[at]);
  return byte >= 0x80 && (byte != 0xED || static_cast<std::uint8_t>(text[at + 1]) < 0xA0);
}

// Returns the position of the first byte from `at` on that must be escaped, or the end.
std::size_t find_byte_to_escape(std::string_view text, std::size_t at) {
  for (;;) {
    const std::size_t end = skip_plain_ascii(text, at);
    for (at = end; at < text.size() && is_unescaped_non_ascii(text, at);) ++at;
    if (at == end) return at;
  }
}

void append_escape(std::string& out, unsigned unit) {
  out.append("\\u");
  for (int shift = 12; shift >= 0; shift -= 4) out.push_back(hex_digits[(unit >> shift) & 15u]);
}

// Appends the escaped form of the character at `at`. Returns the number of bytes consumed.
std::size_t append_special(std::string& out, std::string_view text, std::size_t at) {
  const auto byte = static_cast<std::uint8_t>(text[at]);
  switch (byte) {
    case '"':
      out.append("\\\"");
      return 1;
    case '\\':
      out.append("\\\\");
      return 1;
    case '\n':
      out.append("\\n");
      return 1;
    case '\r':
      out.append("\\r");
      return 1;
    case '\t':
      out.append("\\t");
      return 1;
    case 0xED:
      append_escape(out, 0xD000u | (static_cast<std::uint8_t>(text[at + 1]) & 0x3Fu) << 6 |
                             (static_cast<std::uint8_t>(text[at + 2]) & 0x3Fu));
      return 3;
    default:
      append_escape(out, byte);
      return 1;
  }
}

}  // namespace

void append_string(std::string& out, std::string_view wtf8) {
  out.push_back('"');
  std::size_t at = 0;
  for (;;) {
    const std::size_t special = find_byte_to_escape(wtf8, at);
    out.append(wtf8, at, special - at);
    if (special == wtf8.size()) break;
    at = special + append_special(out, wtf8, special);
  }
  out.push_back('"');
}

void Writer::write_separator() {
  if (!first_) out_->push_back(',');
  first_ = false;
}

void Writer::begin_object() {
  write_separator();
  out_->push_back('{');
  first_ = true;
}

void Writer::end_object() {
  out_->push_back('}');
  first_ = false;
}

void Writer::begin_array() {
  write_separator();
  out_->push_back('[');
  first_ = true;
}

void Writer::end_array() {
  out_->push_back(']');
  first_ = false;
}

void Writer::name(std::string_view wtf8) {
  write_separator();
  append_string(*out_, wtf8);
  out_->push_back(':');
  first_ = true;  // the value follows without a comma
}

void Writer::raw_name(std::string_view json) {
  write_separator();
  out_->append(json);
  first_ = true;
}

void Writer::string(std::string_view wtf8) {
  write_separator();
  append_string(*out_, wtf8);
}

void Writer::raw(std::string_view json) {
  write_separator();
  out_->append(json);
}

std::string& Writer::raw() {
  write_separator();
  return *out_;
}

}  // namespace entitable::json
