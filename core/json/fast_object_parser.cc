#include "core/json/fast_object_parser.h"

#include <cstddef>
#include <utility>

#include "core/base/utf8.h"
#include "core/json/plain_ascii.h"

namespace entitable::json {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Returns the character that a one-letter escape stands for, or 0 if there is no such escape.
char unescape(char letter) {
  switch (letter) {
    case '"':
    case '\\':
    case '/':
      return letter;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return 0;
  }
}

class FastObjectParser {
 public:
  FastObjectParser(std::string_view text, Object& object) : text_(text), object_(object) {}

  bool read() {
    if (!consume('{')) return false;
    if (!consume('}')) {
      do {
        if (!read_member()) return false;
      } while (consume(','));
      if (!consume('}')) return false;
    }
    skip_blanks();
    return at_ == text_.size();
  }

 private:
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_blanks() {
    while (next() == ' ' || next() == '\n' || next() == '\r' || next() == '\t') ++at_;
  }
  bool consume(char c) {
    skip_blanks();
    if (next() != c) return false;
    ++at_;
    return true;
  }
  bool consume_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  bool read_member() {
    Member member{{}, ValueKind::null, {}};
    if (!consume('"') || !read_string(member.name) || !consume(':')) return false;
    skip_blanks();
    if (!read_value(member)) return false;
    object_.members.push_back(member);
    return true;
  }

  bool read_value(Member& member) {
    switch (next()) {
      case '"':
        member.kind = ValueKind::string;
        ++at_;
        return read_string(member.text);
      case 't':
        return read_word(member, ValueKind::boolean, "true");
      case 'f':
        return read_word(member, ValueKind::boolean, "false");
      case 'n':
        return consume_word("null");
      default:
        member.kind = ValueKind::number;
        return read_number(member.text);
    }
  }

  bool read_word(Member& member, ValueKind kind, std::string_view word) {
    member.kind = kind;
    member.text = word;
    return consume_word(word);
  }

  // Reads the rest of a string after the opening quote, including the closing quote.
  bool read_string(std::string_view& out) {
    const std::size_t start = at_;
    bool ascii = true;
    for (;;) {
      at_ = skip_plain_ascii(text_, at_);
      if (static_cast<unsigned char>(next()) < 0x80) break;
      ascii = false;
      ++at_;
    }
    out = text_.substr(start, at_ - start);
    if (next() == '\\') return read_escaped(out);
    if (next() != '"') return false;
    ++at_;
    return ascii || is_utf8(out);
  }

  // Reads the rest of a string whose beginning is `plain` and which continues with an escape.
  bool read_escaped(std::string_view& plain) {
    std::string decoded(plain);
    while (next() != '"') {
      if (next() == '\\') {
        const char meant = at_ + 1 < text_.size() ? unescape(text_[at_ + 1]) : '\0';
        if (meant == '\0') return false;
        decoded.push_back(meant);
        at_ += 2;
      } else if (static_cast<unsigned char>(next()) >= 0x80) {
        decoded.push_back(text_[at_++]);
      }
      const std::size_t end = skip_plain_ascii(text_, at_);
      decoded.append(text_, at_, end - at_);
      at_ = end;
      if (static_cast<unsigned char>(next()) < 0x20)
        return false;  // a control character, or the end of the text
    }
    ++at_;
    plain = object_.keep_decoded_text(std::move(decoded));
    return is_utf8(plain);
  }

  static bool is_utf8(std::string_view text) { return is_wtf8(text) && is_well_formed(text); }

  std::size_t skip_digits() {
    const std::size_t start = at_;
    while (is_digit(next())) ++at_;
    return at_ - start;
  }

  // Accepts only numbers that cannot overflow a double, whatever their digits.
  bool read_number(std::string_view& out) {
    constexpr std::size_t bytes_max = 200;
    constexpr std::size_t exponent_digits_max = 2;
    const std::size_t start = at_;
    if (next() == '-') ++at_;
    const bool zero = next() == '0';
    const std::size_t digits = skip_digits();
    if (digits == 0 || (zero && digits > 1)) return false;
    if (next() == '.') {
      ++at_;
      if (skip_digits() == 0) return false;
    }
    if (next() == 'e' || next() == 'E') {
      ++at_;
      if (next() == '+' || next() == '-') ++at_;
      const std::size_t exponent_digits = skip_digits();
      if (exponent_digits == 0 || exponent_digits > exponent_digits_max) return false;
    }
    out = text_.substr(start, at_ - start);
    return out.size() <= bytes_max;
  }

  std::string_view text_;
  Object& object_;
  std::size_t at_ = 0;
};

}  // namespace

bool try_parse_simple_object(std::string_view text, Object& object) {
  return FastObjectParser(text, object).read();
}

}  // namespace entitable::json
