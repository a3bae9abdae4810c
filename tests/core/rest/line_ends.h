// Line ends of bodies, which tests write with LF alone.
#pragma once

#include <string>
#include <string_view>

namespace entitable::test {

// Returns the text with CRLF for each LF.
inline std::string crlf(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') out += '\r';
    out += c;
  }
  return out;
}

}  // namespace entitable::test
