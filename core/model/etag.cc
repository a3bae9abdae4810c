#include "core/model/etag.h"

#include <algorithm>
#include <cstdint>

namespace entitable {
namespace {

constexpr std::string_view weak_start = "W/\"";

// W/"…" with exactly one pair of quotes: a second one would start a list.
bool is_weak_tag(std::string_view text) {
  if (text.size() <= weak_start.size() || text.back() != '"') return false;
  if (text.substr(0, weak_start.size()) != weak_start) return false;
  const std::string_view opaque =
      text.substr(weak_start.size(), text.size() - weak_start.size() - 1);
  return std::none_of(opaque.begin(), opaque.end(), [](char c) {
    const auto byte = static_cast<std::uint8_t>(c);
    return byte == '"' || byte < 0x20 || byte == 0x7F;
  });
}

}  // namespace

std::string etag_text(Ticks timestamp) {
  std::string tag = "W/\"datetime'";
  for (const char c : date_time_text(timestamp)) {
    if (c == ':') {
      tag.append("%3A");
    } else {
      tag.push_back(c);
    }
  }
  return tag.append("'\"");
}

Result<IfMatch> IfMatch::parse(std::string_view text) {
  if (text.empty()) return IfMatch();
  if (text == "*") return any();
  if (is_weak_tag(text)) return IfMatch(Kind::exact, std::string(text));
  std::string message = "The etag value '";
  message.append(text).append(
      "' specified in one of the request headers is not valid. Please make sure only one etag "
      "value "
      "is specified and is valid.");
  return Error(Code::invalid_input, std::move(message));
}

bool IfMatch::matches(Ticks timestamp) const {
  return kind_ != Kind::exact || tag_ == etag_text(timestamp);
}

}  // namespace entitable
