#include "core/model/table_name.h"

#include "tests/support/catch.h"

using namespace entitable;
using namespace std::string_literals;

namespace {

Error error_of(std::string_view text) {
  CAPTURE(text);
  const Result<TableName> name = TableName::parse(text);
  REQUIRE_FALSE(name.ok());
  return name.error();
}

const Error bad_length(ErrorCode::out_of_range_input,
                       "The specified resource name length is not within the permissible limits.");

}  // namespace

TEST_CASE("a table name keeps its spelling and has a folded identity") {
  const Result<TableName> name = TableName::parse("PeopleOf2020");
  REQUIRE(name.ok());
  CHECK(name->text() == "PeopleOf2020");
  CHECK(name->folded() == "peopleof2020");
  CHECK(TableName::parse("PEOPLEOF2020")->folded() == name->folded());
}

TEST_CASE("table names have 3 to 63 units") {
  CHECK(error_of("") == bad_length);
  CHECK(error_of("ab") == bad_length);
  CHECK(TableName::parse("abc").ok());
  CHECK(TableName::parse(std::string(63, 'a')).ok());
  CHECK(error_of(std::string(64, 'a')) == bad_length);
  // The length counts units: there are three here, so the error is about the character.
  CHECK(error_of("\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC") ==
        Error(ErrorCode::invalid_resource_name));
  CHECK(error_of("\xE2\x82\xAC") == bad_length);
}

TEST_CASE("table names are letters and digits, a letter first") {
  for (const std::string& bad :
       {"1ab"s, "a-b"s, "a_b"s, "a b"s, "abc "s, "$Metrics"s, "a.b"s, "ab\xC3\xA4"s,
        "\xC3\xA4"s + "ab", "ab\0"s, "ab@"s, "ab["s, "ab`"s, "ab{"s, "ab/"s, "ab:"s}) {
    CHECK(error_of(bad) == Error(ErrorCode::invalid_resource_name));
  }
  for (const char* good : {"aaz", "AAZ", "a09", "Z0z"}) {
    CAPTURE(good);
    CHECK(TableName::parse(good).ok());
  }
}

TEST_CASE("'tables' is reserved in any case") {
  for (const char* reserved : {"tables", "Tables", "TABLES", "tAbLeS"}) {
    CHECK(error_of(reserved) == Error(ErrorCode::invalid_input));
  }
  CHECK(TableName::parse("table").ok());
  CHECK(TableName::parse("tables1").ok());
}

TEST_CASE("length is checked before characters") {
  CHECK(error_of("-") == bad_length);
  CHECK(error_of(std::string(64, '-')) == bad_length);
}

TEST_CASE("any text is compared with a folded name as its folded form") {
  for (const char* folded : {"", "a", "people", "peoples", "z", "\xC3\x84"}) {
    for (const char* text : {"", "A", "a", "People", "PEOPLES", "peopl", "[", "Z", "\xC3\x84"}) {
      CAPTURE(folded, text);
      const int order = std::string(folded).compare(fold_table_name(text));
      const int compared = compare_folded(folded, text);
      CHECK((compared < 0) == (order < 0));
      CHECK((compared > 0) == (order > 0));
    }
  }
}

TEST_CASE("folding leaves everything but A to Z alone") {
  CHECK(fold_table_name("AZaz09-@[") == "azaz09-@[");
  CHECK(fold_table_name("\xC3\x84") == "\xC3\x84");
  CHECK(fold_table_name("") == "");
}
