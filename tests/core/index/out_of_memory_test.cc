// Checks that the index survives running out of memory during a change: other versions stay as they
// were, nothing leaks (AddressSanitizer reports leaks), and the changed copy can be destroyed. The
// allocator of this test program fails on demand.
#include <array>
#include <new>

#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"
#include "tests/support/failing_allocator.h"

namespace entitable {

using test::digits;

namespace {

// Runs change(copy) on copies of `shared`. The first allocation fails, then the second in the next
// run, and so on until a run has no failure.
template <typename Change>
void fail_everywhere(const TableIndex& shared, Change change) {
  const std::vector<std::string> keys = test::keys_in(shared);
  const std::uint64_t bytes = shared.bytes();
  bool failed = true;
  for (long left = 0; failed; ++left) {
    CAPTURE(left);
    TableIndex candidate = shared;
    failed = false;
    allocations_left = left;
    try {
      change(candidate);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    allocations_left = never;
    if (!failed) REQUIRE(candidate.verify() == "");
    candidate = TableIndex();
    REQUIRE(shared.verify() == "");
    REQUIRE(shared.bytes() == bytes);
    REQUIRE(left < 1'000);
  }
  REQUIRE(test::keys_in(shared) == keys);
}

TableIndex two_levels() {
  TableIndex index;
  for (std::uint64_t i = 0; i < 6'000; ++i) index.put(test::sized("p", digits(i * 2), 100));
  return index;
}

}  // namespace

TEST_CASE("memory runs out in an insert") {
  const TableIndex shared = two_levels();
  const Entity row = test::sized("p", digits(3'001), 100);
  fail_everywhere(shared, [&row](TableIndex& index) { index.put(row); });
}

TEST_CASE("memory runs out where a row is put in place, and nothing has changed") {
  TableIndex index = two_levels();
  // Puts a row, and repeats it until memory suffices. Returns the number of failed attempts.
  const auto put = [&index](const Entity& row) {
    const std::vector<PropertyView> properties = property_views(row.properties);
    const std::uint64_t rows = index.row_count();
    const std::uint64_t bytes = index.bytes();
    for (long left = 0;; ++left) {
      REQUIRE(left < 1'000);
      allocations_left = left;
      try {
        const bool done = index.try_put_in_place(row.key.view(), row.timestamp, properties);
        allocations_left = never;
        if (!done) index.put(row);
        return left;
      } catch (const std::bad_alloc&) {
        allocations_left = never;
        REQUIRE(index.verify() == "");
        REQUIRE(index.row_count() == rows);
        REQUIRE(index.bytes() == bytes);
      }
    }
  };
  long failures = 0;
  for (std::uint64_t i = 12'000; i < 12'200; ++i) {
    failures += put(test::sized("p", digits(i), 100));                         // appends to a leaf
    failures += put(test::sized("p", digits(i), 100 + i % 50));                // replaces that row
    failures += put(test::sized("p", digits(i % 20) + "a" + digits(i), 100));  // splits leaves
    failures += put(test::sized("q" + digits(i), "", 500));                    // adds a partition
  }
  CHECK(failures > 10);
  CHECK(index.verify() == "");
}

TEST_CASE("memory runs out where a row is put in each of two indexes, and neither has changed") {
  std::array<TableIndex, 2> indexes{two_levels(), two_levels()};
  long failures = 0;
  int prepared = 0;
  // Puts the row in both, and repeats that until memory suffices.
  const auto put = [&](const Entity& row) {
    const std::vector<PropertyView> properties = property_views(row.properties);
    const std::array<std::uint64_t, 2> bytes{indexes[0].bytes(), indexes[1].bytes()};
    const KeyView key = row.key.view();
    for (long left = 0;; ++left) {
      REQUIRE(left < 1'000);
      allocations_left = left;
      try {
        const auto first = indexes[0].prepare_put(key, row.timestamp, properties, 0);
        const auto second = indexes[1].prepare_put(key, row.timestamp, properties, 0);
        if (first.has_value() && second.has_value()) {
          indexes[0].reserve_memory(key, *first);
          indexes[1].reserve_memory(key, *second);
          allocations_left = 0;  // nothing may fail from here on
          indexes[0].put_prepared(key, *first);
          indexes[1].put_prepared(key, *second);
          ++prepared;
        } else {
          allocations_left = never;
          for (TableIndex& index : indexes) index.put(row);
        }
        allocations_left = never;
        return;
      } catch (const std::bad_alloc&) {
        allocations_left = never;
        ++failures;
        for (std::size_t i = 0; i < indexes.size(); ++i) {
          REQUIRE(indexes[i].verify() == "");
          REQUIRE(indexes[i].bytes() == bytes[i]);
        }
      }
    }
  };
  for (std::uint64_t i = 12'000; i < 12'200; ++i) {
    put(test::sized("p", digits(i), 100));
    put(test::sized("p", digits(i), 100 + i % 50));
    put(test::sized("p", digits(i % 20) + "a" + digits(i), 100));
    put(test::sized("q" + digits(i), "", 500));
    for (const TableIndex& index : indexes)
      REQUIRE(index.find({"p", digits(i)}).row->timestamp() ==
              test::sized("p", digits(i), 100).timestamp);
  }
  CHECK(failures > 10);
  CHECK(prepared > 700);
  CHECK(test::keys_in(indexes[0]) == test::keys_in(indexes[1]));
  for (const TableIndex& index : indexes) CHECK(index.verify() == "");
}

TEST_CASE("memory runs out in an insert with a new shape") {
  const TableIndex shared = two_levels();
  int round = 0;
  fail_everywhere(shared, [&round](TableIndex& index) {
    const std::string name =
        "name that is new and long enough to allocate " + std::to_string(round++ / 40);
    const std::vector<PropertyView> properties = {{name, ValueView::of_int32(1)}};
    index.put({"p", "x"}, 1, properties);
  });
}

TEST_CASE("memory runs out in splits up to the root") {
  TableIndex shared = two_levels();
  const Entity huge = test::sized("p", digits(3'001), 500'000);
  fail_everywhere(shared, [&huge](TableIndex& index) { index.put(huge); });

  // Fill an inner node, so that splitting a leaf splits that node too.
  TableIndex index;
  std::uint64_t i = 0;
  while (test::leaves_of(index).size() < 64) index.put(test::sized("p", digits(i++ * 2), 100));
  const std::uint64_t middle = i;
  for (std::uint64_t extra = 0; test::leaves_of(index).size() == 64; ++extra) {
    shared = index;
    index.put(test::sized("p", digits(middle) + digits(extra), 100));
  }
  const Entity row = test::sized("p", digits(middle) + "x", 8'000);
  fail_everywhere(shared, [&row](TableIndex& copy) { copy.put(row); });
}

TEST_CASE("memory runs out in erasing and merging") {
  TableIndex shared = two_levels();
  fail_everywhere(shared, [](TableIndex& index) {
    for (std::uint64_t i = 2'000; i < 2'200; ++i) index.erase({"p", digits(i)});
  });
}

TEST_CASE("memory runs out in adding unloaded leaves") {
  TableIndex shared;
  shared.add_unloaded({EntityKey(), EntityKey("b", "")}, 1, 10, 1'000);
  std::vector<UnloadedPart> parts;
  for (std::uint64_t i = 0; i < 200; ++i) {
    parts.push_back({{EntityKey("b", digits(i)), EntityKey("b", digits(i + 1))}, i + 2, 10, 1'000});
  }
  fail_everywhere(shared, [&parts](TableIndex& index) { index.add_unloaded(parts); });
}

TEST_CASE("memory runs out in loading a part") {
  TableIndex shared;
  shared.add_unloaded({EntityKey("b", ""), std::nullopt}, 4, 300, 30'000);
  std::vector<Entity> rows;
  for (std::uint64_t i = 0; i < 300; ++i) rows.push_back(test::sized("b", digits(i), 100));
  fail_everywhere(shared, [&rows](TableIndex& index) { index.load_part(4, rows); });
}

}  // namespace entitable
