// Splits a $filter text into tokens, one at a time. The lexer never fails: text that is no token
// becomes an `invalid` token, which the parser reports. The content of literals is checked in
// literal.h.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/filter/token.h"

namespace entitable {

class Lexer {
 public:
  // REQUIRES: is_wtf8(text), and the text outlives the lexer and the tokens.
  explicit Lexer(std::string_view text) : text_(text) {}

  // Returns the next token, and `end` each time after the last one. Reading the whole text takes
  // linear time.
  Token next();

  // Whether "(" follows directly, without a blank: a word before "(" is the name of a function.
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
  std::size_t at_ = 0;  // the first unread byte; always the start of a character
};

}  // namespace entitable
