// multipart/mixed with application/http parts, as batches use it: read with every tolerance that
// clients need, written as the service writes it.
//
// What a part holds is decided by boundaries alone, in one way, so that no two readers of a batch
// can disagree about it:
//
//   - a delimiter is a whole line: "--", the boundary, perhaps "--", perhaps blanks; a boundary
//     that another one starts with is another one
//   - lines end in CRLF or LF; text before the first delimiter and after the last is ignored
//   - a body without its closing delimiter is malformed: it was cut off
//   - a header is "token: value" on one line (not folded, no blank before the colon, no control
//     characters); Content-Length and Transfer-Encoding mean nothing
#pragma once

#include <cstddef>
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

// The boundary of a "multipart/mixed; boundary=b", quoted or not; nothing if it is none, or if it
// is no boundary of RFC 2046 (1-70 of certain characters).
std::optional<std::string_view> multipart_boundary(std::string_view content_type);

// The parts in their order, the views into `body`. InvalidInput if it is malformed. Stops once it
// has found more than `parts_max`.
Result<std::vector<BodyPart>> parse_multipart(std::string_view body, std::string_view boundary,
                                              std::size_t parts_max);

// The first header of that name, of a part as of a request.
std::optional<std::string_view> header_of(const std::vector<HeaderView>& headers,
                                          std::string_view name);

// The request in the body of an application/http part: method and URL of its first line, headers,
// body. InvalidInput if it is malformed. Blank lines before the first line and before the body are
// skipped.
Result<Request> parse_http_part(std::string_view body);

// Appends an application/http part to a multipart body: delimiter, headers, the response.
void append_http_part(std::string& out, std::string_view boundary, const Response& response);
// Begins and ends the multipart/mixed part that a change set's responses stand in.
void append_nested_part(std::string& out, std::string_view boundary, std::string_view nested);
void append_closing_delimiter(std::string& out, std::string_view boundary);

}  // namespace entitable::rest
