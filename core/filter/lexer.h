// Splits a $filter text into tokens, one at a time. The lexer never fails: text that is no token
// becomes an `invalid` token, which the parser reports. The lexer does not check the content of
// literals; literal.h does.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/filter/token.h"

namespace entitable {

class Lexer {
 public:
  // REQUIRES: is_wtf8(text), and the text outlives the lexer and the tokens.
  explicit Lexer(std::string_view text) : text_(text) {}

  // Returns the next token. After the last token, every call returns a token of kind `end`. Reading
  // the whole text takes linear time.
  Token next();

  // Returns whether "(" follows the last token directly, without a blank. A word before "(" is the
  // name of a function.
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
