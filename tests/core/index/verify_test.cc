// Checks that verify() detects damage: the tests change the bytes of a row, or an overlay.
#include <cstring>

#include "core/index/leaf.h"
#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"

namespace entitable {

using test::digits;

namespace {

TableIndex small_index() {
  TableIndex index;
  for (std::uint64_t i = 0; i < 200; ++i) index.put(test::sized("p", digits(i), 100));
  REQUIRE(index.verify() == "");
  return index;
}

// Returns the bytes of a row, which begin with its row key.
char* row_bytes(const TableIndex& index, std::uint64_t number) {
  return const_cast<char*>(index.find({"p", digits(number)}).row->row_key().data());
}

constexpr std::size_t base = 6;  // the length of the row key, after which the packed row begins

}  // namespace

TEST_CASE("verify detects a key out of order") {
  const TableIndex index = small_index();
  row_bytes(index, 77)[0] = '9';
  CHECK(index.verify() != "");
}

TEST_CASE("verify detects an unknown shape") {
  const TableIndex index = small_index();
  const std::uint16_t shape = 999;
  std::memcpy(row_bytes(index, 100) + base + row_layout::shape_at, &shape, 2);
  CHECK(index.verify() == "row: unknown shape");
}

TEST_CASE("verify detects misplaced texts") {
  const TableIndex index = small_index();
  const std::uint32_t start = 5'000;
  std::memcpy(row_bytes(index, 100) + base + row_layout::columns_at, &start, 4);
  CHECK(index.verify() == "row: text out of place");
}

TEST_CASE("verify detects an overlay of another leaf") {
  TableIndex index;
  index.add_unloaded({EntityKey("b", ""), EntityKey("c", "")}, 3, 10, 1'000);
  const LeafIterator walk(index, {"b", ""});
  REQUIRE(walk.leaf().is_unloaded());
  const auto fault_of = [&](const std::vector<KeyView>& keys) {
    Ref<Overlay> overlay = make_ref<Overlay>();
    for (const KeyView& key : keys) overlay->erase(key);
    walk.leaf().set_part(3, 1, overlay);
    return index.verify();
  };
  CHECK(fault_of({{"b", "1"}, {"b", "2"}}) == "");
  CHECK(fault_of({}) == "overlay: without changes");
  CHECK(fault_of({{"a", "9"}, {"b", "2"}}) == "overlay: a change below its leaf");
  CHECK(fault_of({{"b", "1"}, {"c", ""}}) == "overlay: a change above its leaf");
}

TEST_CASE("verify detects a wrong size") {
  const TableIndex index = small_index();
  const std::uint32_t end = 10;
  std::memcpy(row_bytes(index, 100) + base + row_layout::end_at, &end, 4);
  CHECK(index.verify() == "row: shorter than its columns");
}

}  // namespace entitable
