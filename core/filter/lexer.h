// $filter text to tokens, one at a time. Never fails: what is no token becomes a bad one, and the
// parser complains where it stands. What a literal contains is not looked at (literal.h).
#pragma once

#include <cstddef>
#include <string_view>

#include "core/filter/token.h"

namespace entitable {

class Lexer {
 public:
  // REQUIRES: is_wtf8(text), and it outlives the lexer and the tokens.
  explicit Lexer(std::string_view text) : text_(text) {}

  // The next token; `end` for ever once the text is read. All calls together look at each byte a
  // bounded number of times.
  Token next();

  // Whether "(" follows directly, without a blank: a word before it is then the name of a function.
  bool is_before_parenthesis() const { return at_ < text_.size() && text_[at_] == '('; }

 private:
  bool skip_blanks();
  TokenKind scan_token();
  TokenKind scan_word();
  TokenKind scan_number();
  TokenKind scan_minus();
  TokenKind scan_string(TokenKind kind);
  void skip_digits();
  void skip_exponent();
  std::string_view word_at(std::size_t at) const;

  std::string_view text_;
  std::size_t at_ = 0;  // the first byte not read yet; always the start of a character
};

}  // namespace entitable
