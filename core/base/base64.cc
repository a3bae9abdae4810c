#include "core/base/base64.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace entitable {
namespace {

constexpr std::string_view standard_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view url_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::uint8_t not_a_digit = 64;
using Digits = std::array<std::uint8_t, 256>;

constexpr Digits digits_of(std::string_view alphabet) {
  Digits digits{};
  for (std::uint8_t& digit : digits) digit = not_a_digit;
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    digits[static_cast<std::uint8_t>(alphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return digits;
}

constexpr Digits standard_digits = digits_of(standard_alphabet);
constexpr Digits url_digits = digits_of(url_alphabet);

void append_encoded(std::string& text, std::string_view bytes, std::string_view alphabet) {
  const std::size_t before = text.size();
  text.resize(before + (bytes.size() + 2) / 3 * 4, '=');
  char* out = text.data() + before;
  const auto byte = [&](std::size_t i) {
    return i < bytes.size() ? static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[i])) : 0;
  };
  for (std::size_t at = 0; at < bytes.size(); at += 3, out += 4) {
    const std::uint32_t group = byte(at) << 16 | byte(at + 1) << 8 | byte(at + 2);
    out[0] = alphabet[group >> 18];
    out[1] = alphabet[group >> 12 & 0x3F];
    if (at + 1 < bytes.size()) out[2] = alphabet[group >> 6 & 0x3F];
    if (at + 2 < bytes.size()) out[3] = alphabet[group & 0x3F];
  }
}

std::string encode(std::string_view bytes, std::string_view alphabet) {
  std::string text;
  append_encoded(text, bytes, alphabet);
  return text;
}

std::optional<std::string> decode(std::string_view text, const Digits& digits) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && !text.empty() && text.back() == '=') {
    text.remove_suffix(1);
    ++padding;
  }
  std::string bytes;
  bytes.reserve((text.size() + padding) / 4 * 3);
  std::uint32_t group = 0;  // decoded bits that do not fill a byte yet
  int bits = 0;             // number of low bits of `group` that are pending
  for (const char c : text) {
    const std::uint8_t digit = digits[static_cast<std::uint8_t>(c)];
    if (digit == not_a_digit) return std::nullopt;
    group = group << 6 | digit;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(group >> bits)));
    }
  }
  // Pending bits must be zero, so that each value has exactly one text.
  if ((group & ((1u << bits) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  append_encoded(out, bytes, standard_alphabet);
}
std::string base64_encode(std::string_view bytes) {
  return encode(bytes, standard_alphabet);
}
std::string base64url_encode(std::string_view bytes) {
  return encode(bytes, url_alphabet);
}
std::optional<std::string> base64_decode(std::string_view text) {
  return decode(text, standard_digits);
}
std::optional<std::string> base64url_decode(std::string_view text) {
  return decode(text, url_digits);
}

}  // namespace entitable
