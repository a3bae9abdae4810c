#include "core/filter/evaluate.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/filter/lexer.h"
#include "core/filter/literal.h"
#include "core/filter/parser.h"
#include "core/model/limits.h"
#include "tests/support/catch.h"
#include "tests/support/generators.h"
#include "tests/support/golden.h"

using namespace entitable;

namespace {

const std::vector<CompareOp> all_ops = {CompareOp::eq, CompareOp::ne, CompareOp::gt,
                                        CompareOp::ge, CompareOp::lt, CompareOp::le};
const std::vector<EdmType> all_types = {EdmType::string,    EdmType::binary,  EdmType::boolean,
                                        EdmType::date_time, EdmType::float64, EdmType::guid,
                                        EdmType::int32,     EdmType::int64};

Filter filter_of(std::string_view text) {
  CAPTURE(text);
  Result<Filter> filter = parse_filter(text);
  REQUIRE(filter.ok());
  return std::move(*filter);
}

Value value_of(std::string_view literal) {
  Lexer lexer(literal);
  const Token token = lexer.next();
  REQUIRE(is_literal(token));
  const Result<Value> value = parse_literal(token);
  REQUIRE(value.ok());
  return *value;
}

void assign(Entity& entity, std::string_view name, const Value& value) {
  if (name == "PartitionKey") {
    entity.key.partition = value.view().string();
  } else if (name == "RowKey") {
    entity.key.row = value.view().string();
  } else if (name == "Timestamp") {
    entity.timestamp = value.view().date_time();
  } else {
    entity.properties.push_back({std::string(name), value});
  }
}

// "n = 5, s = 'x'": literals in filter syntax.
Entity entity_of(std::string_view text) {
  Entity entity;
  Lexer lexer(text);
  for (Token name = lexer.next(); name.kind != TokenKind::end; name = lexer.next()) {
    if (name.kind == TokenKind::comma) continue;
    CAPTURE(text);
    REQUIRE(lexer.next().text == "=");
    assign(entity, name.text, value_of(lexer.next().text));
  }
  return entity;
}

bool compare(const char* property, CompareOp op, const char* literal) {
  return comparison_holds(value_of(property).view(), op, value_of(literal).view());
}

// The operators that are true, "eq ge le" for example.
std::string true_ops(const Value& property, const Value& literal) {
  std::string names;
  for (const CompareOp op : all_ops) {
    if (!comparison_holds(property.view(), op, literal.view())) continue;
    names.append(names.empty() ? "" : " ").append(operator_name(op));
  }
  return names;
}
std::string true_ops(const char* property, const char* literal) {
  return true_ops(value_of(property), value_of(literal));
}

}  // namespace

// A filter on the first line, then one entity per line, with its properties after "with"; one
// result per entity.
TEST_CASE("golden: results") {
  test::check_golden("filter/answers.txt", [](const std::string& input) {
    std::string results;
    std::size_t at = input.find('\n');
    const Filter filter = filter_of(input.substr(0, at));
    while (at < input.size()) {
      const std::size_t end = std::min(input.find('\n', at + 1), input.size());
      const std::string line = input.substr(at + 1, end - at - 1);
      REQUIRE(line.rfind("with", 0) == 0);
      const bool matched = matches_unbound(filter, entity_of(line.substr(4)));
      results.append(results.empty() ? "" : "\n").append(matched ? "true" : "false");
      at = end;
    }
    return results;
  });
}

TEST_CASE(
    "an operator holds for the orderings it names, and of all operators only ne holds for NaN") {
  const auto holding = [](Ordering ordering) {
    std::string names;
    for (const CompareOp op : all_ops) {
      if (holds(op, ordering)) names.append(operator_name(op)).append(" ");
    }
    return names;
  };
  CHECK(holding(Ordering::less) == "ne lt le ");
  CHECK(holding(Ordering::equal) == "eq ge le ");
  CHECK(holding(Ordering::greater) == "ne gt ge ");
  CHECK(holding(Ordering::unordered) == "ne ");
}

TEST_CASE(
    "a property of an incomparable type counts as less than the literal, whatever the operator") {
  for (const CompareOp op : all_ops) CHECK(holds_on_mismatch(op) == holds(op, Ordering::less));
}

