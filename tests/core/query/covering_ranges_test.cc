#include "core/query/covering_ranges.h"

#include "tests/support/catch.h"

using namespace entitable;

namespace {

KeyInterval point(std::string_view text) {
  return {KeyBound::before(text), KeyBound::after(text)};
}
KeyInterval between(std::string_view from, std::string_view to) {
  return {KeyBound::before(from), KeyBound::before(to)};
}

}  // namespace

TEST_CASE("rows of one partition are one range each") {
  const CoveringRanges covering =
      covering_ranges_of({{point("p"), {point("a"), between("c", "d")}}});
  CHECK(covering.exact);
  REQUIRE(covering.ranges.size() == 2);
  CHECK(covering.ranges[0] == KeyRange::point({"p", "a"}));
  CHECK(covering.ranges[1] == KeyRange{EntityKey("p", "c"), EntityKey("p", "d")});
}

TEST_CASE("all rows of one partition, and the rest of one") {
  CHECK(range_in_partition("p", KeyInterval::all()) == KeyRange::partition("p"));
  CHECK(range_in_partition("p", {KeyBound::after("a"), KeyBound::end()}) ==
        KeyRange{EntityKey("p", successor("a")), EntityKey(successor("p"), "")});
}

TEST_CASE("all rows of many partitions are one exact range") {
  const CoveringRanges covering =
      covering_ranges_of(keys_in_intervals(between("b", "d"), KeyInterval::all()));
  CHECK(covering.exact);
  REQUIRE(covering.ranges.size() == 1);
  CHECK(covering.ranges[0] == KeyRange{EntityKey("b", ""), EntityKey("d", "")});
  CHECK(covering_ranges_of(all_keys()).ranges == std::vector<KeyRange>{KeyRange{}});
  CHECK(covering_ranges_of({}).ranges.empty());
}

TEST_CASE("some rows of many partitions are a range that holds more") {
  const CoveringRanges open =
      covering_ranges_of(keys_in_intervals(between("b", "d"), between("3", "7")));
  CHECK_FALSE(open.exact);
  REQUIRE(open.ranges.size() == 1);
  CHECK(open.ranges[0] == KeyRange{EntityKey("b", "3"), EntityKey("d", "")});

  const KeyInterval b_to_d{KeyBound::before("b"), KeyBound::after("d")};
  const CoveringRanges closed = covering_ranges_of(keys_in_intervals(b_to_d, between("3", "7")));
  CHECK_FALSE(closed.exact);
  CHECK(closed.ranges[0] == KeyRange{EntityKey("b", "3"), EntityKey("d", "7")});
}

TEST_CASE("ranges that touch are joined") {
  const KeySet set = {{between("a", "b"), {KeyInterval::all()}},
                      {point("b"), {{KeyBound::start(), KeyBound::after("5")}}}};
  const CoveringRanges covering = covering_ranges_of(set);
  CHECK(covering.exact);
  REQUIRE(covering.ranges.size() == 1);
  CHECK(covering.ranges[0] == KeyRange{EntityKey("a", ""), EntityKey("b", successor("5"))});
}
