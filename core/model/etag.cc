#include "core/model/etag.h"

#include <algorithm>
#include <cstdint>

namespace entitable {
namespace {

constexpr std::string_view weak_start = "W/\"";

// Returns whether the text is W/"…" with exactly one pair of quotes. More quotes would be a list of
// tags.
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

std::string_view write_etag(Ticks timestamp, EtagBuffer& buffer) {
  constexpr std::string_view start = "W/\"datetime'";
  constexpr std::string_view colon = "%3A";
  constexpr std::string_view end = "'\"";
  static_assert(start.size() + std::tuple_size_v<DateTimeBuffer> + 2 * (colon.size() - 1) +
                    end.size() <=
                std::tuple_size_v<EtagBuffer>);
  DateTimeBuffer text;
  char* to = std::copy(start.begin(), start.end(), buffer.data());
  for (const char c : write_date_time(timestamp, text)) {
    if (c == ':') {
      to = std::copy(colon.begin(), colon.end(), to);
    } else {
      *to++ = c;
    }
  }
  to = std::copy(end.begin(), end.end(), to);
  return {buffer.data(), static_cast<std::size_t>(to - buffer.data())};
}

std::string etag_text(Ticks timestamp) {
  EtagBuffer buffer;
  return std::string(write_etag(timestamp, buffer));
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
  return Error(ErrorCode::invalid_input, std::move(message));
}

bool IfMatch::matches(Ticks timestamp) const {
  if (kind_ != Kind::exact) return true;
  EtagBuffer buffer;
  return tag_ == write_etag(timestamp, buffer);
}

}  // namespace entitable
