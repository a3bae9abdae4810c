#include "core/query/key_set.h"

#include <span>
#include <string>
#include <vector>

#include "core/base/utf8.h"
#include "core/model/key.h"
#include "tests/support/catch.h"
#include "tests/support/generators.h"

using namespace entitable;
using namespace entitable::test;

namespace {

constexpr std::string_view nul = std::string_view("\0", 1);

bool holds(const KeyInterval& interval, std::string_view text) {
  const KeyBound at = KeyBound::before(text);
  return compare(interval.lower, at) <= 0 && compare(at, interval.upper) < 0;
}

bool holds(const KeySet& set, std::string_view partition, std::string_view row) {
  for (const PartitionInterval& segment : set) {
    if (!holds(segment.partitions, partition)) continue;
    for (const KeyInterval& rows : segment.rows) {
      if (holds(rows, row)) return true;
    }
  }
  return false;
}

void check_canonical(const KeySet& set) {
  std::size_t pieces = 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    REQUIRE_FALSE(set[i].partitions.empty());
    REQUIRE_FALSE(set[i].rows.empty());
    pieces += set[i].rows.size();
    for (std::size_t r = 0; r < set[i].rows.size(); ++r) {
      REQUIRE_FALSE(set[i].rows[r].empty());
      if (r > 0) REQUIRE(compare(set[i].rows[r - 1].upper, set[i].rows[r].lower) < 0);
    }
    if (i == 0) continue;
    const int gap = compare(set[i - 1].partitions.upper, set[i].partitions.lower);
    REQUIRE(gap <= 0);
    if (gap == 0) REQUIRE_FALSE(set[i - 1].rows == set[i].rows);
  }
  REQUIRE(pieces <= key_set_intervals_max);
}

KeyInterval point(std::string_view text) {
  return {KeyBound::before(text), KeyBound::after(text)};
}

const std::vector<std::string>& texts() {
  static const std::vector<std::string> all = {"", "a", "a" + std::string(nul), "aa", "b", "c"};
  return all;
}

KeyInterval random_interval(Prng& prng) {
  const auto bound = [&] {
    const std::string& text = pick(prng, texts());
    return prng.chance(2) ? KeyBound::before(text) : KeyBound::after(text);
  };
  const KeyBound lower = prng.chance(4) ? KeyBound::start() : bound();
  return {lower, prng.chance(4) ? KeyBound::end() : bound()};
}

KeySet random_set(Prng& prng) {
  KeySet set;
  for (std::uint64_t i = prng.below(4); i > 0; --i) {
    const KeyInterval rows = random_interval(prng);
    set = unite(set, keys_in_intervals(random_interval(prng), rows), KeySetRounding::up);
  }
  return prng.chance(3) ? complement(set) : set;
}

// Returns the set of `partitions` times `rows` single keys.
KeySet grid(std::span<const std::string> partitions, std::span<const std::string> rows) {
  KeySet in_partitions;
  for (const std::string& text : partitions) {
    in_partitions = unite(in_partitions, keys_in_intervals(point(text), KeyInterval::all()),
                          KeySetRounding::up);
  }
  KeySet in_rows;
  for (const std::string& text : rows) {
    in_rows =
        unite(in_rows, keys_in_intervals(KeyInterval::all(), point(text)), KeySetRounding::up);
  }
  return intersect(in_partitions, in_rows, KeySetRounding::up);
}

// Returns the first of the numbers from 10000 on; sets refer to these strings.
std::span<const std::string> numbers(std::size_t count) {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < key_set_intervals_max; ++i)
      all.push_back(std::to_string(10000 + i));
    return all;
  }();
  return std::span(texts).first(count);
}

}  // namespace

TEST_CASE("bounds are ordered like the strings next to them") {
  const std::string a_nul = "a" + std::string(nul);
  const std::vector<KeyBound> ascending = {
      KeyBound::start(),      KeyBound::after(""),   KeyBound::before("a"), KeyBound::after("a"),
      KeyBound::after(a_nul), KeyBound::before("b"), KeyBound::end()};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      CAPTURE(i, j);
      const int order = compare(ascending[i], ascending[j]);
      CHECK((order < 0) == (i < j));
      CHECK((order == 0) == (i == j));
    }
  }
}

TEST_CASE("equal bounds have one representation") {
  CHECK(KeyBound::before("a" + std::string(nul)) == KeyBound::after("a"));
  CHECK(KeyBound::before(nul) == KeyBound::after(""));
  CHECK(KeyBound::start().is_start());
  CHECK_FALSE(KeyBound::after("").is_start());
  CHECK(KeyBound::before("x").smallest_key_above() == "x");
  CHECK(KeyBound::after("x").smallest_key_above() == "x" + std::string(nul));
}

TEST_CASE("bounds order by UTF-16 units") {
  CHECK(compare(KeyBound::before("\xF0\x9F\x98\x80"), KeyBound::before("\xEF\xBD\x9E")) < 0);
}

