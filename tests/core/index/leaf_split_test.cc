#include "core/index/leaf_split.h"

#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"

namespace entitable {

using test::digits;
using test::Prng;

namespace {

std::string bound(const KeyView& below, const KeyView& above) {
  const EntityKey key = bound_between(below, above);
  return key.partition + "|" + key.row;
}

struct SplitFixture {
  Schema schema;
  Ref<Leaf> leaf = make_ref<Leaf>();

  std::string pack(std::string_view row, std::size_t bytes) {
    const std::string text(bytes, 'x');
    const std::vector<PropertyView> properties = {{"text", ValueView::of_string(text)}};
    std::string packed;
    pack_row(schema.intern(std::span<const PropertyView>(properties)), row, 1, properties, packed);
    return packed;
  }
  void put(std::string_view partition, std::string_view row, std::size_t bytes) {
    leaf->insert(leaf->find({partition, row}), partition, pack(row, bytes),
                 static_cast<std::uint32_t>(row.size()));
  }
  std::vector<Child> split(std::string_view partition, std::string_view row, std::size_t bytes) {
    const std::string packed = pack(row, bytes);
    std::vector<Child> parts =
        split_leaf(as_node(leaf), leaf->find({partition, row}), {partition, row}, packed);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& part = static_cast<const Leaf&>(*parts[i].node);
      REQUIRE(part.verify(schema) == "");
      REQUIRE(part.size() > 0);
      if (i == 0) continue;
      const auto& before = static_cast<const Leaf&>(*parts[i - 1].node);
      REQUIRE(compare(before.key(before.size() - 1), parts[i].lower.view()) < 0);
      REQUIRE(compare(parts[i].lower.view(), part.key(0)) <= 0);
    }
    return parts;
  }
};

std::string sizes(const std::vector<Child>& parts) {
  std::string all;
  for (const Child& part : parts) {
    all += std::to_string(static_cast<const Leaf&>(*part.node).size()) + " ";
  }
  return all;
}

}  // namespace

TEST_CASE("a bound is the shortest text between two neighbours") {
  CHECK(bound({"p", "abc"}, {"p", "abd"}) == "p|abd");
  CHECK(bound({"p", "abcx"}, {"p", "abdy"}) == "p|abd");
  CHECK(bound({"p", "ab"}, {"p", "abc"}) == "p|abc");
  CHECK(bound({"p", "ab"}, {"p", "abcd"}) == "p|abc");
  CHECK(bound({"p", ""}, {"p", "xyz"}) == "p|x");
  CHECK(bound({"p", "000199"}, {"p", "000200"}) == "p|0002");
  CHECK(bound({"p1", "zzz"}, {"p2", "aaa"}) == "p2|");
  CHECK(bound({"p", "zzz"}, {"pqrs", "aaa"}) == "pq|");
  CHECK(bound({"", "zzz"}, {"pqrs", "aaa"}) == "p|");
}

TEST_CASE("a bound ends after whole characters") {
  CHECK(bound({"p", "a\xC3\xA4"}, {"p", "a\xC3\xB6zz"}) == "p|a\xC3\xB6");
  CHECK(bound({"p", "\xF0\x9F\x98\x80"}, {"p", "\xF0\x9F\x98\x81zz"}) == "p|\xF0\x9F\x98\x81");
  // The second key starts with the first key's high surrogate, then U+E000. A bound that ended
  // after the surrogate would be below the first key.
  CHECK(bound({"p", "\xF0\x90\x80\x80"}, {"p", "\xED\xA0\x80\xEE\x80\x80zz"}) ==
        "p|\xED\xA0\x80\xEE\x80\x80");
}

