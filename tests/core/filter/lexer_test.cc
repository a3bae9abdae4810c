#include "core/filter/lexer.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

using namespace entitable;

namespace {

std::string kind_name(TokenKind kind) {
  switch (kind) {
    case TokenKind::end:
      return "end";
    case TokenKind::word:
      return "word";
    case TokenKind::number:
      return "number";
    case TokenKind::string:
      return "string";
    case TokenKind::typed_literal:
      return "typed";
    case TokenKind::open:
      return "open";
    case TokenKind::close:
      return "close";
    case TokenKind::comma:
      return "comma";
    case TokenKind::minus:
      return "minus";
    case TokenKind::invalid:
      return "bad";
  }
  return {};
}

// "word:a _word:eq _number:5": kind and text of each token, with '_' before a token that follows
// blanks.
std::string tokens(std::string_view text) {
  std::string result;
  Lexer lexer(text);
  for (Token token = lexer.next(); token.kind != TokenKind::end; token = lexer.next()) {
    CHECK(token.text.data() + token.text.size() == text.data() + token.end);
    if (!result.empty()) result.append(" ");
    if (token.follows_blank) result.append("_");
    result.append(kind_name(token.kind)).append(":").append(token.text);
  }
  return result;
}

}  // namespace

TEST_CASE("the lexer separates words, literals and signs") {
  CHECK(tokens("").empty());
  CHECK(tokens("a eq 5") == "word:a _word:eq _number:5");
  CHECK(tokens("(a)or(b)") == "open:( word:a close:) word:or open:( word:b close:)");
  CHECK(tokens("f(a,'b')") == "word:f open:( word:a comma:, string:'b' close:)");
  CHECK(tokens("not -a") == "word:not _minus:- word:a");
  CHECK(tokens("'x'eq a") == "string:'x' word:eq _word:a");
}

TEST_CASE("only space, tab, carriage return and line feed are blanks") {
  CHECK(tokens(" \t\r\na\n ") == "_word:a");
  CHECK(tokens("a\vb") == "word:a bad:\v word:b");
  CHECK(tokens("a\fb") == "word:a bad:\f word:b");
  CHECK(tokens("a\xC2\xA0"
               "b") == "word:a bad:\xC2\xA0 word:b");
  CHECK(tokens("\xEF\xBB\xBF"
               "a") == "bad:\xEF\xBB\xBF word:a");
}

TEST_CASE("words are identifiers as property names are") {
  CHECK(tokens("_ _a9 a_b") == "word:_ _word:_a9 _word:a_b");
  CHECK(tokens("\xC3\xA4\xCE\xA9 \xF0\x90\x90\x80") ==
        "word:\xC3\xA4\xCE\xA9 _word:\xF0\x90\x90\x80");
  CHECK(tokens("a-b") == "word:a minus:- word:b");
  CHECK(tokens("a.b") == "word:a bad:. word:b");
  CHECK(tokens("a/b") == "word:a bad:/ word:b");
  CHECK(tokens("\xF0\x9F\x98\x80") == "bad:\xF0\x9F\x98\x80");
  CHECK(tokens("\xED\xA0\xBD") == "bad:\xED\xA0\xBD");  // an unpaired surrogate
}

TEST_CASE("numbers take sign, fraction, exponent and suffix, and nothing else") {
  CHECK(tokens("0 -0 123 -5") == "number:0 _number:-0 _number:123 _number:-5");
  CHECK(tokens("1.5 -2.5e3 1e3 1E+3 1e-3") ==
        "number:1.5 _number:-2.5e3 _number:1e3 _number:1E+3 _number:1e-3");
  CHECK(tokens("3L 3l 3D 3d 1M 1m 1F 1f 1e3D 1.5L") ==
        "number:3L _number:3l _number:3D _number:3d _number:1M _number:1m _number:1F _number:1f "
        "_number:1e3D _number:1.5L");
  CHECK(tokens("-INF -Infinity INF NaN") == "number:-INF _number:-Infinity _word:INF _word:NaN");
  CHECK(tokens("5.") == "number:5 bad:.");
  CHECK(tokens(".5") == "bad:. number:5");
  CHECK(tokens("1.e3") == "number:1 bad:. word:e3");
  CHECK(tokens("+5") == "bad:+ number:5");
  CHECK(tokens("--5") == "minus:- number:-5");
  CHECK(tokens("-INFx -NaN") == "minus:- word:INFx _minus:- word:NaN");
  CHECK(tokens("1eq") == "number:1 word:eq");
  CHECK(tokens("1e+") == "number:1 word:e bad:+");
  CHECK(tokens("3Lx 3LL 0x1F") == "number:3 word:Lx _number:3 word:LL _number:0 word:x1F");
  CHECK(tokens("3L'x'") == "number:3L string:'x'");
}

TEST_CASE("strings end at a quote that is not doubled") {
  CHECK(tokens("''") == "string:''");
  CHECK(tokens("''''") == "string:''''");
  CHECK(tokens("'o''clock' 'b'") == "string:'o''clock' _string:'b'");
  CHECK(tokens("'a\\' b") == "string:'a\\' _word:b");
  CHECK(tokens("'\n\t'") == "string:'\n\t'");
  CHECK(tokens("'open") == "bad:'open");
  CHECK(tokens("'open''") == "bad:'open''");
  CHECK(tokens("'") == "bad:'");
}

TEST_CASE("a literal's prefix is one of OData's, directly before the quote and in its case") {
  CHECK(tokens("datetime'a' guid'b' X'c' x'd' binary'e'") ==
        "typed:datetime'a' _typed:guid'b' _typed:X'c' _typed:x'd' _typed:binary'e'");
  CHECK(tokens("time'a' datetimeoffset'b' duration'c' geography'd' geometry'e'") ==
        "typed:time'a' _typed:datetimeoffset'b' _typed:duration'c' _typed:geography'd' "
        "_typed:geometry'e'");
  CHECK(tokens("guid'a''b'") == "typed:guid'a''b'");
  CHECK(tokens("guid 'a'") == "word:guid _string:'a'");
  CHECK(tokens("Guid'a' other'b' guidx'c'") ==
        "word:Guid string:'a' _word:other string:'b' _word:guidx string:'c'");
  CHECK(tokens("guid'open") == "bad:guid'open");
}

TEST_CASE("after the last token, every call returns end") {
  Lexer lexer("a ");
  CHECK(lexer.next().kind == TokenKind::word);
  for (int i = 0; i < 3; ++i) {
    const Token end = lexer.next();
    CHECK(end.kind == TokenKind::end);
    CHECK(end.end == 2);
  }
}

TEST_CASE("is_before_parenthesis sees a parenthesis that follows directly") {
  Lexer glued("f(");
  glued.next();
  CHECK(glued.is_before_parenthesis());
  Lexer parted("f (");
  parted.next();
  CHECK_FALSE(parted.is_before_parenthesis());
  Lexer last("f");
  last.next();
  CHECK_FALSE(last.is_before_parenthesis());
}
