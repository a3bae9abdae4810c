// The pieces of a $filter text, as the lexer cuts it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace entitable {

enum class TokenKind : std::uint8_t {
  end,            // of the text; its token is empty
  word,           // an identifier: property, operator, keyword or function
  number,         // 5, -2.5e3, 3L, -INF: sign, digits and suffix in one
  string,         // 'text' with its quotes; '' inside is one quote
  typed_literal,  // a literal with a prefix: datetime'2008-07-10', X'0a1b'
  open,           // (
  close,          // )
  comma,          // ,
  minus,          // a sign that belongs to no number
  invalid,        // one character that starts no token, or a string without its end
};

struct Token {
  TokenKind kind = TokenKind::end;
  bool follows_blank = false;  // blanks stand before it
  std::string_view text;       // looks into the filter
  std::size_t end = 0;         // offset just past it, in bytes of the filter
};

}  // namespace entitable
