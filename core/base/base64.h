// Binary as text: standard base64 (RFC 4648 §4, padded) and the URL-safe alphabet (§5).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace entitable {

std::string base64_encode(std::string_view bytes);
void append_base64(std::string& out, std::string_view bytes);
// Standard alphabet, padding required, unused bits zero; nothing otherwise.
std::optional<std::string> base64_decode(std::string_view text);

// URL-safe alphabet with '=' for padding.
std::string base64url_encode(std::string_view bytes);
std::optional<std::string> base64url_decode(std::string_view text);

}  // namespace entitable
