#include "core/query/explain_warnings.h"

#include <string>
#include <vector>

#include "core/query/explain.h"
#include "tests/core/query/query_testing.h"

using namespace entitable;
using namespace entitable::test;

namespace {

TableIndex people() {
  TableIndex index;
  index.put(entity_of("Sales", "1",
                      {{"Name", Value::of_string("Ann")},
                       {"Age", Value::of_int32(30)},
                       {"Active", Value::of_boolean(true)}}));
  index.put(entity_of("Sales", "2",
                      {{"Name", Value::of_string("Ben")}, {"Age", Value::of_double(31.5)}}));
  return index;
}

std::vector<ExplainWarning> warnings_of(std::string_view filter,
                                        const TableIndex& index = people()) {
  Query query;
  query.filter = filter_of(filter);
  Explanation explanation(query);
  auto result = explain(index, explanation);
  REQUIRE(std::holds_alternative<Explain>(result));
  return std::get<Explain>(result).warnings;
}

std::string codes_of(std::string_view filter, const TableIndex& index = people()) {
  std::string codes;
  for (const ExplainWarning& warning : warnings_of(filter, index)) {
    CHECK_FALSE(warning.message.empty());
    CHECK_FALSE(warning.help.empty());
    codes += (codes.empty() ? "" : " ") + warning.code;
  }
  return codes;
}

std::string comparisons(std::size_t count) {
  std::string text = "PartitionKey eq 'Sales' and RowKey ge '1'";
  for (std::size_t i = 2; i < count; ++i) text += " and Age ne " + std::to_string(i);
  return text;
}

}  // namespace

TEST_CASE("an optimal query has no warnings") {
  CHECK(codes_of("").empty());
  CHECK(codes_of("PartitionKey eq 'Sales' and RowKey eq '1'").empty());
  CHECK(codes_of("PartitionKey eq 'Sales' and RowKey ge '1' and Age gt 3").empty());
  CHECK(codes_of("PartitionKey eq 'Sales'").empty());  // the whole partition is requested
  CHECK(codes_of("PartitionKey eq 'Sales' and RowKey ge '1' and Active").empty());
}

TEST_CASE("scans on the service are reported") {
  CHECK(codes_of("Name eq 'Ann'") == "TableScan");
  CHECK(codes_of("PartitionKey ge 'S'") == "TableScan");
  CHECK(codes_of("PartitionKey eq 'Sales' and Name eq 'Ann'") == "PartitionScan");
}

TEST_CASE("queries that only this store runs efficiently are reported") {
  CHECK(codes_of("PartitionKey eq 'Sales' and (RowKey eq '1' or RowKey eq '2')") ==
        "PartitionScan WiderOnService");
  CHECK(codes_of("PartitionKey eq 'Sales' or PartitionKey eq 'x'") == "TableScan WiderOnService");
  const auto warnings = warnings_of("PartitionKey eq 'Sales' or PartitionKey eq 'x'");
  CHECK(warnings[1].message ==
        "This store reads only 2 ranges; the service would run a table scan.");
}

TEST_CASE("contradictions are reported") {
  CHECK(codes_of("PartitionKey eq 'a' and PartitionKey eq 'b'") == "Contradiction");
  CHECK(codes_of("false") == "Contradiction");
}

TEST_CASE("keys compared with another type are reported") {
  CHECK(codes_of("PartitionKey eq 3") == "Contradiction TypeMismatch");
  CHECK(codes_of("PartitionKey eq 'Sales' and RowKey lt 3L") == "TypeMismatch");
  const auto warnings = warnings_of("PartitionKey eq 'Sales' and RowKey lt 3L");
  CHECK(warnings[0].message ==
        "'RowKey lt 3L' compares with an Edm.Int64, but RowKey is an Edm.String, so the "
        "comparison is always true.");
  CHECK(warnings[0].help == "Write the literal as an Edm.String: 'text'.");
  CHECK(codes_of("PartitionKey eq 'Sales' and RowKey ge '1' and Timestamp gt '2020'") ==
        "Contradiction TypeMismatch");
}

TEST_CASE("properties compared with another type are reported") {
  CHECK(codes_of("PartitionKey eq 'Sales' and RowKey ge '1' and Age gt 3L") == "TypeMismatch");
  CHECK(codes_of("PartitionKey eq 'Sales' and RowKey eq '2' and Age gt 3L").empty());
  CHECK(codes_of("PartitionKey eq 'Sales' and RowKey ge '1' and Name ne 3") == "TypeMismatch");
  const auto warnings = warnings_of("PartitionKey eq 'Sales' and RowKey eq '1' and Age gt 3.5");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].message ==
        "'Age gt 3.5' compares with an Edm.Double, but Age is an Edm.Int32 in rows that were read; "
        "such a value counts as less.");
  CHECK(warnings[0].help == "Write the literal as an Edm.Int32: 5.");
}

TEST_CASE("properties that no row has are reported once") {
  const std::string in_sales = "PartitionKey eq 'Sales' and RowKey ge '1' and ";
  CHECK(codes_of(in_sales + "name eq 'Ann'") == "UnknownProperty");
  CHECK(codes_of(in_sales + "(age gt 3 or age lt 2)") == "UnknownProperty");
  CHECK(codes_of(in_sales + "not active") == "UnknownProperty");
  CHECK(warnings_of(in_sales + "name eq 'Ann'")[0].message ==
        "None of the 2 rows read has a property 'name'.");
  CHECK(codes_of(in_sales + "name eq 'Ann'", TableIndex()).empty());  // no row was read
}

TEST_CASE("properties of rows with the generic shape are not reported") {
  TableIndex index;
  for (std::size_t i = 0; i <= shapes_max; ++i) {
    index.put(entity_of("Sales", digits(i), {{"f" + digits(i), Value::of_boolean(true)}}));
  }
  CHECK(codes_of("PartitionKey eq 'Sales' and RowKey ge '1' and missing eq 3", index).empty());
}

TEST_CASE("more comparisons than documented are reported") {
  CHECK(codes_of(comparisons(15)).empty());
  CHECK(codes_of(comparisons(16)) == "ManyComparisons");
}

TEST_CASE("a filter of thousands of comparisons has few warnings") {
  std::string filter = "x0 eq 1";
  for (int i = 1; i < 2000; ++i) filter += " or x" + std::to_string(i) + " eq 1";
  CHECK(warnings_of(filter).size() < 40);
}
