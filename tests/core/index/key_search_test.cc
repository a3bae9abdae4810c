#include "core/index/key_search.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"

namespace entitable {

using test::hard_text;
using test::Prng;

TEST_CASE("a head is the bytes after the prefix, most significant first") {
  CHECK(head_of(std::string_view("abcdef"), 0) == 0x61626364u);
  CHECK(head_of(std::string_view("abcdef"), 2) == 0x63646566u);
  CHECK(head_of(std::string_view("abcdef"), 4) == 0x65660000u);
  CHECK(head_of(std::string_view("abcdef"), 6) == 0u);
  CHECK(head_of(std::string_view("abcdef"), 9) == 0u);
}

TEST_CASE("a head ends where byte order and unit order may differ") {
  CHECK(head_of(std::string_view("a\xC3\xA4x"), 0) == 0x61C3A478u);
  CHECK(head_of(std::string_view("a\xEC\x80\x80"), 0) == 0x61EC8080u);
  CHECK(head_of(std::string_view("a\xED\x80\x80"), 0) == 0x61ED0000u);
  CHECK(head_of(std::string_view("a\xEF\xBC\x81"), 0) == 0x61ED0000u);
  CHECK(head_of(std::string_view("a\xF0\x9F\x98\x80"), 0) == 0x61ED0000u);
}

TEST_CASE("heads never decrease where keys increase") {
  const std::uint64_t seed = 7;
  CAPTURE(seed);
  Prng random(seed);
  std::vector<std::string> keys;
  for (int i = 0; i < 1'000; ++i) {
    keys.push_back(hard_text(random, 4));
    if (random.chance(5)) keys.back() = successor(keys.back());
  }
  std::sort(keys.begin(), keys.end(),
            [](const std::string& a, const std::string& b) { return compare_utf16(a, b) < 0; });
  for (std::size_t i = 1; i < keys.size(); ++i) {
    REQUIRE(head_of(keys[i - 1], 0) <= head_of(keys[i], 0));
  }
}

TEST_CASE("a shared prefix is whole characters") {
  const auto shared = [](std::string_view a, std::string_view b) {
    return shared_prefix(a, b, std::string_view::npos);
  };
  CHECK(shared("abc", "abd") == 2);
  CHECK(shared("abc", "abc") == 3);
  CHECK(shared("abc", "ab") == 2);
  CHECK(shared("", "ab") == 0);
  CHECK(shared("a\xC3\xA4", "a\xC3\xB6") == 1);
  CHECK(shared("\xF0\x9F\x98\x80", "\xF0\x9F\x98\x81") == 0);
  CHECK(shared("\xF0\x9F\x98\x80x", "\xF0\x9F\x98\x80y") == 4);
  CHECK(shared_prefix(std::string_view("abcdef"), std::string_view("abcdef"), 4) == 4);
  CHECK(shared_prefix(std::string_view("a\xC3\xA4"), std::string_view("a\xC3\xA4"), 2) == 1);

  // A lone high surrogate at the end may be the first unit of a pair in another key.
  CHECK(shared("a\xED\xA0\x80x", "a\xED\xA0\x80y") == 1);
  CHECK(shared("a\xED\xA0\x80", "a\xED\xA0\x80y") == 1);
  CHECK(shared("a\xED\xA0\x80\xED\xAF\xBF", "a\xED\xA0\x80\xED\xAF\xBF") == 1);
  CHECK(shared("a\xED\xB0\x80", "a\xED\xB0\x80y") == 4);
}

TEST_CASE("has_prefix compares the first bytes of a key") {
  CHECK(has_prefix(std::string_view("abc"), std::string_view("abd"), 2));
  CHECK_FALSE(has_prefix(std::string_view("abc"), std::string_view("abd"), 3));
  CHECK_FALSE(has_prefix(std::string_view("a"), std::string_view("abd"), 2));
}

TEST_CASE("search agrees with a plain search of the keys") {
  const std::uint64_t seed = 11;
  CAPTURE(seed);
  Prng random(seed);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const std::string common = hard_text(random, 5);
    std::vector<std::string> keys;
    const std::size_t count = 1 + random.below(40);
    for (std::size_t i = 0; i < count; ++i) keys.push_back(common + hard_text(random, 4));
    for (std::string& key : keys) key = wtf8_from_utf16(utf16_from_wtf8(key));  // join pairs
    const auto below = [](const std::string& a, const std::string& b) {
      return compare_utf16(a, b) < 0;
    };
    std::sort(keys.begin(), keys.end(), below);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    const std::size_t prefix = shared_prefix(keys.front(), keys.back(), keys.front().size());

    for (int probing = 0; probing < 60; ++probing) {
      std::string probe = random.chance(2)
                              ? keys[random.below(keys.size())]
                              : wtf8_from_utf16(utf16_from_wtf8(common + hard_text(random, 4)));
      if (random.chance(4)) probe = hard_text(random, 6);
      if (random.chance(6)) probe = successor(probe);
      const auto expected = std::lower_bound(keys.begin(), keys.end(), probe, below);
      const SearchResult position = search(
          0, static_cast<std::uint32_t>(keys.size()), prefix, std::string_view(probe),
          [&](std::uint32_t i) { return head_of(keys[i], prefix); },
          [&](std::uint32_t i) { return std::string_view(keys[i]); });
      REQUIRE(position.index == static_cast<std::size_t>(expected - keys.begin()));
      REQUIRE(position.found == (expected != keys.end() && *expected == probe));
    }
  }
}

TEST_CASE("the run of a position is found") {
  const KeyRun runs[] = {{0, 0, 0, 0, 1}, {0, 0, 0, 0, 4}, {0, 0, 0, 0, 5}};
  CHECK(run_containing(runs, 1, 7) == 0);
  CHECK(run_containing(runs, 3, 1) == 0);
  CHECK(run_containing(runs, 3, 3) == 0);
  CHECK(run_containing(runs, 3, 4) == 1);
  CHECK(run_containing(runs, 3, 5) == 2);
  CHECK(run_containing(runs, 3, 9) == 2);
}

TEST_CASE("equal heads are distinguished by the keys") {
  std::vector<std::string> keys;
  for (int i = 0; i < 100; ++i)
    keys.push_back("\xF0\x9F\x98\x80" + test::digits(static_cast<std::uint64_t>(i)));
  keys.insert(keys.begin(), "a");
  keys.push_back("\xEF\xBF\xBF");  // has the same head as the emoji keys, but is above them
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const SearchResult position = search(
        0, static_cast<std::uint32_t>(keys.size()), 0, std::string_view(keys[i]),
        [&](std::uint32_t k) { return head_of(keys[k], 0); },
        [&](std::uint32_t k) { return std::string_view(keys[k]); });
    REQUIRE(position.found);
    REQUIRE(position.index == i);
  }
}

TEST_CASE("searching nothing finds nothing") {
  const SearchResult position = search(
      3, 3, 0, std::string_view("x"), [](std::uint32_t) { return 0u; },
      [](std::uint32_t) { return std::string_view(); });
  CHECK(position.index == 3);
  CHECK_FALSE(position.found);
}

}  // namespace entitable
