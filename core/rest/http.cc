#include "core/rest/http.h"

#include <algorithm>

namespace entitable::rest {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string_view without_blanks(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::string_view> find_header(const Request& request, std::string_view name) {
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

bool equal_ignoring_case_slow(std::string_view a, std::string_view b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

}  // namespace entitable::rest