TEST_CASE("numbers of two types compare when the literal is the narrower") {
  for (const EdmType property : all_types) {
    for (const EdmType literal : all_types) {
      ComparisonKind expected =
          property == literal ? ComparisonKind::same_type : ComparisonKind::mismatch;
      if (property == EdmType::int64 && literal == EdmType::int32)
        expected = ComparisonKind::as_number;
      if (property == EdmType::float64 && literal == EdmType::int32) {
        expected = ComparisonKind::as_number;
      }
      if (property == EdmType::float64 && literal == EdmType::int64) {
        expected = ComparisonKind::as_number;
      }
      CAPTURE(edm_name(property), edm_name(literal));
      CHECK(comparison_kind(property, literal) == expected);
    }
  }
}

TEST_CASE("comparisons within one type follow its order") {
  const char* ascending[][2] = {
      {"'a'", "'b'"},
      {"'B'", "'b'"},
      {"''", "'a'"},
      {"'10'", "'2'"},
      {"'\xF0\x9F\x98\x80'", "'\xEF\xBD\x9E'"},  // by unit, not by code point
      {"false", "true"},
      {"-1", "0"},
      {"-2147483648", "2147483647"},
      {"-1L", "0L"},
      {"-9223372036854775808L", "9223372036854775807L"},
      {"9007199254740992L", "9007199254740993L"},
      {"-INF", "-1e308"},
      {"-0.5", "0.5"},
      {"1e308", "INF"},
      {"X''", "X'00'"},
      {"X'7f'", "X'80'"},
      {"X'00ff'", "X'01'"},
      {"datetime'1601-01-01'", "datetime'1601-01-01T00:00:00.0000001Z'"},
      {"datetime'2020-01-01T01:00:00+02:00'", "datetime'2020-01-01'"},
      {"guid'00000000-0000-0000-0000-0000000000ff'", "guid'01000000-0000-0000-0000-000000000000'"},
      {"guid'7fffffff-0000-0000-0000-000000000000'", "guid'80000000-0000-0000-0000-000000000000'"},
  };
  for (const auto& [smaller, larger] : ascending) {
    CAPTURE(smaller, larger);
    CHECK(true_ops(smaller, larger) == "ne lt le");
    CHECK(true_ops(larger, smaller) == "ne gt ge");
    CHECK(true_ops(smaller, smaller) == "eq ge le");
    CHECK(true_ops(larger, larger) == "eq ge le");
  }
  CHECK(true_ops("-0.0", "0.0") == "eq ge le");
  CHECK(true_ops("0.0", "-0.0") == "eq ge le");
}

TEST_CASE("NaN is ne to every number, itself included, and less than another type") {
  CHECK(true_ops("NaN", "NaN") == "ne");
  CHECK(true_ops("NaN", "1.5") == "ne");
  CHECK(true_ops("1.5", "NaN") == "ne");
  CHECK(true_ops("NaN", "3") == "ne");
  CHECK(true_ops("NaN", "3L") == "ne");
  CHECK(true_ops("NaN", "'x'") == "ne lt le");
  CHECK(true_ops("3", "NaN") == "ne lt le");
}

TEST_CASE("wider numbers compare with narrower literals by value") {
  CHECK(true_ops("3L", "3") == "eq ge le");
  CHECK(true_ops("4L", "3") == "ne gt ge");
  CHECK(true_ops("-5000000000L", "-2147483648") == "ne lt le");
  CHECK(true_ops("3.0", "3") == "eq ge le");
  CHECK(true_ops("-0.0", "0") == "eq ge le");
  CHECK(true_ops("2.9", "3") == "ne lt le");
  CHECK(true_ops("3.1", "3L") == "ne gt ge");
  CHECK(true_ops("INF", "9223372036854775807L") == "ne gt ge");
  // The literal is rounded to the nearest double: 2^53 + 1 to 2^53, and the largest Int64 to 2^63.
  CHECK(true_ops("9007199254740992.0", "9007199254740993L") == "eq ge le");
  CHECK(true_ops("9223372036854775808.0", "9223372036854775807L") == "eq ge le");
}

