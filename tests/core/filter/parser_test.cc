#include "core/filter/parser.h"

#include <string>

#include "core/model/limits.h"
#include "core/model/service_error.h"
#include "tests/support/catch.h"
#include "tests/support/filter_text.h"
#include "tests/support/generators.h"
#include "tests/support/golden.h"

using namespace entitable;

namespace {

// Returns the tree, or "<service code>: <text>".
std::string tree_or_error(std::string_view text) {
  const Result<Filter> filter = parse_filter(text);
  if (filter.ok()) {
    CHECK(test::check_structure(*filter) == "sound");
    return to_sexpr(*filter);
  }
  return std::string(service_error_of(filter.error().code).code) + ": " +
         std::string(error_message(filter.error()));
}

Error error_of(std::string_view text) {
  const Result<Filter> filter = parse_filter(text);
  REQUIRE_FALSE(filter.ok());
  return filter.error();
}

// Checks that the result is a valid tree or one of the errors of the contract.
void check_tree_or_error(std::string_view text) {
  const Result<Filter> filter = parse_filter(text);
  if (filter.ok()) {
    CHECK(test::check_structure(*filter) == "sound");
    return;
  }
  const ErrorCode code = filter.error().code;
  CHECK((code == ErrorCode::invalid_input || code == ErrorCode::not_implemented));
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result.append(text);
  return result;
}

void check_file(const std::string& name) {
  test::check_golden("filter/" + name, [](const std::string& input) {
    return test::escaped(tree_or_error(test::unescaped(input)));
  });
}

}  // namespace

TEST_CASE("golden: literals") {
  check_file("literals.txt");
}
TEST_CASE("golden: expressions") {
  check_file("expressions.txt");
}
TEST_CASE("golden: blanks") {
  check_file("blanks.txt");
}
TEST_CASE("golden: syntax errors") {
  check_file("syntax_errors.txt");
}
TEST_CASE("golden: legal but not supported") {
  check_file("not_implemented.txt");
}

TEST_CASE("the service's own error positions") {
  CHECK(error_of("aaa bbb ccc") ==
        Error(ErrorCode::invalid_input, "Syntax error at position 7 in 'aaa bbb ccc'."));
  CHECK(
      error_of("property1 eq 1'invalid'") ==
      Error(ErrorCode::invalid_input, "Syntax error at position 23 in 'property1 eq 1'invalid''."));
}

TEST_CASE("positions count UTF-16 units") {
  // U+1F600 is four bytes and two units, a-umlaut is two bytes and one unit.
  CHECK(error_of("a eq '\xF0\x9F\x98\x80' b") ==
        Error(ErrorCode::invalid_input,
              "Syntax error at position 11 in 'a eq '\xF0\x9F\x98\x80' b'."));
  CHECK(error_of("\xC3\xA4 b").message == "Syntax error at position 3 in '\xC3\xA4 b'.");
  CHECK(error_of("a \xF0\x9F\x98\x80").message ==
        "Syntax error at position 4 in 'a \xF0\x9F\x98\x80'.");
  CHECK(error_of("a \xED\xA0\xBD").message == "Syntax error at position 3 in 'a \xED\xA0\xBD'.");
}

TEST_CASE("a blank text parses to an empty filter") {
  for (const char* text : {"", " ", "\t\r\n "}) {
    const Result<Filter> filter = parse_filter(text);
    REQUIRE(filter.ok());
    CHECK(filter->empty());
    CHECK(filter->comparisons == 0);
  }
}

TEST_CASE("a text that is not WTF-8 is rejected") {
  for (const char* text : {"a eq '\xFF'", "\xC3", "a eq '\xF0\x9F\x98'", "a eq '\xC0\x80'",
                           "a eq '\xED\xA0\xBD\xED\xB8\x80'"}) {
    CHECK(error_of(text) == Error(ErrorCode::invalid_input));
  }
  const Result<Filter> unpaired = parse_filter("a eq '\xED\xA0\xBD'");
  REQUIRE(unpaired.ok());
  CHECK(unpaired->root().literal == Value::of_string("\xED\xA0\xBD"));
}

