#include "core/filter/literal.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/base/number_text.h"

namespace entitable {
namespace {

Error unrecognized(EdmType type, std::string_view literal) {
  std::string message = "Unrecognized '";
  message.append(edm_name(type)).append("' literal '").append(literal).append("'");
  return Error(ErrorCode::invalid_input, std::move(message));
}

Error unknown_type() {
  return Error(ErrorCode::invalid_input);
}

// Returns make(*parsed) if there is a value, otherwise the error for an invalid literal.
template <typename T, typename Make>
Result<Value> value_or_unrecognized(const std::optional<T>& parsed, Make make, EdmType type,
                                    std::string_view literal) {
  if (!parsed) return unrecognized(type, literal);
  return make(*parsed);
}

// ------------------------------------------------------------------------------------------------
// Words

std::optional<double> special_double(std::string_view text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "INF" || text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-INF" || text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

bool is_literal_word(std::string_view word) {
  return word == "true" || word == "false" || word == "null" || special_double(word).has_value();
}

Result<Value> parse_word(std::string_view word) {
  if (const std::optional<double> special = special_double(word)) return Value::of_double(*special);
  if (word == "null") return unknown_type();
  return Value::of_boolean(word == "true");
}

// ------------------------------------------------------------------------------------------------
// Numbers

Result<Value> parse_number(std::string_view literal) {
  if (const std::optional<double> special = special_double(literal)) {
    return Value::of_double(*special);
  }
  const std::string_view unsuffixed = literal.substr(0, literal.size() - 1);
  switch (literal.back()) {
    case 'L':
    case 'l':
      return value_or_unrecognized(parse_int64(unsuffixed), &Value::of_int64, EdmType::int64,
                                   literal);
    case 'D':
    case 'd':
      return value_or_unrecognized(parse_double(unsuffixed), &Value::of_double, EdmType::float64,
                                   literal);
    case 'M':
    case 'm':
    case 'F':
    case 'f':
      return unknown_type();
    default:
      break;
  }
  if (literal.find_first_of(".eE") != std::string_view::npos) {
    return value_or_unrecognized(parse_double(literal), &Value::of_double, EdmType::float64,
                                 literal);
  }
  return value_or_unrecognized(parse_int32(literal), &Value::of_int32, EdmType::int32, literal);
}

// ------------------------------------------------------------------------------------------------
// Quoted literals

std::string unquoted(std::string_view literal) {
  std::string text;
  text.reserve(literal.size());
  for (std::size_t at = 1; at + 1 < literal.size(); ++at) {
    text.push_back(literal[at]);
    if (literal[at] == '\'') ++at;  // the second of two quotes
  }
  return text;
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

std::optional<std::string> parse_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t at = 0; at < text.size(); at += 2) {
    const std::optional<unsigned> high = hex_digit(text[at]);
    const std::optional<unsigned> low = hex_digit(text[at + 1]);
    if (!high || !low) return std::nullopt;
    bytes.push_back(static_cast<char>(*high * 16 + *low));
  }
  return bytes;
}

Result<Value> parse_typed(std::string_view literal) {
  const std::size_t quote = literal.find('\'');
  const std::string_view prefix = literal.substr(0, quote);
  const std::string_view content = literal.substr(quote + 1, literal.size() - quote - 2);
  if (prefix == "datetime") {
    const Result<Ticks> ticks = parse_date_time(content, {});
    if (!ticks.ok()) return unrecognized(EdmType::date_time, literal);
    return Value::of_date_time(*ticks);
  }
  if (prefix == "guid") {
    return value_or_unrecognized(parse_guid(content), &Value::of_guid, EdmType::guid, literal);
  }
  if (prefix == "X" || prefix == "x" || prefix == "binary") {
    return value_or_unrecognized(parse_hex(content), &Value::of_binary, EdmType::binary, literal);
  }
  return unknown_type();
}

// ------------------------------------------------------------------------------------------------
// Formatting

std::string quoted(std::string_view text) {
  std::string literal = "'";
  for (const char c : text) {
    if (c == '\'') literal.push_back('\'');
    literal.push_back(c);
  }
  return literal.append("'");
}

std::string binary_literal(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string literal = "X'";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    literal.push_back(digits[byte / 16]);
    literal.push_back(digits[byte % 16]);
  }
  return literal.append("'");
}

std::string double_literal(double value) {
  if (std::isinf(value)) return value < 0 ? "-INF" : "INF";
  return to_text(value);  // always with '.' or an exponent, so that the text parses as a Double
}

}  // namespace

bool is_literal(const Token& token) {
  switch (token.kind) {
    case TokenKind::number:
    case TokenKind::string:
    case TokenKind::typed_literal:
      return true;
    case TokenKind::word:
      return is_literal_word(token.text);
    case TokenKind::end:
    case TokenKind::open:
    case TokenKind::close:
    case TokenKind::comma:
    case TokenKind::minus:
    case TokenKind::invalid:
      return false;
  }
  return false;
}

Result<Value> parse_literal(const Token& token) {
  ENTITABLE_DCHECK(is_literal(token));
  if (token.kind == TokenKind::string) return Value::of_string(unquoted(token.text));
  if (token.kind == TokenKind::typed_literal) return parse_typed(token.text);
  if (token.kind == TokenKind::number) return parse_number(token.text);
  return parse_word(token.text);
}

std::string literal_text(const ValueView& value) {
  switch (value.type()) {
    case EdmType::string:
      return quoted(value.string());
    case EdmType::binary:
      return binary_literal(value.binary());
    case EdmType::boolean:
      return value.boolean() ? "true" : "false";
    case EdmType::date_time:
      return "datetime'" + value_text(value) + "'";
    case EdmType::float64:
      return double_literal(value.float64());
    case EdmType::guid:
      return "guid'" + value_text(value) + "'";
    case EdmType::int32:
      return value_text(value);
    case EdmType::int64:
      return value_text(value) + "L";
  }
  return {};
}

}  // namespace entitable
