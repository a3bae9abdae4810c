#include "core/rest/percent_encoding.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/utf8.h"

namespace entitable::rest {
namespace {

constexpr std::string_view digits = "0123456789ABCDEF";
constexpr std::string_view unreserved = "-_.!~*'()";

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

constexpr bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// For each byte: whether it is written without encoding.
constexpr auto stays = [] {
  std::array<bool, 256> table{};
  for (std::size_t byte = 0; byte < 0x80; ++byte) {
    const char c = static_cast<char>(byte);
    table[byte] = is_letter_or_digit(c) || unreserved.find(c) != std::string_view::npos;
  }
  return table;
}();

}  // namespace

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  if (!plus_is_space && text.find('%') == std::string_view::npos) {
    return is_wtf8(text) ? std::optional<std::string>(text) : std::nullopt;
  }
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '+' && plus_is_space) {
      out.push_back(' ');
      continue;
    }
    if (text[at] != '%') {
      out.push_back(text[at]);
      continue;
    }
    if (text.size() < at + 3) return std::nullopt;
    const std::optional<unsigned> high = hex_digit(text[at + 1]);
    const std::optional<unsigned> low = hex_digit(text[at + 2]);
    if (!high.has_value() || !low.has_value()) return std::nullopt;
    out.push_back(static_cast<char>(static_cast<std::uint8_t>(*high * 16 + *low)));
    at += 2;
  }
  if (!is_wtf8(out)) return std::nullopt;
  return out;
}

void append_percent_encoded(std::string& out, std::string_view text, std::string_view also) {
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (stays[byte] || also.find(c) != std::string_view::npos) {
      out.push_back(c);
      continue;
    }
    out.push_back('%');
    out.push_back(digits[byte >> 4]);
    out.push_back(digits[byte & 15]);
  }
}

}  // namespace entitable::rest
