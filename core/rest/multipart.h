// The format of batches: multipart/mixed with parts of type application/http. The parser is as
// tolerant as clients need. The writer produces what the service produces.
//
// Only delimiter lines separate parts, so that two parsers of a batch cannot disagree about its
// operations:
//
//   - A delimiter is a whole line: "--", the boundary, optionally "--", optionally blanks. A line
//     with further characters after the boundary is not a delimiter.
//   - Lines end in CRLF or LF. Text before the first and after the closing delimiter is ignored.
//   - A body without its closing delimiter is malformed, because it may be truncated. A batch's
//     closing delimiter may lack its final "--": a body that ends there is not truncated inside the
//     batch's only part.
//   - A header is "token: value" on one line: not folded, without a blank before the colon, without
//     control characters. Content-Length and Transfer-Encoding are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/rest/http.h"

namespace entitable::rest {

struct BodyPart {
  std::vector<HeaderView> headers;
  std::string_view body;
};

// Returns the boundary of a Content-Type "multipart/mixed; boundary=b", where b may be in quotes.
// Returns nothing for another type, or if the boundary is missing, repeated or invalid (RFC 2046: 1
// to 70 of certain characters).
std::optional<std::string_view> multipart_boundary(std::string_view content_type);

enum class ClosingDelimiter : std::uint8_t {
  strict,
  may_lack_dashes,  // a delimiter that only blank lines follow closes the body too
};

// Returns the parts in order, as views into `body`. Stops after `parts_max` + 1 parts, so that the
// caller can detect too many. InvalidInput: the body is malformed.
Result<std::vector<BodyPart>> parse_multipart(std::string_view body, std::string_view boundary,
                                              std::size_t parts_max,
                                              ClosingDelimiter closing = ClosingDelimiter::strict);

// Returns the value of the first header of that name. Case of the name does not matter.
std::optional<std::string_view> header_of(const std::vector<HeaderView>& headers,
                                          std::string_view name);

// Parses the request in the body of an application/http part. Skips blank lines before the request
// line and before the request's body. InvalidInput: the request is malformed.
Result<Request> parse_http_part(std::string_view body);

// Appends an application/http part to a multipart body: delimiter, headers, the response.
void append_http_part(std::string& out, std::string_view boundary, const Response& response);
// Begins a part that is itself multipart/mixed with the boundary `nested`. It holds a change set's
// responses; append_closing_delimiter(out, nested) ends it.
void begin_nested_part(std::string& out, std::string_view boundary, std::string_view nested);
// Appends the delimiter after the last part.
void append_closing_delimiter(std::string& out, std::string_view boundary);

}  // namespace entitable::rest