TEST_CASE("a text may be as long as the limit and not longer") {
  const std::string start = "a eq '";
  const std::string longest =
      start + std::string(limits::filter_bytes_max - start.size() - 1, 'x') + "'";
  REQUIRE(longest.size() == limits::filter_bytes_max);
  CHECK(parse_filter(longest).ok());
  CHECK(error_of(longest + " ") == Error(ErrorCode::invalid_input));
  CHECK(parse_filter(std::string(limits::filter_bytes_max, ' ')).ok());
  CHECK(error_of(std::string(limits::filter_bytes_max + 1, ' ')) ==
        Error(ErrorCode::invalid_input));
  // The limit counts bytes, not units: these texts have half as many units.
  CHECK(error_of(start + repeated("\xC3\xA4", limits::filter_bytes_max / 2) + "'") ==
        Error(ErrorCode::invalid_input));
}

TEST_CASE("nesting may be as deep as the limit and not deeper") {
  const std::size_t deepest = limits::filter_depth_max;
  const auto parentheses = [](std::size_t depth) {
    return repeated("(", depth) + "a" + repeated(")", depth);
  };
  CHECK(tree_or_error(parentheses(deepest)) == "a");
  CHECK(error_of(parentheses(deepest + 1)) == Error(ErrorCode::invalid_input));

  const auto negations = [](std::size_t depth) { return repeated("not ", depth) + "a"; };
  CHECK(tree_or_error(negations(deepest)) ==
        repeated("(not ", deepest) + "a" + repeated(")", deepest));
  CHECK(error_of(negations(deepest + 1)) == Error(ErrorCode::invalid_input));

  const auto both = [](std::size_t depth) {
    return repeated("not(", depth / 2) + "a" + repeated(")", depth / 2);
  };
  CHECK(parse_filter(both(deepest)).ok());
  CHECK(error_of(both(deepest + 2)) == Error(ErrorCode::invalid_input));

  const auto signs = [](std::size_t depth) { return repeated("- ", depth) + "a eq 1"; };
  CHECK(error_of(signs(deepest)) == Error(ErrorCode::not_implemented));
  CHECK(error_of(signs(deepest + 1)) == Error(ErrorCode::invalid_input));

  const auto calls = [](std::size_t depth) {
    return repeated("f(", depth) + "a" + repeated(")", depth);
  };
  CHECK(error_of(calls(deepest)) == Error(ErrorCode::not_implemented));
  CHECK(error_of(calls(deepest + 1)) == Error(ErrorCode::invalid_input));
}

TEST_CASE("nesting counts what is open at one place, not in total") {
  std::string text = "not (a)";
  for (std::size_t i = 0; i < 2 * limits::filter_depth_max; ++i) text += " and not (a)";
  CHECK(parse_filter(text).ok());
  std::string calls = "f(a)";
  for (std::size_t i = 0; i < 2 * limits::filter_depth_max; ++i) calls += " and f(a,-b)";
  CHECK(error_of(calls) == Error(ErrorCode::not_implemented));
}

