#include "core/query/key_analysis.h"

#include "core/query/covering_ranges.h"
#include "tests/core/query/query_testing.h"

using namespace entitable;
using namespace entitable::test;

namespace {

bool may_be_all(const KeySetApproximation& known) {
  return is_all(known.may_match());
}

}  // namespace

TEST_CASE("a comparison of a key with a String is exact") {
  const Filter filter = filter_of("PartitionKey ge 'b'");
  const KeyAnalysis analysis = analyse_keys(filter);
  CHECK(analysis.filter.is_exact());
  CHECK(analysis.filter.may_match().size() == 1);
  CHECK(analysis.filter.may_match()[0].partitions ==
        KeyInterval{KeyBound::before("b"), KeyBound::end()});
}

TEST_CASE("a comparison of a property may match anywhere and must match nowhere") {
  for (const char* text :
       {"Age gt 3", "not (Age gt 3)", "Active", "Timestamp gt datetime'2020-01-01T00:00:00Z'"}) {
    CAPTURE(text);
    const Filter filter = filter_of(text);
    const KeyAnalysis analysis = analyse_keys(filter);
    CHECK(may_be_all(analysis.filter));
    CHECK(analysis.filter.must_match().empty());
    REQUIRE(analysis.conditions.size() == 1);
    CHECK(analysis.conditions[0].node == filter.nodes.size() - 1);
    CHECK_FALSE(analysis.conditions[0].exact);
  }
}

TEST_CASE("or with a property must still match where the key does") {
  const Filter filter = filter_of("PartitionKey eq 'a' or Age gt 3");
  const KeyAnalysis analysis = analyse_keys(filter);
  CHECK(may_be_all(analysis.filter));
  CHECK(covering_ranges_of(analysis.filter.must_match()).ranges ==
        std::vector<KeyRange>{KeyRange::partition("a")});
}

TEST_CASE("negation exchanges what may and what must match") {
  const Filter filter = filter_of("not (PartitionKey eq 'a' or Age gt 3)");
  const KeyAnalysis analysis = analyse_keys(filter);
  CHECK(analysis.filter.must_match().empty());
  CHECK(complement(analysis.filter.may_match()) ==
        keys_in_intervals({KeyBound::before("a"), KeyBound::after("a")}, KeyInterval::all()));
}

TEST_CASE("the conditions of an and chain are listed left to right, however it is nested") {
  const Filter filter =
      filter_of("(PartitionKey eq 'a' and Age gt 3) and (RowKey eq 'b' and (x eq 1 or y eq 2))");
  const KeyAnalysis analysis = analyse_keys(filter);
  REQUIRE(analysis.conditions.size() == 4);
  CHECK(filter.nodes[analysis.conditions[0].node].property == "PartitionKey");
  CHECK(filter.nodes[analysis.conditions[1].node].property == "Age");
  CHECK(filter.nodes[analysis.conditions[2].node].property == "RowKey");
  CHECK(filter.nodes[analysis.conditions[3].node].kind == FilterKind::any_of);
  CHECK(analysis.conditions[0].exact);
  CHECK_FALSE(analysis.conditions[1].exact);
  CHECK(analysis.conditions[2].exact);
  CHECK_FALSE(analysis.conditions[3].exact);
}

TEST_CASE("intervals of strings for each operator") {
  CHECK(intervals_matching(CompareOp::eq, "m").front().is_single());
  CHECK(intervals_matching(CompareOp::ne, "m").size() == 2);
  CHECK(intervals_matching(CompareOp::ne, "").front().empty());
  CHECK(intervals_matching(CompareOp::lt, "").front().empty());
  CHECK(intervals_matching(CompareOp::ge, "").front() == KeyInterval::all());
  CHECK(intervals_matching(CompareOp::le, "").front().is_single());
  CHECK(intervals_matching(CompareOp::gt, "m").front() ==
        KeyInterval{KeyBound::after("m"), KeyBound::end()});
}
