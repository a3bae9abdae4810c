#include "core/filter/lexer.h"

#include "core/base/utf8.h"
#include "core/model/property_name.h"

namespace entitable {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Returns whether the word is a prefix of OData's quoted literals. Includes the prefixes of types
// that no property can have: their literals have another error than an arbitrary word before a
// string.
bool is_literal_prefix(std::string_view word) {
  for (const std::string_view prefix : {"datetime", "guid", "X", "x", "binary", "time",
                                        "datetimeoffset", "duration", "geography", "geometry"}) {
    if (word == prefix) return true;
  }
  return false;
}

bool is_number_suffix(std::string_view word) {
  return word.size() == 1 && std::string_view("LlDdMmFf").find(word[0]) != std::string_view::npos;
}

}  // namespace

Token Lexer::next() {
  Token token;
  token.follows_blank = skip_blanks();
  const std::size_t start = at_;
  token.kind = scan_token();
  token.text = text_.substr(start, at_ - start);
  token.end = at_;
  return token;
}

bool Lexer::skip_blanks() {
  const std::size_t start = at_;
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  return at_ != start;
}

TokenKind Lexer::scan_token() {
  if (at_ == text_.size()) return TokenKind::end;
  const char first = text_[at_];
  if (is_digit(first)) return scan_number();
  switch (first) {
    case '(':
      return ++at_, TokenKind::open;
    case ')':
      return ++at_, TokenKind::close;
    case ',':
      return ++at_, TokenKind::comma;
    case '-':
      return scan_minus();
    case '\'':
      return scan_string(TokenKind::string);
    default:
      return scan_word();
  }
}

TokenKind Lexer::scan_word() {
  const std::string_view word = word_at(at_);
  if (word.empty()) {
    next_code_point(text_, at_);
    return TokenKind::invalid;
  }
  at_ += word.size();
  const bool quoted = at_ < text_.size() && text_[at_] == '\'';
  return quoted && is_literal_prefix(word) ? scan_string(TokenKind::typed_literal)
                                           : TokenKind::word;
}

// Returns the identifier that starts at `at`; empty if there is none.
std::string_view Lexer::word_at(std::size_t at) const {
  std::size_t end = at;
  while (end < text_.size()) {
    std::size_t next = end;
    const char32_t c = next_code_point(text_, next);
    if (end == at ? !is_identifier_start(c) : !is_identifier_part(c)) break;
    end = next;
  }
  return text_.substr(at, end - at);
}

// Scans digits [. digits] [e [+|-] digits] [suffix]. A letter that is no suffix starts the next
// token.
TokenKind Lexer::scan_number() {
  skip_digits();
  if (at_ + 1 < text_.size() && text_[at_] == '.' && is_digit(text_[at_ + 1])) {
    ++at_;
    skip_digits();
  }
  skip_exponent();
  if (is_number_suffix(word_at(at_))) ++at_;
  return TokenKind::number;
}

void Lexer::skip_digits() {
  while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
}

void Lexer::skip_exponent() {
  std::size_t digits = at_;
  if (digits == text_.size() || (text_[digits] != 'e' && text_[digits] != 'E')) return;
  ++digits;
  if (digits < text_.size() && (text_[digits] == '+' || text_[digits] == '-')) ++digits;
  if (digits == text_.size() || !is_digit(text_[digits])) return;
  at_ = digits;
  skip_digits();
}

TokenKind Lexer::scan_minus() {
  ++at_;
  if (at_ < text_.size() && is_digit(text_[at_])) return scan_number();
  const std::string_view word = word_at(at_);
  if (word != "INF" && word != "Infinity") return TokenKind::minus;
  at_ += word.size();
  return TokenKind::number;
}

// Scans a quoted text from its opening quote; a prefix is already consumed.
TokenKind Lexer::scan_string(TokenKind kind) {
  ++at_;
  while (at_ < text_.size()) {
    if (text_[at_++] != '\'') continue;
    if (at_ == text_.size() || text_[at_] != '\'') return kind;
    ++at_;
  }
  return TokenKind::invalid;
}

}  // namespace entitable
