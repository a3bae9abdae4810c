#include "core/index/backward_cursor.h"

#include <algorithm>

#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"

namespace entitable {

using test::digits;
using test::keys_in;
using test::Prng;

namespace {

std::vector<std::string> keys_backward(const TableIndex& index, const KeyRange& range) {
  std::vector<std::string> keys;
  BackwardCursor cursor(index, range);
  for (; cursor.valid(); cursor.previous()) {
    const RowBatch rows = cursor.batch();
    REQUIRE(rows.size() > 0);
    for (std::size_t i = rows.size(); i-- > 0;) {
      keys.push_back(std::string(rows[i].partition()) + "|" + std::string(rows[i].row_key()));
    }
  }
  CHECK(cursor.at_end());
  return keys;
}

}  // namespace

TEST_CASE("a backward cursor over nothing is at its end") {
  CHECK(BackwardCursor(TableIndex(), {}).at_end());
  TableIndex index;
  index.put(test::sized("p", "r", 10));
  CHECK(BackwardCursor(index, KeyRange{EntityKey("p", "r"), EntityKey("p", "r")}).at_end());
  CHECK(BackwardCursor(index, KeyRange{EntityKey("q", ""), std::nullopt}).at_end());
  CHECK(BackwardCursor(index, KeyRange{EntityKey(), EntityKey("p", "")}).at_end());
}

TEST_CASE("a backward cursor visits the rows of a forward cursor in reverse order") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Prng prng(seed);
    TableIndex index;
    for (std::uint64_t i = 0; i < 400; ++i) {
      index.put(test::sized("p" + digits(prng.below(4)), digits(prng.below(300)), 100));
    }
    const auto random_key = [&prng] {
      return EntityKey("p" + digits(prng.below(5)), prng.chance(4) ? "" : digits(prng.below(301)));
    };
    for (int i = 0; i < 50; ++i) {
      KeyRange range{random_key(), std::nullopt};
      if (prng.chance(5)) range.lower = EntityKey();
      if (!prng.chance(4)) range.upper = random_key();
      std::vector<std::string> expected = keys_in(index, range);
      std::reverse(expected.begin(), expected.end());
      REQUIRE(keys_backward(index, range) == expected);
    }
  }
}

TEST_CASE("a backward cursor stops at unloaded leaves and goes on before them") {
  TableIndex index;
  index.add_unloaded({EntityKey(), EntityKey("b", "")}, 1, 5, 100);
  index.add_unloaded({EntityKey("b", ""), EntityKey("c", "")}, 2, 7, 100);
  index.add_unloaded({EntityKey("c", ""), std::nullopt}, 3, 1, 100);
  index.load_part(2, {test::sized("b", "x", 10), test::sized("b", "y", 10)});

  BackwardCursor cursor(index, {});
  CHECK(cursor.part_needed() == 3);
  CHECK_FALSE(cursor.valid());
  CHECK_FALSE(cursor.upper().has_value());
  CHECK(cursor.leaf_rows() == 1);
  cursor.previous();
  REQUIRE(cursor.valid());
  CHECK(cursor.part_needed() == 0);
  CHECK(cursor.batch().size() == 2);
  CHECK(cursor.upper() == EntityKey("c", ""));
  cursor.previous();
  CHECK(cursor.part_needed() == 1);
  CHECK(cursor.upper() == EntityKey("b", ""));
  cursor.previous();
  CHECK(cursor.at_end());

  // Where the range ends at the start of an unloaded leaf, that leaf is not needed.
  CHECK(BackwardCursor(index, {EntityKey(), EntityKey("c", "")}).valid());
  CHECK(BackwardCursor(index, {EntityKey(), EntityKey("c", "1")}).part_needed() == 3);
  // The range starts after the loaded rows.
  BackwardCursor after(index, {EntityKey("b", "z"), EntityKey("c", "")});
  CHECK(after.at_end());
}

}  // namespace entitable