TEST_CASE("a chain is as long as the text may be and leans to the left") {
  std::string text = "a";
  std::size_t links = 0;
  for (; text.size() + 5 <= limits::filter_bytes_max; ++links) text += " or b";
  CHECK(links > 13'000);
  const Result<Filter> filter = parse_filter(text);
  REQUIRE(filter.ok());
  CHECK(filter->nodes.size() == 2 * links + 1);
  CHECK(test::check_structure(*filter) == "sound");
  CHECK(to_sexpr(*filter) == repeated("(or ", links) + "a" + repeated(" b)", links));
}

TEST_CASE("comparisons are counted, flags and constants are not") {
  CHECK(parse_filter("a eq 1 and (5 lt b or not (c ne 'x')) and d and true")->comparisons == 3);
  CHECK(parse_filter("d")->comparisons == 0);
}

TEST_CASE("the longest texts that repeat one token are parsed too") {
  for (const std::string& unit :
       {std::string("("), std::string(")"), std::string("not "), std::string("f("),
        std::string("- "), std::string("-1"), std::string("'"), std::string("'' "),
        std::string("1"), std::string("1e"), std::string("a"), std::string("a "), std::string(","),
        std::string("a and "), std::string("a eq 1 "), std::string("X'"),
        std::string("\xC3\xA4")}) {
    CAPTURE(unit);
    check_tree_or_error(repeated(unit, limits::filter_bytes_max / unit.size()));
  }
}

// ------------------------------------------------------------------------------------------------
// Random trees

namespace {

std::string random_name(test::Prng& prng) {
  for (;;) {
    std::string name = prng.chance(4) ? "PartitionKey" : test::random_property_name(prng);
    // these words cannot be properties in a filter
    if (name != "true" && name != "not") return name;
  }
}

void add_random_tree(test::Prng& prng, int depth, Filter& filter) {
  FilterNode node;
  const std::uint64_t kind = prng.below(depth > 0 ? 8 : 4);
  if (kind >= 4) {
    add_random_tree(prng, depth - 1, filter);
    node.left = static_cast<std::uint32_t>(filter.nodes.size() - 1);
    node.kind = FilterKind::negation;
    if (kind >= 5) {
      add_random_tree(prng, depth - 1, filter);
      node.right = static_cast<std::uint32_t>(filter.nodes.size() - 1);
      node.kind = kind == 5 ? FilterKind::all_of : FilterKind::any_of;
    }
  } else if (kind == 0) {
    node.kind = FilterKind::constant;
    node.literal = Value::of_boolean(prng.chance(2));
  } else if (kind == 1) {
    node.kind = FilterKind::flag;
    node.property = random_name(prng);
  } else {
    node.kind = FilterKind::comparison;
    node.op = static_cast<CompareOp>(prng.below(6));
    node.property = random_name(prng);
    node.literal = test::random_value(prng);
    ++filter.comparisons;
  }
  filter.nodes.push_back(std::move(node));
}

std::string random_blanks(test::Prng& prng, bool needed) {
  std::string blanks = needed ? " " : "";
  while (prng.chance(4)) blanks.push_back(" \t\r\n"[prng.below(4)]);
  return blanks;
}

// Prints the tree as a person might write it: with extra parentheses and blanks, constants on the
// left.
std::string format_filter(test::Prng& prng, const Filter& filter, std::uint32_t at) {
  const FilterNode& node = filter.nodes[at];
  std::string text;
  int own = test::binding(node.kind);
  const auto child = [&](std::uint32_t index, int least) {
    std::string inner = format_filter(prng, filter, index);
    if (test::binding(filter.nodes[index].kind) >= least) return inner;
    return "(" + random_blanks(prng, false) + inner + random_blanks(prng, false) + ")";
  };
  const auto around = [&](std::string_view word) {
    return random_blanks(prng, true).append(word).append(random_blanks(prng, true));
  };
  switch (node.kind) {
    case FilterKind::all_of:
    case FilterKind::any_of:
      text = child(node.left, own) + around(node.kind == FilterKind::all_of ? "and" : "or") +
             child(node.right, own + 1);
      break;
    case FilterKind::negation:
      text = "not" + random_blanks(prng, true) + child(node.left, own);
      break;
    case FilterKind::comparison: {
      const std::string literal = literal_text(node.literal.view());
      text = prng.chance(2) ? node.property + around(operator_name(node.op)) + literal
                            : literal + around(operator_name(mirror(node.op))) + node.property;
      break;
    }
    case FilterKind::flag:
      text = node.property;
      break;
    case FilterKind::constant:
      text = literal_text(node.literal.view());
      break;
  }
  return text;
}

}  // namespace

TEST_CASE("random trees round-trip through text") {
  const std::uint64_t seed = 41;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int i = 0; i < 2000; ++i) {
    Filter filter;
    add_random_tree(prng, static_cast<int>(prng.below(6)), filter);
    REQUIRE(test::check_structure(filter) == "sound");
    const std::string tree = to_sexpr(filter);
    const std::string shortest = test::to_filter_text(filter);
    const std::string loose =
        format_filter(prng, filter, static_cast<std::uint32_t>(filter.nodes.size() - 1));
    for (const std::string& text : {shortest, loose}) {
      if (text.size() > limits::filter_bytes_max) continue;
      CAPTURE(i, text);
      CHECK(tree_or_error(text) == tree);
    }
  }
}

TEST_CASE("a randomly damaged filter returns an error or another filter") {
  const std::uint64_t seed = 42;
  CAPTURE(seed);
  test::Prng prng(seed);
  for (int i = 0; i < 5000; ++i) {
    Filter filter;
    add_random_tree(prng, 2, filter);
    std::string text = test::to_filter_text(filter);
    if (text.size() > 500) continue;
    for (std::uint64_t cuts = 1 + prng.below(3); cuts > 0 && !text.empty(); --cuts) {
      const std::size_t at = prng.below(text.size());
      if (prng.chance(2)) {
        text.erase(at, 1 + prng.below(3));
      } else {
        text.insert(at, 1, "()', -1eL\x80"[prng.below(10)]);
      }
    }
    CAPTURE(i, text);
    check_tree_or_error(text);
  }
}
