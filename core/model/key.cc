#include "core/model/key.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/model/limits.h"

namespace entitable {
namespace {

// The ASCII characters that are allowed in a key.
constexpr std::array<bool, 256> plain_key_bytes = [] {
  std::array<bool, 256> plain{};
  for (std::size_t byte = 0x20; byte < 0x7F; ++byte) {
    plain[byte] = byte != '/' && byte != '\\' && byte != '#' && byte != '?';
  }
  return plain;
}();

bool is_plain(std::string_view text) {
  bool plain = text.size() <= limits::key_units_max;
  for (const char c : text) plain &= plain_key_bytes[static_cast<std::uint8_t>(c)];
  return plain;
}

bool is_too_long(std::string_view text) {
  return text.size() > limits::key_units_max && utf16_length(text) > limits::key_units_max;
}

bool has_forbidden_character(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<std::uint8_t>(text[at]);
    if (byte < 0x20 || byte == 0x7F) return true;
    if (byte == '/' || byte == '\\' || byte == '#' || byte == '?') return true;
    // U+0080..U+009F are encoded as C2 80..9F, and C2 is always a lead byte.
    if (byte == 0xC2 && static_cast<std::uint8_t>(text[at + 1]) < 0xA0) return true;
  }
  return false;
}

Result<void> check_part(std::string_view name, std::string_view text) {
  if (is_too_long(text)) return Error(ErrorCode::property_value_too_large);
  if (has_forbidden_character(text)) {
    std::string message = "The '";
    message.append(name).append("' parameter of value '").append(text);
    return Error(ErrorCode::out_of_range_input, message.append("' is out of range."));
  }
  return {};
}

}  // namespace

bool is_trivially_valid_key(const KeyView& key) {
  return is_plain(key.partition) && is_plain(key.row);
}

Result<void> check_key(const KeyView& key) {
  if (is_trivially_valid_key(key)) return {};
  if (Result<void> partition = check_part("PartitionKey", key.partition); !partition.ok()) {
    return partition;
  }
  return check_part("RowKey", key.row);
}

Result<void> check_url_key(const KeyView& key) {
  if (is_trivially_valid_key(key)) return {};
  for (const std::string_view text : {key.partition, key.row}) {
    if (text.find_first_of("/\\") != std::string_view::npos) {
      return Error(ErrorCode::invalid_input, "Bad Request - Error in query syntax.");
    }
  }
  if (has_forbidden_character(key.partition) || has_forbidden_character(key.row)) {
    return Error(ErrorCode::out_of_range_input);
  }
  return {};
}

std::string successor(std::string_view text) {
  std::string next(text);
  next.push_back('\0');
  return next;
}

}  // namespace entitable
