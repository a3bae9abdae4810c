// An operator-precedence parser with two stacks: operands, and operators that still wait for their
// right side. Reducing an operator appends its node, so nodes are in post-order.
#include "core/filter/parser.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/utf8.h"
#include "core/filter/lexer.h"
#include "core/filter/literal.h"
#include "core/model/limits.h"

namespace entitable {
namespace {

// How tightly an operator binds, from weakest to strongest. `group` and `call` are the "(" of a
// group and of a function; they stay on the stack until their ")".
enum class Precedence : std::uint8_t {
  group,
  call,
  any_of,
  all_of,
  comparison,
  sum,
  product,
  sign,
  negation,
};

struct Operator {
  Precedence precedence;
  CompareOp op = CompareOp::eq;  // comparison
};

bool increases_depth(Precedence precedence) {
  return precedence == Precedence::group || precedence == Precedence::call ||
         precedence == Precedence::sign || precedence == Precedence::negation;
}

// Returns the binary operator that the token is, or nothing if it is none.
std::optional<Operator> infix_operator(const Token& token) {
  struct Entry {
    std::string_view word;
    Operator infix;
  };
  static constexpr Entry entries[] = {
      {"or", {Precedence::any_of}},
      {"and", {Precedence::all_of}},
      {"eq", {Precedence::comparison, CompareOp::eq}},
      {"ne", {Precedence::comparison, CompareOp::ne}},
      {"gt", {Precedence::comparison, CompareOp::gt}},
      {"ge", {Precedence::comparison, CompareOp::ge}},
      {"lt", {Precedence::comparison, CompareOp::lt}},
      {"le", {Precedence::comparison, CompareOp::le}},
      {"add", {Precedence::sum}},
      {"sub", {Precedence::sum}},
      {"mul", {Precedence::product}},
      {"div", {Precedence::product}},
      {"mod", {Precedence::product}},
  };
  if (token.kind != TokenKind::word) return std::nullopt;
  for (const Entry& entry : entries) {
    if (token.text == entry.word) return entry.infix;
  }
  return std::nullopt;
}

struct Operand {
  enum class Kind : std::uint8_t {
    property,     // becomes a flag or one side of a comparison
    literal,      // becomes a constant or one side of a comparison
    condition,    // a node; the newest one unless it is the left side of a waiting `and` or `or`
    unsupported,  // legal but not supported: arithmetic, a function, some comparisons
  };
  Kind kind;
  std::uint32_t node = 0;                    // condition
  std::string_view property = {};            // property
  Value literal = Value::of_boolean(false);  // literal
};

class Parser {
 public:
  // REQUIRES: is_wtf8(text).
  explicit Parser(std::string_view text) : text_(text), lexer_(text) {
    constexpr std::size_t usual = 8;  // enough for most filters; growing would dominate the time
    operators_.reserve(usual);
    operands_.reserve(usual);
    filter_.nodes.reserve(usual);
  }
  Result<Filter> parse();

 private:
  // Consume token_ as an operand or as an operator, and set expects_operand_ for the next token.
  Result<void> parse_operand();
  Result<void> parse_operator();

  Result<void> parse_literal_operand();
  Result<void> parse_function();
  Result<void> parse_infix(const Operator& infix);
  Result<void> parse_close();
  Result<void> parse_comma();
  Result<void> finish();

  Result<void> push_operator(const Operator& waiting);
  void push_operand(Operand operand);
  void push_condition(FilterNode node);
  Operand pop_operand();
  std::uint32_t pop_condition();

  void reduce_above(Precedence precedence);  // reduces all operators that bind more tightly
  void reduce();
  void reduce_comparison(CompareOp op);
  Operand unsupported();
  bool is_top_operator(Precedence precedence) const {
    return !operators_.empty() && operators_.back().precedence == precedence;
  }
  Error syntax_error() const;