TEST_CASE("every other pair of types makes the property less, whatever the values") {
  const std::uint64_t seed = 7;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (const EdmType property : all_types) {
    for (const EdmType literal : all_types) {
      if (comparison_kind(property, literal) != ComparisonKind::mismatch) continue;
      CAPTURE(edm_name(property), edm_name(literal));
      for (int i = 0; i < 10; ++i) {
        CHECK(true_ops(test::random_value(prng, property), test::random_value(prng, literal)) ==
              "ne lt le");
      }
    }
  }
  CHECK(compare("3", CompareOp::lt, "3L"));
  CHECK_FALSE(compare("3", CompareOp::eq, "3.0"));
}

TEST_CASE("a constant on the left means the same as the property on the left") {
  const std::uint64_t seed = 8;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int i = 0; i < 3000; ++i) {
    Entity entity;
    entity.properties.push_back({"p", test::random_value(prng)});
    const Value literal = test::random_value(prng);
    const CompareOp op = all_ops[prng.below(all_ops.size())];
    const std::string text = literal_text(literal.view());
    std::string left = text;
    left.append(" ").append(operator_name(mirror(op))).append(" p");
    std::string right = "p ";
    right.append(operator_name(op)).append(" ").append(text);
    const bool expected = comparison_holds(entity.properties[0].value.view(), op, literal.view());
    CAPTURE(i, left, literal_text(entity.properties[0].value.view()));
    CHECK(matches_unbound(filter_of(left), entity) == expected);
    CHECK(matches_unbound(filter_of(right), entity) == expected);
  }
}

TEST_CASE("an empty filter matches everything") {
  CHECK(matches_unbound(filter_of(""), Entity{}));
  CHECK(matches_unbound(filter_of(" "), entity_of("PartitionKey = 'p', n = 5")));
}

TEST_CASE("the longest chain and the deepest nesting evaluate") {
  const Entity with_b = entity_of("b = true");
  const Entity without;
  std::string chain = "a";
  while (chain.size() + 5 <= limits::filter_bytes_max) chain += " or b";
  CHECK(matches_unbound(filter_of(chain), with_b));
  CHECK_FALSE(matches_unbound(filter_of(chain), without));

  std::string nested;
  for (std::size_t i = 0; i < limits::filter_depth_max; ++i) nested.append("not ");
  nested.append("b");
  CHECK(limits::filter_depth_max % 2 == 0);
  CHECK(matches_unbound(filter_of(nested), with_b));
  CHECK_FALSE(matches_unbound(filter_of(nested), without));
}

TEST_CASE("random conditions agree with C++") {
  const std::uint64_t seed = 9;
  CAPTURE(seed);
  test::Prng prng(seed);
  // Built in parallel: the text, and its value for each of the eight combinations of a, b and c.
  struct Condition {
    std::string text;
    unsigned truth;
  };
  const std::vector<Condition> leaves = {{"a", 0xF0},    {"b", 0xCC},     {"c", 0xAA},
                                         {"true", 0xFF}, {"false", 0x00}, {"missing", 0x00}};
  for (int i = 0; i < 500; ++i) {
    std::vector<Condition> pool = leaves;
    for (int step = 0; step < 12; ++step) {
      const Condition x = test::pick(prng, pool);
      const Condition y = test::pick(prng, pool);
      switch (prng.below(3)) {
        case 0:
          pool.push_back({"(" + x.text + ")and(" + y.text + ")", x.truth & y.truth});
          break;
        case 1:
          pool.push_back({"(" + x.text + ") or (" + y.text + ")", x.truth | y.truth});
          break;
        default:
          pool.push_back({"not(" + x.text + ")", ~x.truth & 0xFFu});
          break;
      }
      if (pool.back().text.size() > 2000) pool.pop_back();
    }
    const Filter filter = filter_of(pool.back().text);
    for (unsigned row = 0; row < 8; ++row) {
      Entity entity;
      entity.properties.push_back({"a", Value::of_boolean((row & 4) != 0)});
      entity.properties.push_back({"b", Value::of_boolean((row & 2) != 0)});
      entity.properties.push_back({"c", Value::of_boolean((row & 1) != 0)});
      CAPTURE(i, row, pool.back().text);
      CHECK(matches_unbound(filter, entity) == (((pool.back().truth >> row) & 1) != 0));
    }
  }
}
