// Converts between bytes and base64 text (RFC 4648): the standard padded alphabet (section 4) and
// the URL-safe alphabet (section 5).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace entitable {

std::string base64_encode(std::string_view bytes);
void append_base64(std::string& out, std::string_view bytes);
// Decodes the standard alphabet. Returns nothing unless padding is present and unused bits are
// zero.
std::optional<std::string> base64_decode(std::string_view text);

// Encodes in the URL-safe alphabet, padded with '='.
std::string base64url_encode(std::string_view bytes);
std::optional<std::string> base64url_decode(std::string_view text);

}  // namespace entitable