  std::string_view text_;
  Lexer lexer_;
  Token token_;
  TokenKind previous_ = TokenKind::open;  // as if the text were in parentheses
  bool expects_operand_ = true;
  bool implemented_ = true;  // false: the text is legal so far but not supported
  std::size_t depth_ = 0;    // of open operators that nest
  std::vector<Operator> operators_;
  std::vector<Operand> operands_;
  Filter filter_;
};

bool is_parenthesis_like(TokenKind kind) {
  return kind == TokenKind::open || kind == TokenKind::close || kind == TokenKind::comma;
}

// Blanks must separate two tokens, except next to a parenthesis or comma and after a sign.
bool lacks_separator(TokenKind previous, const Token& token) {
  return !token.follows_blank && token.kind != TokenKind::end && !is_parenthesis_like(token.kind) &&
         !is_parenthesis_like(previous) && previous != TokenKind::minus;
}

// ------------------------------------------------------------------------------------------------
// Parsing

Result<Filter> Parser::parse() {
  token_ = lexer_.next();
  while (token_.kind != TokenKind::end) {
    if (lacks_separator(previous_, token_)) return syntax_error();
    const Result<void> parsed = expects_operand_ ? parse_operand() : parse_operator();
    if (!parsed.ok()) return parsed.error();
    previous_ = token_.kind;
    token_ = lexer_.next();
  }
  const Result<void> finished = finish();
  if (!finished.ok()) return finished.error();
  if (!implemented_) return Error(ErrorCode::not_implemented);
  return std::move(filter_);
}

Result<void> Parser::parse_operand() {
  if (token_.kind == TokenKind::open) return push_operator({Precedence::group});
  if (token_.kind == TokenKind::minus) return push_operator({Precedence::sign});
  if (token_.text == "not") return push_operator({Precedence::negation});
  if (is_literal(token_)) return parse_literal_operand();
  if (token_.kind != TokenKind::word) return syntax_error();
  if (lexer_.is_before_parenthesis()) {
    if (infix_operator(token_)) return syntax_error();  // `or (` without a left operand
    return parse_function();
  }
  push_operand({.kind = Operand::Kind::property, .property = token_.text});
  return {};
}

Result<void> Parser::parse_literal_operand() {
  Result<Value> value = parse_literal(token_);
  if (!value.ok()) return value.error();
  push_operand({.kind = Operand::Kind::literal, .literal = std::move(*value)});
  return {};
}

// REQUIRES: token_ is the name of a function, and "(" follows.
Result<void> Parser::parse_function() {
  token_ = lexer_.next();
  Result<void> pushed = push_operator({Precedence::call});
  if (!pushed.ok()) return pushed;
  Lexer ahead = lexer_;
  if (ahead.next().kind == TokenKind::close) push_operand(unsupported());  // no arguments
  return {};
}

Result<void> Parser::parse_operator() {
  if (token_.kind == TokenKind::close) return parse_close();
  if (token_.kind == TokenKind::comma) return parse_comma();
  if (const std::optional<Operator> infix = infix_operator(token_)) return parse_infix(*infix);
  return syntax_error();
}

Result<void> Parser::parse_infix(const Operator& infix) {
  reduce_above(infix.precedence);
  if (is_top_operator(infix.precedence)) {
    if (infix.precedence == Precedence::comparison) return syntax_error();  // a eq 1 eq 2
    reduce();                                                               // left-associative
  }
  if (infix.precedence == Precedence::any_of || infix.precedence == Precedence::all_of) {
    // Creates the left side's node now, so that its nodes come before those of the right side.
    const std::uint32_t left = pop_condition();
    push_operand({.kind = Operand::Kind::condition, .node = left});
  }
  return push_operator(infix);
}

Result<void> Parser::parse_close() {
  reduce_above(Precedence::call);
  if (operators_.empty()) return syntax_error();
  if (is_top_operator(Precedence::call)) {
    pop_operand();
    push_operand(unsupported());
  }
  operators_.pop_back();
  --depth_;
  return {};
}

// Parses a comma between the arguments of a function.
Result<void> Parser::parse_comma() {
  reduce_above(Precedence::call);
  if (!is_top_operator(Precedence::call)) return syntax_error();
  pop_operand();
  expects_operand_ = true;
  return {};
}

// Checks and reduces what remains at the end of the text.
Result<void> Parser::finish() {
  if (previous_ == TokenKind::open && operators_.empty()) return {};  // a blank text
  if (expects_operand_) return syntax_error();
  reduce_above(Precedence::call);
  if (!operators_.empty()) return syntax_error();
  pop_condition();
  return {};
}

// ------------------------------------------------------------------------------------------------
// The stacks

Result<void> Parser::push_operator(const Operator& waiting) {
  if (increases_depth(waiting.precedence) && ++depth_ > limits::filter_depth_max) {
    return Error(ErrorCode::invalid_input);
  }
  operators_.push_back(waiting);
  expects_operand_ = true;
  return {};
}

void Parser::push_operand(Operand operand) {
  operands_.push_back(std::move(operand));
  expects_operand_ = false;
}

void Parser::push_condition(FilterNode node) {
  filter_.nodes.push_back(std::move(node));
  const auto newest = static_cast<std::uint32_t>(filter_.nodes.size() - 1);
  push_operand({.kind = Operand::Kind::condition, .node = newest});
}

Operand Parser::pop_operand() {
  ENTITABLE_CHECK(!operands_.empty());
  Operand operand = std::move(operands_.back());
  operands_.pop_back();
  return operand;
}

// Pops the top operand as a condition and returns its node.
std::uint32_t Parser::pop_condition() {
  Operand operand = pop_operand();
  switch (operand.kind) {
    case Operand::Kind::condition:
      return operand.node;
    case Operand::Kind::property:
      push_condition({.kind = FilterKind::flag, .property = std::string(operand.property)});
      break;
    case Operand::Kind::literal:
      if (operand.literal.type() != EdmType::boolean) implemented_ = false;
      push_condition({.kind = FilterKind::constant, .literal = std::move(operand.literal)});
      break;
    case Operand::Kind::unsupported:
      push_condition({.kind = FilterKind::constant});  // a placeholder: the tree is not used
      break;
  }
  return pop_operand().node;
}

void Parser::reduce_above(Precedence precedence) {
  while (!operators_.empty() && operators_.back().precedence > precedence) reduce();
}

// Pops the top operator and replaces its operands, which are complete, by the result.
void Parser::reduce() {
  const Operator last = operators_.back();
  operators_.pop_back();
  if (increases_depth(last.precedence)) --depth_;
  switch (last.precedence) {
    case Precedence::any_of:
    case Precedence::all_of: {
      const std::uint32_t right = pop_condition();
      const std::uint32_t left = pop_condition();
      const FilterKind kind =
          last.precedence == Precedence::any_of ? FilterKind::any_of : FilterKind::all_of;
      return push_condition({.kind = kind, .left = left, .right = right});
    }
    case Precedence::negation:
      return push_condition({.kind = FilterKind::negation, .left = pop_condition()});
    case Precedence::comparison:
      return reduce_comparison(last.op);
    case Precedence::sum:
    case Precedence::product:
      pop_operand();
      [[fallthrough]];
    case Precedence::sign:
      pop_operand();
      return push_operand(unsupported());
    case Precedence::group:
    case Precedence::call:
      break;
  }
  ENTITABLE_CHECK(false);
}

void Parser::reduce_comparison(CompareOp op) {
  Operand right = pop_operand();
  Operand left = pop_operand();
  if (left.kind == Operand::Kind::literal) {
    std::swap(left, right);
    op = mirror(op);
  }
  if (left.kind != Operand::Kind::property || right.kind != Operand::Kind::literal) {
    return push_operand(unsupported());
  }
  ++filter_.comparisons;
  push_condition({.kind = FilterKind::comparison,
                  .op = op,
                  .property = std::string(left.property),
                  .literal = std::move(right.literal)});
}

Operand Parser::unsupported() {
  implemented_ = false;
  return {.kind = Operand::Kind::unsupported};
}

Error Parser::syntax_error() const {
  std::string message = "Syntax error at position ";
  message.append(std::to_string(utf16_length(text_.substr(0, token_.end))));
  message.append(" in '").append(text_).append("'.");
  return Error(ErrorCode::invalid_input, std::move(message));
}

}  // namespace

Result<Filter> parse_filter(std::string_view text) {
  if (text.size() > limits::filter_bytes_max || !is_wtf8(text))
    return Error(ErrorCode::invalid_input);
  return Parser(text).parse();
}

}  // namespace entitable
