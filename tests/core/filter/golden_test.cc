// Tests of the golden-file harness itself (tests/support/golden.h).
#include "tests/support/golden.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

using entitable::test::escaped;
using entitable::test::GoldenFile;
using entitable::test::unescaped;

namespace {

const std::string by_blank_lines =
    "# heading\n"
    "\n"
    "# about the first\n"
    "one\n"
    "=> 1\n"
    "\n"
    "\n"
    "two\n"
    "# not a comment\n"
    "=> 2\n"
    "=>\n"
    "=> 2b\n"
    "\n"
    "three\n";

const std::string by_dashes =
    "# about the first\n"
    "one\n"
    "\n"
    "more\n"
    "=> 1\n"
    "\n"
    "---\n"
    "\n"
    "two\n"
    "---\n";

}  // namespace

TEST_CASE("a golden file's cases are separated by blank lines") {
  const GoldenFile file(by_blank_lines);
  REQUIRE(file.cases().size() == 3);
  CHECK(file.cases()[0].input == "one");
  CHECK(file.cases()[0].expected == "1");
  CHECK(file.cases()[0].line == 4);
  CHECK(file.cases()[1].input == "two\n# not a comment");
  CHECK(file.cases()[1].expected == "2\n\n2b");
  CHECK(file.cases()[1].line == 8);
  CHECK(file.cases()[2].input == "three");
  CHECK(file.cases()[2].expected.empty());
}

TEST_CASE("a golden file's cases are separated by dashes if there are any") {
  const GoldenFile file(by_dashes);
  REQUIRE(file.cases().size() == 2);
  CHECK(file.cases()[0].input == "one\n\nmore");
  CHECK(file.cases()[0].expected == "1");
  CHECK(file.cases()[1].input == "two");
  CHECK(file.cases()[1].line == 9);
}

TEST_CASE("rewriting a golden file changes its expectations and nothing else") {
  const GoldenFile file(by_blank_lines);
  CHECK(file.with_expectations({"1", "2\n\n2b", "3"}) == by_blank_lines + "=> 3\n");
  const std::string rewritten = file.with_expectations({"1a\n1b", "", "3"});
  const GoldenFile again(rewritten);
  REQUIRE(again.cases().size() == 3);
  CHECK(again.cases()[0].expected == "1a\n1b");
  CHECK(again.cases()[1].input == "two\n# not a comment");
  CHECK(again.cases()[1].expected.empty());
  CHECK(again.cases()[2].expected == "3");
  CHECK(again.with_expectations({"1a\n1b", "", "3"}) == rewritten);
}

TEST_CASE("a golden file may be empty or hold comments only") {
  CHECK(GoldenFile("").cases().empty());
  CHECK(GoldenFile("\n\n# nothing\n").cases().empty());
}

TEST_CASE("texts of golden files are escaped in double quotes only") {
  CHECK(unescaped("a\\n") == "a\\n");
  CHECK(unescaped("\"") == "\"");
  CHECK(unescaped("\" a\\n\\r\\t\\\\\\\"\\x41\\xED \"") == " a\n\r\t\\\"A\xED ");
  CHECK(escaped("a\\n") == "a\\n");
  for (const std::string& text :
       {std::string(), std::string(" a"), std::string("a\n\r\t\x01\x7F"), std::string("\"a\\"),
        std::string("\xED\xA0\xBD"), std::string("\xC3\xA4"), std::string("a\0b", 3)}) {
    CAPTURE(text);
    CHECK(unescaped(escaped(text)) == text);
  }
}
