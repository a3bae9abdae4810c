#include "core/query/planner.h"

#include <string>
#include <vector>

#include "core/query/key_analysis.h"
#include "core/query/service_plan.h"
#include "tests/core/query/query_testing.h"
#include "tests/support/golden.h"
#include "tests/support/random_filter.h"

using namespace entitable;
using namespace entitable::test;

namespace {

// Returns the subtree below a node as a filter of its own, with nodes in the same order.
Filter subtree(const Filter& filter, std::uint32_t root) {
  std::uint32_t first = root;
  for (bool inner = true; inner;) {
    const FilterNode& node = filter.nodes[first];
    const bool binary = node.kind == FilterKind::all_of || node.kind == FilterKind::any_of;
    inner = binary || node.kind == FilterKind::negation;
    if (inner) first = node.left;
  }
  Filter part;
  part.nodes.assign(filter.nodes.begin() + first, filter.nodes.begin() + root + 1);
  for (FilterNode& node : part.nodes) {
    const bool binary = node.kind == FilterKind::all_of || node.kind == FilterKind::any_of;
    if (binary || node.kind == FilterKind::negation) node.left -= first;
    if (binary) node.right -= first;
  }
  return part;
}

// Returns the conditions that the plan still tests.
std::string residual_text(const Filter& filter, const Plan& plan) {
  if (!plan.residual) return {};
  std::string text = "  test";
  const auto root = static_cast<std::uint32_t>(filter.nodes.size() - 1);
  for (const std::uint32_t at : chain_operands(filter, root, FilterKind::all_of)) {
    if (!plan.implied[at]) text += " " + to_sexpr(subtree(filter, at));
  }
  return text + "\n";
}

std::string plan_of(const std::string& line) {
  const Filter filter = filter_of(unescaped(line));
  const Plan plan = make_plan(filter);
  return plan_text(plan) + residual_text(filter, plan) + "service " +
         std::string(plan_kind_name(make_service_plan(filter).kind));
}

bool holds(const Plan& plan, const EntityKey& key) {
  for (const KeyRange& range : plan.ranges) {
    if (range.contains(key.view())) return true;
  }
  return false;
}

void check_ranges(const Plan& plan) {
  PlanKind widest = PlanKind::empty;
  for (std::size_t i = 0; i < plan.ranges.size(); ++i) {
    REQUIRE_FALSE(plan.ranges[i].empty());
    widest = std::max(widest, plan_kind_of(plan.ranges[i]));
    if (i == 0) continue;
    REQUIRE(plan.ranges[i - 1].upper.has_value());
    REQUIRE(compare(plan.ranges[i - 1].upper->view(), plan.ranges[i].lower.view()) < 0);
  }
  REQUIRE(plan.kind == widest);
}

std::string key_list(std::string_view property, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += std::string(i == 0 ? "" : " or ") + std::string(property) + " eq '" + digits(i) + "'";
  }
  return text;
}

}  // namespace

TEST_CASE("plans") {
  for (const char* file : {"guide", "one_key", "two_bounds", "logic", "types", "text"}) {
    check_golden("plan/" + std::string(file) + ".txt", plan_of);
  }
}

TEST_CASE("a plan reads every matching row, and marks conditions that are implied") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    const Rows rows = random_rows(prng, 30);
    const FilterVocabulary vocabulary = vocabulary_of(rows.all());
    for (int i = 0; i < 10; ++i) {
      const Filter filter = RandomFilter(prng, vocabulary).make(4);
      CAPTURE(to_sexpr(filter));
      const Plan plan = make_plan(filter);
      check_ranges(plan);
      REQUIRE(plan.implied.size() == filter.nodes.size());
      for (const Entity& entity : rows.all()) {
        CAPTURE(key_text(entity.key.view()));
        const bool matching = matches_unbound(filter, entity);
        if (!holds(plan, entity.key)) {
          REQUIRE_FALSE(matching);
          continue;
        }
        if (!plan.residual) REQUIRE(matching);
        for (std::uint32_t node = 0; node < filter.nodes.size(); ++node) {
          if (plan.implied[node]) REQUIRE(matches_unbound(subtree(filter, node), entity));
        }
      }
    }
  }
}

TEST_CASE("the service's range holds every row that matches") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    const Rows rows = random_rows(prng, 30);
    const FilterVocabulary vocabulary = vocabulary_of(rows.all());
    const Filter filter = RandomFilter(prng, vocabulary).make(3);
    CAPTURE(to_sexpr(filter));
    const ServicePlan service = make_service_plan(filter);
    const Plan plan = make_plan(filter);
    if (service.kind == PlanKind::empty) REQUIRE(plan.kind == PlanKind::empty);
    REQUIRE(plan.kind <= service.kind);
    for (const Entity& entity : rows.matching(filter)) {
      REQUIRE(service.range.contains(entity.key.view()));
    }
  }
}

