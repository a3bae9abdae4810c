#include "core/index/key_range.h"

#include "tests/support/catch.h"

namespace entitable {

TEST_CASE("the default range is everything") {
  const KeyRange all;
  CHECK_FALSE(all.empty());
  CHECK(all.contains({"", ""}));
  CHECK(all.contains({"p", "r"}));
  CHECK(all.contains({"\xF4\x8F\xBF\xBF", "\xEF\xBF\xBF"}));
}

TEST_CASE("a range is half open") {
  const KeyRange range{EntityKey("b", "2"), EntityKey("c", "1")};
  CHECK_FALSE(range.contains({"b", "1"}));
  CHECK(range.contains({"b", "2"}));
  CHECK(range.contains({"b", "3"}));
  CHECK(range.contains({"c", ""}));
  CHECK(range.contains({"c", "0"}));
  CHECK_FALSE(range.contains({"c", "1"}));
  CHECK_FALSE(range.contains({"d", ""}));
}

TEST_CASE("a point holds one key, a partition all of its rows") {
  const KeyRange point = KeyRange::point({"p", "r"});
  CHECK(point.contains({"p", "r"}));
  CHECK_FALSE(point.contains({"p", "q"}));
  CHECK_FALSE(point.contains({"p", "r0"}));
  CHECK_FALSE(point.contains({"p", ""}));

  const KeyRange partition = KeyRange::partition("p");
  CHECK(partition.contains({"p", ""}));
  CHECK(partition.contains({"p", "\xEF\xBF\xBF"}));
  CHECK_FALSE(partition.contains({"p!", ""}));
  CHECK_FALSE(partition.contains({"o", "z"}));
}

TEST_CASE("a range whose upper bound is not above its lower bound is empty") {
  CHECK(KeyRange{EntityKey("b", ""), EntityKey("b", "")}.empty());
  CHECK(KeyRange{EntityKey("b", "1"), EntityKey("b", "")}.empty());
  CHECK(KeyRange{EntityKey("c", ""), EntityKey("b", "9")}.empty());
  CHECK_FALSE(KeyRange{EntityKey("b", ""), EntityKey("b", "0")}.empty());
  CHECK_FALSE(KeyRange{EntityKey("b", ""), std::nullopt}.empty());
}

TEST_CASE("an intersection takes the tighter bounds") {
  const KeyRange all;
  const KeyRange low{EntityKey(), EntityKey("m", "")};
  const KeyRange high{EntityKey("f", "1"), std::nullopt};
  const KeyRange both{EntityKey("f", "1"), EntityKey("m", "")};
  CHECK(intersect(all, all) == all);
  CHECK(intersect(all, low) == low);
  CHECK(intersect(high, all) == high);
  CHECK(intersect(low, high) == both);
  CHECK(intersect(high, low) == both);
  CHECK(intersect(both, both) == both);
  CHECK(intersect(KeyRange::partition("a"), KeyRange::partition("b")).empty());
  CHECK(intersect(KeyRange::partition("a"), KeyRange::point({"a", "1"})) ==
        KeyRange::point({"a", "1"}));
}

TEST_CASE("ranges follow the order of UTF-16 units") {
  // U+FF01 is above U+1F600 in UTF-16 units (0xFF01 > 0xD83D), but below it in UTF-8 bytes.
  const KeyRange range{EntityKey("\xF0\x9F\x98\x80", ""), EntityKey("\xEF\xBC\x81", "")};
  CHECK_FALSE(range.empty());
  CHECK(range.contains({"\xF0\x9F\x98\x81", "x"}));
  CHECK_FALSE(range.contains({"\xEF\xBC\x82", ""}));
}

}  // namespace entitable
