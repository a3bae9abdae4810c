#include "core/protocol/http.h"

#include <algorithm>

namespace entitable::protocol {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(" \t") - start + 1);
}

}  // namespace

std::optional<std::string_view> header(const Request& request, std::string_view name) {
  for (const HeaderView& header : request.headers) {
    if (equal_ignoring_case(header.name, name)) return without_blanks(header.value);
  }
  return std::nullopt;
}

std::size_t count_headers(const Request& request, std::string_view name) {
  return static_cast<std::size_t>(std::count_if(
      request.headers.begin(), request.headers.end(),
      [&](const HeaderView& header) { return equal_ignoring_case(header.name, name); }));
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace entitable::protocol
