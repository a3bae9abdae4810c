#include "core/json/surrogate_placeholders.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/utf8.h"

namespace entitable::json {
namespace {

constexpr std::size_t escape_bytes = 6;  // \uXXXX
constexpr std::string_view replacement = "\xEF\xBF\xBD";
constexpr char16_t replacement_unit = 0xFFFD;

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

// Returns the unit of the escape \uXXXX at `at`, if there is one.
std::optional<char16_t> escaped_unit(std::string_view text, std::size_t at) {
  if (text.size() < at + escape_bytes || text[at] != '\\' || text[at + 1] != 'u') {
    return std::nullopt;
  }
  unsigned unit = 0;
  for (std::size_t i = at + 2; i < at + escape_bytes; ++i) {
    const std::optional<unsigned> digit = hex_digit(text[i]);
    if (!digit.has_value()) return std::nullopt;
    unit = unit * 16 + *digit;
  }
  return static_cast<char16_t>(unit);
}

bool is_high(char16_t unit) {
  return unit >= 0xD800 && unit <= 0xDBFF;
}
bool is_low(char16_t unit) {
  return unit >= 0xDC00 && unit <= 0xDFFF;
}

// Returns whether the escape of `unit` at `at` starts a surrogate pair.
bool begins_pair(std::string_view text, std::size_t at, char16_t unit) {
  if (!is_high(unit)) return false;
  const std::optional<char16_t> next = escaped_unit(text, at + escape_bytes);
  return next.has_value() && is_low(*next);
}

// A fast check. False guarantees that the text has no surrogate escape; true is inconclusive.
bool may_have_surrogate(std::string_view text) {
  for (std::size_t at = text.find('\\'); at != std::string_view::npos && at + 2 < text.size();
       at = text.find('\\', at + 2)) {
    if (text[at + 1] == 'u' && (text[at + 2] == 'd' || text[at + 2] == 'D')) return true;
  }
  return false;
}

}  // namespace

SurrogatePlaceholders::SurrogatePlaceholders(std::string_view text) : original_(text) {
  if (may_have_surrogate(text)) replace_lone_surrogates();
}

void SurrogatePlaceholders::replace_lone_surrogates() {
  std::size_t at = 0;
  while (at < original_.size()) {
    if (original_.compare(at, replacement.size(), replacement) == 0) {
      originals_.push_back(replacement_unit);
      replaced_text_.append(replacement);
      at += replacement.size();
      continue;
    }
    if (original_[at] != '\\') {
      replaced_text_.push_back(original_[at++]);
      continue;
    }
    const std::optional<char16_t> unit = escaped_unit(original_, at);
    // Escapes other than \uXXXX take two characters. Both are skipped, so that of two backslashes
    // the second is not read as the start of an escape.
    std::size_t taken = unit.has_value() ? escape_bytes : 2;
    if (unit.has_value() && begins_pair(original_, at, *unit)) taken *= 2;
    if (unit == replacement_unit) originals_.push_back(replacement_unit);
    if (unit.has_value() && taken == escape_bytes && (is_high(*unit) || is_low(*unit))) {
      found_ = true;
      originals_.push_back(*unit);
      replaced_text_.append("\\ufffd");
    } else {
      replaced_text_.append(original_.substr(at, taken));
    }
    at += taken;
  }
}

void SurrogatePlaceholders::restore(std::string& decoded) {
  if (!found_) return;
  std::size_t at = decoded.find(replacement);
  if (at == std::string::npos) return;
  std::string restored(decoded, 0, at);
  while (at < decoded.size()) {
    append_code_point(restored, originals_[restored_++]);
    at += replacement.size();
    const std::size_t next = std::min(decoded.find(replacement, at), decoded.size());
    restored.append(decoded, at, next - at);
    at = next;
  }
  decoded = std::move(restored);
}

}  // namespace entitable::json
