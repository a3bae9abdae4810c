#include "core/rest/multipart.h"

#include <algorithm>

namespace entitable::rest {
namespace {

constexpr std::size_t boundary_length_max = 70;  // RFC 2046

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool is_token_character(char c) {
  return is_alphanumeric(c) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_boundary_character(char c) {
  return is_alphanumeric(c) || std::string_view("'()+_,-./:=? ").find(c) != std::string_view::npos;
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
}

// Removes the next line from `rest` and returns it without its line end.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

void skip_blank_lines(std::string_view& rest) {
  for (std::string_view ahead = rest; !ahead.empty();) {
    if (!take_line(ahead).empty()) return;
    rest = ahead;
  }
}

// Removes the header lines up to a blank line, or all lines, from `rest` and returns them.
Result<std::vector<HeaderView>> take_headers(std::string_view& rest) {
  std::vector<HeaderView> headers;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line.empty()) break;
    const std::size_t colon = line.find(':');
    const std::string_view name = line.substr(0, colon);
    if (colon == std::string_view::npos || name.empty() ||
        !std::all_of(name.begin(), name.end(), is_token_character) ||
        std::any_of(line.begin(), line.end(), is_control)) {
      return Error(ErrorCode::invalid_input);
    }
    headers.push_back(HeaderView{name, without_blanks(line.substr(colon + 1))});
  }
  return headers;
}

// ---- Delimiters ---------------------------------------------------------------------------------

enum class LineKind : std::uint8_t { text, delimiter, close };

LineKind kind_of(std::string_view line, std::string_view boundary) {
  if (line.substr(0, 2) != "--" || line.substr(2, boundary.size()) != boundary) {
    return LineKind::text;
  }
  line.remove_prefix(2 + boundary.size());
  const bool close = line.substr(0, 2) == "--";
  if (close) line.remove_prefix(2);
  // An additional CR counts as padding. Otherwise a parser that ignores it would see a delimiter in
  // a body where this one sees text.
  if (line.find_first_not_of(" \t\r") != std::string_view::npos) return LineKind::text;
  return close ? LineKind::close : LineKind::delimiter;
}

struct Delimiter {
  LineKind kind;            // text: there is no further delimiter
  std::string_view before;  // the text before, without the line end that belongs to the delimiter
};

// Removes all text up to and including the next delimiter from `rest`.
Delimiter take_delimiter(std::string_view& rest, std::string_view boundary) {
  const char* begin = rest.data();
  while (!rest.empty()) {
    const char* line_begin = rest.data();
    const LineKind kind = kind_of(take_line(rest), boundary);
    if (kind == LineKind::text) continue;
    std::string_view before(begin, static_cast<std::size_t>(line_begin - begin));
    if (!before.empty()) before.remove_suffix(1);
    if (!before.empty() && before.back() == '\r') before.remove_suffix(1);
    return Delimiter{kind, before};
  }
  return Delimiter{LineKind::text, {}};
}

// Returns the value of a media type's parameter, written as ; name=value or ; name="value". Returns
// nothing if the parameter occurs twice, because another parser might use the other value.
std::optional<std::string_view> parameter(std::string_view media_type, std::string_view wanted) {
  std::optional<std::string_view> result;
  std::size_t at = media_type.find(';');
  while (at != std::string_view::npos) {
    std::string_view rest = without_blanks(media_type.substr(at + 1));
    const std::size_t equals = rest.find_first_of("=;");
    if (equals == std::string_view::npos) break;
    const std::string_view name = without_blanks(rest.substr(0, equals));
    std::string_view value = rest[equals] == '=' ? without_blanks(rest.substr(equals + 1)) : "";
    const bool quoted = !value.empty() && value.front() == '"';
    const std::size_t end = value.find(quoted ? '"' : ';', quoted ? 1 : 0);
    if (quoted && end == std::string_view::npos) return std::nullopt;
    const std::string_view found =
        without_blanks(value.substr(quoted ? 1 : 0, quoted ? end - 1 : end));
    if (equal_ignoring_case(name, wanted)) {
      if (result.has_value()) return std::nullopt;
      result = found;
    }
    const char* past = rest[equals] == ';' ? rest.data() + equals : found.data() + found.size();
    at = media_type.find(';', static_cast<std::size_t>(past - media_type.data()));
  }
  return result;
}

void append_headers(std::string& out, const std::vector<Header>& headers) {
  for (const Header& header : headers) {
    out.append(header.name).append(": ").append(header.value).append("\r\n");
  }
}

}  // namespace

