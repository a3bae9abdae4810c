#include "core/log/file_names.h"

namespace entitable {
namespace {

constexpr std::string_view segment_prefix = "wal-";
constexpr std::string_view part_prefix = "part-";
constexpr std::string_view hex_digits = "0123456789abcdef";
constexpr int number_digits = 16;

std::string numbered(std::string_view prefix, std::uint64_t number) {
  std::string name(prefix);
  for (int shift = 4 * (number_digits - 1); shift >= 0; shift -= 4)
    name += hex_digits[(number >> shift) & 0xF];
  return name;
}

std::optional<std::uint64_t> parse_numbered(std::string_view prefix, std::string_view name) {
  if (name.size() != prefix.size() + number_digits || name.substr(0, prefix.size()) != prefix)
    return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : name.substr(prefix.size())) {
    const std::size_t digit = hex_digits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    number = number << 4 | digit;
  }
  return number;
}

}  // namespace

std::string segment_name(std::uint64_t sequence) {
  return numbered(segment_prefix, sequence);
}
std::string part_name(PartId id) {
  return numbered(part_prefix, id);
}

std::optional<std::uint64_t> parse_segment_name(std::string_view name) {
  return parse_numbered(segment_prefix, name);
}
std::optional<PartId> parse_part_name(std::string_view name) {
  return parse_numbered(part_prefix, name);
}

}  // namespace entitable
