// Tests the tree of key ranges, also against a list of ranges.
#include "core/live/range_tree.h"

#include <algorithm>
#include <cstdint>

#include "tests/support/catch.h"
#include "tests/support/env_number.h"
#include "tests/support/generators.h"

namespace entitable {
namespace {

using test::number_from_env;
using test::Prng;

// The tree only stores the addresses of watches.
Watch* watch(std::uintptr_t number) {
  return reinterpret_cast<Watch*>(number);
}

std::vector<Watch*> found(const RangeTree& tree, const KeyView& key) {
  std::vector<Watch*> watches;
  tree.find(key, watches);
  std::sort(watches.begin(), watches.end());
  return watches;
}

using FoundWatches = std::vector<Watch*>;

KeyRange random_range(Prng& prng) {
  switch (prng.below(5)) {
    case 0:
      return KeyRange::point(test::random_entity_key(prng).view());
    case 1:
      return KeyRange::partition(test::random_key(prng));
    case 2:
      return {test::random_entity_key(prng), std::nullopt};
    default:
      return {test::random_entity_key(prng), test::random_entity_key(prng)};
  }
}

}  // namespace

TEST_CASE("a range holds its lower bound, and not its upper bound") {
  RangeTree tree;
  CHECK(tree.empty());
  CHECK(!tree.covers({"b", "1"}));
  const KeyRange* const range = tree.add({EntityKey("b", "1"), EntityKey("c", "1")}, watch(1));
  CHECK(tree.covers({"b", "1"}));
  CHECK(tree.covers({"c", ""}));
  CHECK(!tree.covers({"b", "0"}));
  CHECK(!tree.covers({"c", "1"}));
  tree.remove(range, watch(1));
  CHECK(tree.empty());
}

TEST_CASE("equal ranges share a node, until the last watch is removed") {
  RangeTree tree;
  const KeyRange* const first = tree.add(KeyRange::partition("b"), watch(1));
  const KeyRange* const second = tree.add(KeyRange::partition("b"), watch(2));
  CHECK(first == second);
  CHECK(found(tree, {"b", "x"}) == FoundWatches{watch(1), watch(2)});
  tree.remove(first, watch(1));
  CHECK(found(tree, {"b", "x"}) == FoundWatches{watch(2)});
  tree.remove(second, watch(2));
  CHECK(tree.empty());
}

TEST_CASE("a search finds nested, overlapping and unbounded ranges") {
  RangeTree tree;
  tree.add({EntityKey(), std::nullopt}, watch(1));
  tree.add({EntityKey("b", ""), EntityKey("d", "")}, watch(2));
  tree.add(KeyRange::point({"c", "1"}), watch(3));
  tree.add({EntityKey("c", ""), std::nullopt}, watch(4));
  CHECK(found(tree, {"a", ""}) == FoundWatches{watch(1)});
  CHECK(found(tree, {"c", "1"}) == FoundWatches{watch(1), watch(2), watch(3), watch(4)});
  CHECK(found(tree, {"d", ""}) == FoundWatches{watch(1), watch(4)});
}

TEST_CASE("the tree stays balanced for ascending, descending and equal bounds") {
  RangeTree tree;
  std::vector<const KeyRange*> ranges;
  for (std::uintptr_t i = 1; i <= 300; ++i) {
    const std::string row = std::to_string(1000 + (i % 2 == 0 ? i : 999 - i));
    ranges.push_back(tree.add({EntityKey("p", row), EntityKey("q", row)}, watch(i)));
    REQUIRE(tree.verify() == "");
  }
  CHECK(found(tree, {"p", "9"}).size() == 300);
  for (std::uintptr_t i = 1; i <= 300; ++i) {
    tree.remove(ranges[i - 1], watch(i));
    REQUIRE(tree.verify() == "");
  }
  CHECK(tree.empty());
}

TEST_CASE("random ranges are found as in a list") {
  const std::uint64_t seed = number_from_env("ENTITABLE_SEED", 20261125);
  INFO("replay with ENTITABLE_SEED=" << seed);
  Prng prng(seed);
  RangeTree tree;
  struct Added {
    const KeyRange* range;
    Watch* watch;
  };
  std::vector<Added> list;
  std::uintptr_t last = 0;
  for (std::uint64_t step = 0; step < number_from_env("ENTITABLE_STEPS", 4000); ++step) {
    if (list.size() > 60 || (!list.empty() && prng.chance(3))) {
      const auto at = list.begin() + static_cast<std::ptrdiff_t>(prng.below(list.size()));
      tree.remove(at->range, at->watch);
      list.erase(at);
    } else if (const KeyRange range = random_range(prng); !range.empty()) {
      ++last;
      list.push_back({tree.add(range, watch(last)), watch(last)});
      REQUIRE(*list.back().range == range);
    }
    REQUIRE(tree.verify() == "");
    const EntityKey key = test::random_entity_key(prng);
    FoundWatches expected;
    for (const Added& added : list) {
      if (added.range->contains(key.view())) expected.push_back(added.watch);
    }
    std::sort(expected.begin(), expected.end());
    REQUIRE(found(tree, key.view()) == expected);
    REQUIRE(tree.covers(key.view()) == !expected.empty());
  }
}

}  // namespace entitable