// ---- Reading ------------------------------------------------------------------------------------

std::optional<std::string_view> multipart_boundary(std::string_view content_type) {
  const std::string_view type = without_blanks(content_type.substr(0, content_type.find(';')));
  if (!equal_ignoring_case(type, "multipart/mixed")) return std::nullopt;
  const std::optional<std::string_view> boundary = parameter(content_type, "boundary");
  if (!boundary.has_value() || boundary->empty() || boundary->size() > boundary_length_max ||
      boundary->back() == ' ' ||
      !std::all_of(boundary->begin(), boundary->end(), is_boundary_character)) {
    return std::nullopt;
  }
  return boundary;
}

Result<std::vector<BodyPart>> parse_multipart(std::string_view body, std::string_view boundary,
                                              std::size_t parts_max, ClosingDelimiter closing) {
  std::vector<BodyPart> parts;
  std::string_view rest = body;
  Delimiter delimiter = take_delimiter(rest, boundary);
  while (delimiter.kind == LineKind::delimiter) {
    const bool may_close = closing == ClosingDelimiter::may_lack_dashes && !parts.empty();
    if (may_close && rest.find_first_not_of("\r\n") == std::string_view::npos) return parts;
    delimiter = take_delimiter(rest, boundary);
    if (delimiter.kind == LineKind::text) break;
    std::string_view part = delimiter.before;
    Result<std::vector<HeaderView>> headers = take_headers(part);
    if (!headers.ok()) return headers.error();
    parts.push_back(BodyPart{std::move(*headers), part});
    if (parts.size() > parts_max) return parts;
  }
  if (delimiter.kind == LineKind::text) return Error(ErrorCode::invalid_input);
  return parts;
}

std::optional<std::string_view> header_of(const std::vector<HeaderView>& headers,
                                          std::string_view name) {
  for (const HeaderView& header : headers) {
    if (equal_ignoring_case(header.name, name)) return header.value;
  }
  return std::nullopt;
}

Result<Request> parse_http_part(std::string_view body) {
  skip_blank_lines(body);
  const std::string_view line = take_line(body);
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last || line.substr(last + 1, 5) != "HTTP/" ||
      std::any_of(line.begin(), line.end(), is_control)) {
    return Error(ErrorCode::invalid_input);
  }
  Request request;
  request.method = line.substr(0, first);
  request.url = without_blanks(line.substr(first + 1, last - first - 1));
  if (request.method.empty() || request.url.empty() ||
      request.url.find(' ') != std::string_view::npos ||
      !std::all_of(request.method.begin(), request.method.end(), is_token_character)) {
    return Error(ErrorCode::invalid_input);
  }
  Result<std::vector<HeaderView>> headers = take_headers(body);
  if (!headers.ok()) return headers.error();
  request.headers = std::move(*headers);
  skip_blank_lines(body);
  request.body = body;
  return request;
}

// ---- Writing ------------------------------------------------------------------------------------

void append_http_part(std::string& out, std::string_view boundary, const Response& response) {
  out.append("--").append(boundary).append(
      "\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n");
  out.append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ");
  out.append(response.reason).append("\r\n");
  append_headers(out, response.headers);
  out.append("\r\n").append(response.body).append("\r\n");
}

void begin_nested_part(std::string& out, std::string_view boundary, std::string_view nested) {
  out.append("--").append(boundary).append("\r\nContent-Type: multipart/mixed; boundary=");
  out.append(nested).append("\r\n\r\n");
}

void append_closing_delimiter(std::string& out, std::string_view boundary) {
  out.append("--").append(boundary).append("--\r\n");
}

}  // namespace entitable::rest
