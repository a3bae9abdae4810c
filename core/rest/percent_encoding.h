// Percent-encoding in URLs (RFC 3986).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace entitable::rest {

// Decodes every %XX escape, and '+' to a space if `plus_is_space`. Returns nothing if an escape is
// malformed or the result is not WTF-8 (core/base/utf8.h).
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space = false);

// Encodes as the service encodes keys in URLs: ASCII letters, digits, - _ . ! ~ * ' ( ) and the
// characters in `also` are not encoded.
void append_percent_encoded(std::string& out, std::string_view text, std::string_view also = {});

}  // namespace entitable::rest
