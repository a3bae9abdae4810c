#include "core/model/guid.h"

#include <cstddef>

namespace entitable {
namespace {

constexpr std::size_t text_size = 36;

bool has_hyphen_before_byte(std::size_t byte) {
  return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<Guid> parse_guid(std::string_view text) {
  if (text.size() != text_size) return std::nullopt;
  Guid guid{};
  std::size_t at = 0;
  for (std::size_t byte = 0; byte < guid.size(); ++byte, at += 2) {
    if (has_hyphen_before_byte(byte) && text[at++] != '-') return std::nullopt;
    const int high = hex_digit(text[at]);
    const int low = hex_digit(text[at + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    guid[byte] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return guid;
}

std::string guid_text(const Guid& guid) {
  std::string text;
  text.reserve(text_size);
  for (std::size_t byte = 0; byte < guid.size(); ++byte) {
    if (has_hyphen_before_byte(byte)) text.push_back('-');
    text.push_back("0123456789abcdef"[guid[byte] >> 4]);
    text.push_back("0123456789abcdef"[guid[byte] & 0xF]);
  }
  return text;
}

}  // namespace entitable
