// Percent-encoding in URLs (RFC 3986).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace entitable::rest {

// Nothing if an escape is malformed or what it gives is not WTF-8.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space = false);

// As the service writes the keys in its addresses: letters, digits and - _ . ! ~ * ' ( ) stay, and
// what is in `also`.
void append_percent_encoded(std::string& out, std::string_view text, std::string_view also = {});

}  // namespace entitable::rest