TEST_CASE("an interval knows whether it holds one string") {
  CHECK(point("a").is_single());
  CHECK(point("").is_single());
  CHECK_FALSE(KeyInterval{KeyBound::before("a"), KeyBound::before("b")}.is_single());
  CHECK_FALSE(KeyInterval::all().is_single());
  const std::string a_nul = "a" + std::string(nul);
  CHECK(point(a_nul).is_single());
  CHECK(point(a_nul).upper.text() == a_nul);
  CHECK_FALSE(KeyInterval{KeyBound::before("a"), KeyBound::after(a_nul)}.is_single());
  CHECK_FALSE(KeyInterval{KeyBound::after("a"), KeyBound::after("b")}.is_single());
  CHECK(KeyInterval{KeyBound::after("a"), KeyBound::after("a")}.empty());
  CHECK(KeyInterval{KeyBound::before("b"), KeyBound::after("a")}.empty());
}

TEST_CASE("nothing and everything") {
  CHECK(is_all(all_keys()));
  CHECK_FALSE(is_all({}));
  CHECK(complement({}) == all_keys());
  CHECK(complement(all_keys()).empty());
  CHECK(
      keys_in_intervals(KeyInterval::all(), {KeyBound::after("a"), KeyBound::before("a")}).empty());
}

TEST_CASE("set operations agree with logic") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    const KeySet a = random_set(prng);
    const KeySet b = random_set(prng);
    const KeySet both = intersect(a, b, KeySetRounding::up);
    const KeySet either = unite(a, b, KeySetRounding::up);
    const KeySet not_a = complement(a);
    for (const KeySet* set : {&a, &b, &both, &either, &not_a}) check_canonical(*set);
    bool subset = true;
    for (const std::string& partition : texts()) {
      for (const std::string& row : texts()) {
        const bool in_a = holds(a, partition, row);
        const bool in_b = holds(b, partition, row);
        REQUIRE(holds(both, partition, row) == (in_a && in_b));
        REQUIRE(holds(either, partition, row) == (in_a || in_b));
        REQUIRE(holds(not_a, partition, row) == !in_a);
        subset = subset && (!in_a || in_b);
      }
    }
    REQUIRE(is_subset(a, b) == intersect(a, complement(b), KeySetRounding::up).empty());
    if (is_subset(a, b)) REQUIRE(subset);  // but not the reverse: sets also differ between texts
    REQUIRE(is_subset(both, a));
    REQUIRE(is_subset(a, either));
    REQUIRE(complement(not_a) == a);
    REQUIRE(unite(b, a, KeySetRounding::down) == either);
    REQUIRE(intersect(b, a, KeySetRounding::down) == both);
  }
}

TEST_CASE("a set is exact up to the limit of intervals, and rounded beyond") {
  const std::span<const std::string> rows = numbers(64);
  const KeySet exact = grid(numbers(64), rows);
  check_canonical(exact);
  CHECK(exact.size() == 64);
  CHECK(exact.front().rows.size() == 64);
  CHECK_FALSE(holds(exact, "10000", "100005"));

  const KeySet rounded = grid(numbers(65), rows);
  check_canonical(rounded);
  CHECK(rounded.size() == 65);
  CHECK(rounded.front().rows.size() == 1);
  CHECK(holds(rounded, "10064", "10063"));
  CHECK(holds(rounded, "10000", "100005"));       // between two of its rows
  CHECK_FALSE(holds(rounded, "10000", "10064"));  // above all
}

TEST_CASE("a chain of every comparison that fits into a filter stays exact") {
  KeySet set;
  for (const std::string& text : numbers(key_set_intervals_max)) {
    set.push_back({point(text), {KeyInterval::all()}});
  }
  const KeySet one_more = keys_in_intervals(point("99999"), KeyInterval::all());
  const KeySet same =
      unite(set, keys_in_intervals(point("10000"), KeyInterval::all()), KeySetRounding::up);
  CHECK(same == set);

  const KeySet up = unite(set, one_more, KeySetRounding::up);
  check_canonical(up);
  CHECK(up.size() < set.size());
  for (const PartitionInterval& segment : set)
    REQUIRE(holds(up, segment.partitions.lower.text(), ""));
  CHECK(holds(up, "99999", ""));
  CHECK_FALSE(holds(up, "0", ""));

  const KeySet down = unite(set, one_more, KeySetRounding::down);
  check_canonical(down);
  CHECK(down == set);
}

TEST_CASE("rounding down only removes keys") {
  std::vector<KeySet> lists;
  for (const bool partitions : {true, false}) {
    KeySet set;
    for (const std::string& text : numbers(100)) {
      const KeySet one = partitions ? keys_in_intervals(point(text), KeyInterval::all())
                                    : keys_in_intervals(KeyInterval::all(), point(text));
      set = unite(set, one, KeySetRounding::up);
    }
    lists.push_back(set);
  }
  const KeySet down = intersect(lists[0], lists[1], KeySetRounding::down);
  check_canonical(down);
  CHECK(is_subset(down, lists[0]));
  CHECK(is_subset(down, lists[1]));
  const KeySet up = intersect(lists[0], lists[1], KeySetRounding::up);
  check_canonical(up);
  for (const std::string& text : numbers(100)) REQUIRE(holds(up, text, text));
}
