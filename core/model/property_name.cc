#include "core/model/property_name.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/utf8.h"
#include "core/model/limits.h"
#include "core/model/unicode_categories.h"

namespace entitable {
namespace {

constexpr bool is_ascii_start(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// The ASCII characters that a name may contain after its first character.
constexpr std::array<bool, 256> plain_name_bytes = [] {
  std::array<bool, 256> plain{};
  for (std::size_t byte = 0; byte < 0x80; ++byte) {
    const auto c = static_cast<char>(byte);
    plain[byte] = is_ascii_start(static_cast<char32_t>(byte)) || (c >= '0' && c <= '9');
  }
  return plain;
}();

// A fast check. True guarantees a valid name; false is inconclusive. True for nearly all valid
// names. REQUIRES: not empty.
bool is_plain_name(std::string_view name) {
  bool plain = is_ascii_start(static_cast<std::uint8_t>(name.front()));
  for (const char c : name) plain &= plain_name_bytes[static_cast<std::uint8_t>(c)];
  return plain;
}

}  // namespace

bool is_identifier_start(char32_t c) {
  return c < 0x80 ? is_ascii_start(c) : is_unicode_letter(c);
}

bool is_identifier_part(char32_t c) {
  if (c < 0x80) return is_ascii_start(c) || (c >= '0' && c <= '9');
  return is_unicode_letter(c) || is_unicode_name_mark(c);
}

Result<void> check_property_name(std::string_view name) {
  if (name.empty()) return Error(ErrorCode::property_name_invalid);
  // Checks the length first, so that the loop over characters is bounded.
  if (name.size() > limits::property_name_units_max &&
      utf16_length(name) > limits::property_name_units_max) {
    return Error(ErrorCode::property_name_too_long);
  }
  if (is_plain_name(name)) return {};
  std::size_t at = 0;
  if (!is_identifier_start(next_code_point(name, at)))
    return Error(ErrorCode::property_name_invalid);
  while (at < name.size()) {
    if (!is_identifier_part(next_code_point(name, at)))
      return Error(ErrorCode::property_name_invalid);
  }
  return {};
}

bool is_system_property(std::string_view name) {
  return name == "PartitionKey" || name == "RowKey" || name == "Timestamp";
}

}  // namespace entitable