TEST_CASE("a range per key for as many keys as a filter can name") {
  std::string text = "PartitionKey eq 'S' and (" + key_list("RowKey", 2500) + ")";
  REQUIRE(text.size() <= limits::filter_bytes_max);
  const Plan plan = make_plan(filter_of(text));
  CHECK(plan.ranges.size() == 2500);
  CHECK(plan.kind == PlanKind::point);
  CHECK_FALSE(plan.residual);
}

TEST_CASE("products of keys are points up to the limit, then ranges that are tested") {
  const auto product = [](std::size_t partitions, std::size_t rows) {
    return make_plan(filter_of("(" + key_list("PartitionKey", partitions) + ") and (" +
                               key_list("RowKey", rows) + ")"));
  };
  const Plan exact = product(64, 64);
  CHECK(exact.ranges.size() == key_set_intervals_max);
  CHECK(exact.kind == PlanKind::point);
  CHECK_FALSE(exact.residual);

  const Plan rounded = product(64, 65);
  check_ranges(rounded);
  CHECK(rounded.ranges.size() == 64);
  CHECK(rounded.kind == PlanKind::range);
  CHECK(rounded.residual);
}

TEST_CASE("long chains of conditions within a partition are ranges with nothing to test") {
  std::string text = "PartitionKey eq 'S'";
  for (int i = 0; i < 2500; ++i)
    text += " and RowKey ne '" + digits(static_cast<std::uint64_t>(i), 4) + "'";
  REQUIRE(text.size() <= limits::filter_bytes_max);
  const Plan plan = make_plan(filter_of(text));
  check_ranges(plan);
  CHECK(plan.ranges.size() == 2501);
  CHECK_FALSE(plan.residual);
}

TEST_CASE(
    "many keys nested under many conditions are planned approximately, in the fixed partition") {
  std::string text = "(" + key_list("PartitionKey", 64) + ") and (" + key_list("RowKey", 63) + ")";
  for (int i = 0; i < 240; ++i) {
    const std::string number = digits(static_cast<std::uint64_t>(i), 4);
    text =
        "(" + text + (i % 2 == 0 ? ") and RowKey ne 'x" : ") or PartitionKey eq 'y") + number + "'";
  }
  const Plan table = make_plan(filter_of(text));
  check_ranges(table);
  CHECK(table.kind == PlanKind::table);
  CHECK(table.residual);
  const Plan partition = make_plan(filter_of("PartitionKey eq 'y0239' and (" + text + ")"));
  check_ranges(partition);
  CHECK(partition.kind == PlanKind::partition);
  CHECK(partition.residual);
}

TEST_CASE("a filter may nest as deep as the parser allows") {
  std::string text = "PartitionKey eq 'a'";
  for (std::size_t i = 0; i + 1 < limits::filter_depth_max / 2; ++i) text = "not (" + text + ")";
  const Plan plan = make_plan(filter_of(text));
  check_ranges(plan);
  CHECK_FALSE(plan.residual);
}

TEST_CASE("kinds of ranges") {
  CHECK(plan_kind_of(KeyRange::point({"a", "b"})) == PlanKind::point);
  CHECK(plan_kind_of(KeyRange::point({"", ""})) == PlanKind::point);
  CHECK(plan_kind_of(KeyRange::partition("a")) == PlanKind::partition);
  CHECK(plan_kind_of(KeyRange::partition("")) == PlanKind::partition);
  CHECK(plan_kind_of(KeyRange{}) == PlanKind::table);
  CHECK(plan_kind_of({EntityKey("a", "b"), EntityKey("a", "c")}) == PlanKind::range);
  CHECK(plan_kind_of({EntityKey("a", "b"), EntityKey(successor("a"), "")}) == PlanKind::range);
  CHECK(plan_kind_of({EntityKey("a", ""), EntityKey("b", "")}) == PlanKind::table);
  CHECK(plan_kind_of({EntityKey("a", "b"), EntityKey("b", "b")}) == PlanKind::table);
  CHECK(plan_kind_of({EntityKey("a", "b"), EntityKey("a", "b")}) == PlanKind::empty);
  CHECK(plan_kind_of({EntityKey("b", ""), EntityKey("a", "")}) == PlanKind::empty);
}

TEST_CASE("kinds have names") {
  CHECK(plan_kind_name(PlanKind::empty) == "empty");
  CHECK(plan_kind_name(PlanKind::point) == "point");
  CHECK(plan_kind_name(PlanKind::range) == "range");
  CHECK(plan_kind_name(PlanKind::partition) == "partition");
  CHECK(plan_kind_name(PlanKind::table) == "table");
}
