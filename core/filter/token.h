// The tokens of a $filter text, as the lexer returns them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace entitable {

enum class TokenKind : std::uint8_t {
  end,            // the end of the text; the token's text is empty
  word,           // an identifier: property, operator, keyword or function
  number,         // 5, -2.5e3, 3L, -INF: with sign and suffix
  string,         // 'text' with its quotes; '' inside is an escaped quote
  typed_literal,  // a literal with a prefix: datetime'2008-07-10', X'0a1b'
  open,           // (
  close,          // )
  comma,          // ,
  minus,          // a minus sign that is not part of a number
  invalid,        // a character that starts no token, or a string that does not end
};

struct Token {
  TokenKind kind = TokenKind::end;
  bool follows_blank = false;  // blanks precede the token
  std::string_view text;       // refers to the filter's text
  std::size_t end = 0;         // offset just past the token, in bytes of the filter
};

}  // namespace entitable
