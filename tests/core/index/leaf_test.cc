#include "core/index/leaf.h"

#include <set>

#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"

namespace entitable {

using test::digits;
using test::Prng;

namespace {

// A leaf with its schema, and functions that change the leaf and verify it after each change.
struct LeafFixture {
  Schema schema;
  Ref<Leaf> leaf = make_ref<Leaf>();

  std::string pack(std::string_view row, std::string_view text) {
    const std::vector<PropertyView> properties = {{"text", ValueView::of_string(text)}};
    std::string packed;
    pack_row(schema.intern(std::span<const PropertyView>(properties)), row, 1, properties, packed);
    return packed;
  }
  void put(std::string_view partition, std::string_view row, std::string_view text = "text") {
    const std::string packed = pack(row, text);
    const Leaf::FindResult position = leaf->find({partition, row});
    const auto key_bytes = static_cast<std::uint32_t>(row.size());
    if (position.found) {
      leaf->replace(position.slot, packed, key_bytes);
    } else {
      leaf->insert(position, partition, packed, key_bytes);
    }
    check();
  }
  bool erase(std::string_view partition, std::string_view row) {
    const Leaf::FindResult position = leaf->find({partition, row});
    if (!position.found) return false;
    leaf->erase(position);
    check();
    return true;
  }
  std::string text(std::string_view partition, std::string_view row) {
    const Leaf::FindResult position = leaf->find({partition, row});
    if (!position.found) return "(none)";
    const char* const base = leaf->row_base(position.slot);
    const RowView view(base, schema.shape(row_layout::shape_id(base)),
                       leaf->partition(position.run));
    return std::string(view.find("text")->string());
  }
  std::string keys() const {
    std::string all;
    for (std::uint32_t i = 0; i < leaf->size(); ++i) {
      all += std::string(leaf->key(i).partition) + "|" + std::string(leaf->key(i).row) + " ";
    }
    return all;
  }
  void check() const { REQUIRE(leaf->verify(schema) == ""); }
};

}  // namespace

TEST_CASE("an empty leaf is loaded, has no rows and finds nothing") {
  const LeafFixture t;
  CHECK_FALSE(t.leaf->is_unloaded());
  CHECK(t.leaf->size() == 0);
  CHECK(t.leaf->used_bytes() == 0);
  CHECK_FALSE(t.leaf->find({"p", "r"}).found);
  t.check();
}

TEST_CASE("an unloaded leaf has its part, rows and bytes") {
  const Ref<Leaf> leaf = Leaf::make_unloaded(7, 100, 20'000);
  CHECK(leaf->is_unloaded());
  CHECK(leaf->part() == 7);
  CHECK(leaf->part_leaves() == 1);
  CHECK(leaf->totals().rows == 100);
  CHECK(leaf->totals().bytes == 20'000);
  CHECK(leaf->totals().memory < 1000);
  CHECK(leaf->verify(Schema()) == "");
}

TEST_CASE("rows are kept in order, partition by partition, each partition key once") {
  LeafFixture t;
  t.put("b", "2");
  t.put("a", "9");
  t.put("c", "1");
  t.put("b", "1");
  t.put("b", "3");
  t.put("a", "10");
  CHECK(t.keys() == "a|10 a|9 b|1 b|2 b|3 c|1 ");
  CHECK(t.leaf->run_count() == 3);
  CHECK(t.leaf->run_of(0) == 0);
  CHECK(t.leaf->run_of(1) == 0);
  CHECK(t.leaf->run_of(2) == 1);
  CHECK(t.leaf->run_of(5) == 2);
  CHECK(t.text("b", "2") == "text");
  CHECK(t.text("b", "4") == "(none)");
  CHECK(t.text("bb", "2") == "(none)");
}

TEST_CASE("a search returns where a key would be inserted") {
  LeafFixture t;
  t.put("b", "2");
  t.put("b", "4");
  t.put("d", "1");
  const auto position = [&t](std::string_view partition, std::string_view row) {
    return t.leaf->find({partition, row});
  };
  CHECK(position("a", "9").slot == 0);
  CHECK_FALSE(position("a", "9").run_found);
  CHECK(position("b", "1").slot == 0);
  CHECK(position("b", "1").run_found);
  CHECK(position("b", "3").slot == 1);
  CHECK(position("b", "5").slot == 2);
  CHECK(position("b", "5").run == 0);
  CHECK(position("c", "").slot == 2);
  CHECK(position("c", "").run == 1);
  CHECK_FALSE(position("c", "").run_found);
  CHECK(position("d", "1").found);
  CHECK(position("e", "").slot == 3);
}

TEST_CASE("a lookup near a slot finds what a search finds, or nothing") {
  LeafFixture t;
  CHECK_FALSE(t.leaf->find_at_hint({"b", "1"}, 0, 0));
  for (const char* row : {"2", "4", "6", "8"}) t.put("b", row);
  for (const char* row : {"", "3"}) t.put("d", row);
  for (const char* partition : {"a", "b", "c", "d", "e"}) {
    for (const char* row : {"", "1", "2", "3", "4", "5", "6", "7", "8", "9"}) {
      const Leaf::FindResult position = t.leaf->find({partition, row});
      for (std::uint32_t run = 0; run < 4; ++run) {
        for (std::uint32_t slot = 0; slot < 8; ++slot) {
          CAPTURE(partition, row, run, slot);
          const auto near = t.leaf->find_at_hint({partition, row}, run, slot);
          // A result is required if the hint is the key's slot, the slot before it in the same
          // partition, or the slot behind a row with this key.
          const bool sure =
              position.run_found && run == position.run &&
              (slot == position.slot || (position.found && slot == position.slot + 1) ||
               (slot + 1 == position.slot && slot >= t.leaf->run_first(run)));
          REQUIRE(near.has_value() == sure);
          if (near) CHECK(*near == position);
        }
      }
    }
  }
}

TEST_CASE("a replaced row keeps its place, larger, smaller or of the same size") {
  LeafFixture t;
  for (int i = 0; i < 5; ++i) t.put("p", digits(static_cast<std::uint64_t>(i)));
  const std::uint32_t used_bytes = t.leaf->used_bytes();
  t.put("p", digits(2), "TEXT");
  CHECK(t.leaf->used_bytes() == used_bytes);
  t.put("p", digits(2), std::string(300, 'y'));
  CHECK(t.leaf->used_bytes() == used_bytes + 296);
  t.put("p", digits(2), "z");
  CHECK(t.leaf->used_bytes() == used_bytes - 3);
  CHECK(t.text("p", digits(2)) == "z");
  CHECK(t.text("p", digits(1)) == "text");
  CHECK(t.leaf->size() == 5);
}

TEST_CASE("memory is freed when rows shrink or are erased") {
  LeafFixture t;
  t.put("p", "huge", std::string(1'000'000, 'h'));
  CHECK(t.leaf->totals().memory > 1'000'000);
  t.put("p", "huge", "small");
  CHECK(t.leaf->totals().memory < 2'000);
  for (int i = 0; i < 40; ++i)
    t.put("p", digits(static_cast<std::uint64_t>(i)), std::string(150, 'x'));
  CHECK(t.leaf->totals().memory > 7'000);
  for (int i = 0; i < 40; ++i) CHECK(t.erase("p", digits(static_cast<std::uint64_t>(i))));
  CHECK(t.leaf->totals().memory < 2'000);
  CHECK(t.erase("p", "huge"));
  CHECK_FALSE(t.erase("p", "huge"));
  CHECK(t.leaf->size() == 0);
  CHECK(t.leaf->run_count() == 0);
  CHECK(t.leaf->used_bytes() == 0);
  t.put("q", "again");
  CHECK(t.keys() == "q|again ");
}

TEST_CASE("garbage is collected rather than the buffer grown") {
  LeafFixture t;
  for (int i = 0; i < 20; ++i)
    t.put("p", digits(static_cast<std::uint64_t>(i)), std::string(100, 'x'));
  for (int round = 0; round < 2'000; ++round) {
    t.put("p", digits(static_cast<std::uint64_t>(round % 20)), std::string(100 + round % 30, 'y'));
  }
  CHECK(t.leaf->totals().memory < 2 * leaf_bytes_max);
}

TEST_CASE("a clone is equal, tight and independent") {
  LeafFixture t;
  for (int i = 0; i < 10; ++i) t.put(i < 5 ? "p" : "q", digits(static_cast<std::uint64_t>(i)));
  t.put("p", digits(3), "longer text than before, which leaves garbage");
  t.leaf->set_part(9, 2);
  const Ref<Leaf> clone = t.leaf->clone(0);
  CHECK(clone->part() == 0);  // a leaf is only cloned to be changed
  CHECK(clone->part_leaves() == 0);
  CHECK(clone->verify(t.schema) == "");
  CHECK(clone->used_bytes() == t.leaf->used_bytes());
  CHECK(clone->totals().rows == t.leaf->totals().rows);
  CHECK(clone->totals().bytes == t.leaf->totals().bytes);
  CHECK(clone->totals().memory <= t.leaf->totals().memory);
  for (std::uint32_t i = 0; i < 10; ++i) {
    CHECK(row_layout::packed(clone->row_base(i)) == row_layout::packed(t.leaf->row_base(i)));
  }
  const std::string before = t.keys();
  clone->erase(clone->find({"p", digits(0)}));
  CHECK(t.keys() == before);
  CHECK(t.leaf->part() == 9);
  CHECK(Leaf().clone(100)->verify(t.schema) == "");
}

TEST_CASE("any change clears the part") {
  LeafFixture t;
  t.put("p", "a");
  for (int change = 0; change < 4; ++change) {
    t.leaf->set_part(5, 3);
    CHECK(t.leaf->part() == 5);
    CHECK(t.leaf->part_leaves() == 3);
    if (change == 0) t.put("p", "b");
    if (change == 1) t.put("p", "b", "same");
    if (change == 2) t.put("p", "b", "a larger text");
    if (change == 3) t.erase("p", "b");
    CHECK(t.leaf->part() == 0);
    CHECK(t.leaf->part_leaves() == 0);
  }
}

TEST_CASE("build packs tightly and predicts the size") {
  LeafFixture t;
  for (int i = 0; i < 12; ++i)
    t.put(digits(static_cast<std::uint64_t>(i / 3)), digits(static_cast<std::uint64_t>(i)));
  std::vector<SourceRow> rows;
  t.leaf->append_rows_to(rows);
  REQUIRE(rows.size() == 12);
  const Ref<Leaf> built = Leaf::build(rows);
  CHECK(built->verify(t.schema) == "");
  CHECK(built->used_bytes() == Leaf::bytes_for(rows));
  CHECK(built->used_bytes() == t.leaf->used_bytes());
  CHECK(built->run_count() == 4);
  CHECK(Leaf::bytes_for({}) == 0);
  CHECK(Leaf::build({})->size() == 0);
}

TEST_CASE("a leaf detects rows that arrive in order") {
  LeafFixture t;
  t.put("p", "a");
  t.put("p", "z");
  for (const char* row : {"m1", "m2", "m3", "m4"}) t.put("p", row);
  CHECK(t.leaf->inserts_ascend(t.leaf->find({"p", "m5"})));
  CHECK_FALSE(t.leaf->inserts_descend(t.leaf->find({"p", "m5"})));
  CHECK_FALSE(t.leaf->inserts_ascend(t.leaf->find({"p", "b"})));
  for (const char* row : {"f9", "f8", "f7", "f6"}) t.put("p", row);
  CHECK(t.leaf->inserts_descend(t.leaf->find({"p", "f5"})));
  CHECK_FALSE(t.leaf->inserts_ascend(t.leaf->find({"p", "f5"})));
  t.put("p", "q");
  CHECK_FALSE(t.leaf->inserts_descend(t.leaf->find({"p", "f5"})));
}

TEST_CASE("random changes of one leaf agree with a map") {
  const std::uint64_t seed = 3;
  CAPTURE(seed);
  Prng random(seed);
  for (int round = 0; round < 10; ++round) {
    LeafFixture t;
    std::map<std::pair<std::string, std::string>, std::string> model;
    for (int step = 0; step < 300; ++step) {
      const std::string partition = test::hard_text(random, 1);
      const std::string row = test::hard_text(random, 2);
      if (random.chance(3)) {
        REQUIRE(t.erase(partition, row) == (model.erase({partition, row}) == 1));
      } else {
        const std::string text(random.below(40), 'x');
        t.put(partition, row, text);
        model[{partition, row}] = text;
      }
    }
    REQUIRE(t.leaf->size() == model.size());
    for (const auto& [key, text] : model) REQUIRE(t.text(key.first, key.second) == text);
  }
}

}  // namespace entitable