TEST_CASE("bounds lie between any two keys") {
  const std::uint64_t seed = 17;
  CAPTURE(seed);
  Prng random(seed);
  for (int round = 0; round < 5'000; ++round) {
    const EntityKey a(test::hard_text(random, 2), test::hard_text(random, 4));
    const EntityKey b(test::hard_text(random, 2), test::hard_text(random, 4));
    const int order = compare(a.view(), b.view());
    if (order == 0) continue;
    const EntityKey& below = order < 0 ? a : b;
    const EntityKey& above = order < 0 ? b : a;
    const EntityKey between = bound_between(below.view(), above.view());
    REQUIRE(is_wtf8(between.partition));
    REQUIRE(is_wtf8(between.row));
    REQUIRE(compare(below.view(), between.view()) < 0);
    REQUIRE(compare(between.view(), above.view()) <= 0);
  }
}

TEST_CASE("rows appended or prepended leave the full leaf unchanged") {
  SplitFixture t;
  for (std::uint64_t i = 10; i < 40; ++i) t.put("p", digits(i), 200);
  t.leaf->set_part(4, 1);
  std::vector<Child> parts = t.split("p", digits(99), 200);
  REQUIRE(sizes(parts) == "30 1 ");
  CHECK(parts[0].node == as_node(t.leaf));
  CHECK(t.leaf->part() == 4);  // the leaf still has exactly the rows of its part
  CHECK(static_cast<const Leaf&>(*parts[1].node).part() == 0);

  parts = t.split("p", digits(1), 200);
  REQUIRE(sizes(parts) == "1 30 ");
  CHECK(parts[1].node == as_node(t.leaf));
}

TEST_CASE("a row in the middle splits the leaf in halves") {
  SplitFixture t;
  for (std::uint64_t i = 0; i < 30; ++i) t.put("p", digits((i * 7) % 30 * 10), 200);
  CHECK(sizes(t.split("p", digits(155), 200)) == "15 16 ");
  // The halves have equal numbers of bytes, not of rows.
  SplitFixture uneven;
  uneven.put("p", "0", 4'000);
  for (std::uint64_t i = 30; i > 10; --i) uneven.put("p", digits((i * 7) % 31), 150);
  CHECK(sizes(uneven.split("p", digits(15) + "x", 150)) == "1 21 ");
}

TEST_CASE("rows that rise or fall in the middle leave full leaves behind") {
  SplitFixture rising;
  rising.put("p", "z1", 100);
  for (std::uint64_t i = 0; i < 30; ++i) rising.put("p", digits(i), 200);
  CHECK(sizes(rising.split("p", digits(30), 200)) == "31 1 ");

  SplitFixture falling;
  falling.put("p", "0", 100);
  for (std::uint64_t i = 60; i > 30; --i) falling.put("p", digits(i, 3), 200);
  CHECK(sizes(falling.split("p", digits(30, 3), 200)) == "1 31 ");
}

TEST_CASE("a huge row between small rows gets its own leaf") {
  SplitFixture t;
  for (std::uint64_t i = 0; i < 30; ++i) t.put("p", digits(i * 10), 200);
  CHECK(sizes(t.split("p", digits(105), 1'000'000)) == "11 1 19 ");
  CHECK(sizes(t.split("p", digits(100), 1'000'000)) == "10 1 19 ");  // replaces a small row
  CHECK(sizes(t.split("p", digits(999), 1'000'000)) == "30 1 ");

  SplitFixture huge;
  huge.put("p", digits(5), 1'000'000);
  CHECK(sizes(huge.split("p", digits(4), 10)) == "1 1 ");
  CHECK(sizes(huge.split("p", digits(6), 10)) == "1 1 ");
}

TEST_CASE("every partition in a leaf of many survives a split") {
  SplitFixture t;
  for (std::uint64_t i = 0; i < 60; ++i) t.put("partition " + digits((i * 7) % 60 * 2), "row", 60);
  const std::vector<Child> parts = t.split("partition " + digits(31), "row", 60);
  REQUIRE(parts.size() == 2);
  CHECK(parts[1].lower.row.empty());
  std::uint32_t rows = 0;
  for (const Child& part : parts) rows += static_cast<const Leaf&>(*part.node).run_count();
  CHECK(rows == 61);
}

}  // namespace entitable
