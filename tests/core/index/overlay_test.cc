// Tests the overlay, which holds changes of rows that are not in memory.
#include "core/index/overlay.h"

#include <algorithm>

#include "core/index/leaf.h"
#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"
#include "tests/support/env_number.h"

namespace entitable {

using test::digits;
using test::entity;
using test::keys_in;
using test::leaves_of;
using test::Model;
using test::number_from_env;
using test::Prng;
using test::sized;
using test::sorted;

namespace {

// Returns rows 10 to 19 of partition "b", with timestamp 7.
std::vector<Entity> ten_rows() {
  std::vector<Entity> rows;
  for (std::uint64_t i = 10; i < 20; ++i) rows.push_back(sized("b", digits(i, 2), 50, 7));
  return rows;
}

TableIndex ten_unloaded() {
  TableIndex index;
  index.add_unloaded({EntityKey("b", ""), EntityKey("c", "")}, 3, 10, 1'000);
  return index;
}

TableIndex ten_loaded() {
  TableIndex index = ten_unloaded();
  index.load_part(3, ten_rows());
  return index;
}

using Parts = std::vector<PartId>;

Ticks timestamp_of(const TableIndex& index, std::string_view row) {
  const auto found = index.find({"b", row}).row;
  return found ? found->timestamp() : 0;
}

Parts parts_with_overlay(const TableIndex& index) {
  Parts parts;
  for (const LeafInfo& leaf : leaves_of(index)) {
    if (leaf.unloaded && leaf.has_overlay) parts.push_back(leaf.part);
  }
  return parts;
}

}  // namespace

TEST_CASE("an overlay keeps the last change of each row") {
  Overlay overlay;
  overlay.put({"p", "b"}, "bbb");
  overlay.put({"p", "a"}, "a");
  overlay.put({"p", "b"}, "b2");
  overlay.erase({"p", "c"});
  CHECK(overlay.packed_bytes() == 3);
  REQUIRE(overlay.changes().size() == 3);
  CHECK(overlay.changes().begin()->second == "a");
  CHECK(overlay.changes().at(EntityKey("p", "b")) == "b2");
  CHECK(overlay.changes().at(EntityKey("p", "c")).empty());
  overlay.erase({"p", "b"});
  CHECK(overlay.packed_bytes() == 1);
  CHECK(overlay.memory_bytes() > 3 * sizeof(Overlay::Changes::value_type));
}

TEST_CASE("puts and erases in an unloaded leaf wait until the leaf is loaded") {
  TableIndex index = ten_unloaded();
  CHECK(index.parts_with_inexact_counts().empty());
  const std::uint64_t memory = index.memory_bytes();
  index.put(sized("b", "15", 60, 9));
  index.put(sized("b", "05", 60, 9));
  index.put(sized("b", "155", 60, 9));
  index.put(sized("b", "25", 60, 9));
  CHECK(index.erase({"b", "12"}));
  CHECK(index.erase({"b", "99"}));  // an unknown key
  CHECK(index.find({"b", "15"}).part_needed == 3);
  CHECK(index.verify() == "");
  CHECK(index.row_count() == 10);  // inexact: without the changes in the overlay
  CHECK(index.memory_bytes() > memory + 4 * 60);
  CHECK(parts_with_overlay(index) == Parts{3});
  CHECK(index.parts_with_inexact_counts() == Parts{3});
  CHECK(index.bytes_to_checkpoint() > 1'000);

  index.load_part(3, ten_rows());
  CHECK(index.verify() == "");
  CHECK(index.row_count() == 12);
  CHECK(keys_in(index) == std::vector<std::string>{"b|05", "b|10", "b|11", "b|13", "b|14", "b|15",
                                                   "b|155", "b|16", "b|17", "b|18", "b|19",
                                                   "b|25"});
  CHECK(timestamp_of(index, "15") == 9);
  CHECK(timestamp_of(index, "16") == 7);
  CHECK(parts_with_overlay(index).empty());
  CHECK(index.parts_with_inexact_counts().empty());
  CHECK(index.bytes_to_checkpoint() == index.bytes());
}

TEST_CASE("an unloaded leaf is not changed in place if the row must be known to exist") {
  TableIndex index = ten_unloaded();
  CHECK_FALSE(index.try_put_in_place({"b", "15"}, 9, {}));
  CHECK(parts_with_overlay(index).empty());
}

TEST_CASE("all rows of a part may be erased, and a part without rows may get some") {
  TableIndex index = ten_unloaded();
  SECTION("go") {
    for (const Entity& row : ten_rows()) index.erase(row.key.view());
    index.load_part(3, ten_rows());
    CHECK(index.row_count() == 0);
    CHECK(keys_in(index).empty());
  }
  SECTION("come") {
    index.put(entity("b", "1", 9));
    index.load_part(3, {});
    CHECK(index.row_count() == 1);
    CHECK(timestamp_of(index, "1") == 9);
  }
  CHECK(index.verify() == "");
  CHECK(index.find({"b", "1"}).part_needed == 0);
}

TEST_CASE("an overlay's additions may fill many leaves, or a leaf beyond its size") {
  TableIndex index = ten_unloaded();
  index.put(sized("b", "105", 100'000, 9));
  for (std::uint64_t i = 0; i < 5'000; ++i) index.put(sized("b", "2" + digits(i), 100, 9));
  index.load_part(3, ten_rows());
  CHECK(index.verify() == "");
  CHECK(index.row_count() == 5'011);
  const std::vector<LeafInfo> leaves = leaves_of(index);
  CHECK(leaves.size() > 50);
  for (const LeafInfo& leaf : leaves) CHECK(leaf.has_overlay == (leaf.part == 3));
}

TEST_CASE("a loaded part may be unloaded with its overlay, and be loaded again") {
  TableIndex index = ten_unloaded();
  index.put(sized("b", "15", 60, 9));
  index.put(sized("b", "25", 60, 9));
  index.erase({"b", "12"});
  index.load_part(3, ten_rows());
  const std::vector<ResidentPart> resident = index.sweep_resident_parts();
  REQUIRE(resident.size() == 1);
  index.unload_parts({resident[0].part});
  CHECK(index.verify() == "");
  CHECK(index.find({"b", "15"}).part_needed == 3);
  CHECK(index.row_count() == 10);  // exact, because the part was loaded once
  CHECK(index.parts_with_inexact_counts().empty());
  CHECK(parts_with_overlay(index) == Parts{3});
  index.load_part(3, ten_rows());
  CHECK(index.row_count() == 10);
  CHECK(timestamp_of(index, "25") == 9);
  CHECK_FALSE(index.find({"b", "12"}).row);
  CHECK(index.verify() == "");
}

TEST_CASE("a row that changes after loading keeps its part from being unloaded") {
  TableIndex index = ten_unloaded();
  index.put(sized("b", "15", 60, 9));
  index.load_part(3, ten_rows());
  index.put(sized("b", "15", 60, 11));
  CHECK(index.sweep_resident_parts().empty());
  CHECK(timestamp_of(index, "15") == 11);
}

TEST_CASE("a new part contains the overlay's changes") {
  TableIndex index = ten_unloaded();
  index.put(sized("b", "15", 60, 9));
  index.load_part(3, ten_rows());
  TableIndex::set_part(index, {}, 4);
  CHECK(index.bytes_to_checkpoint() == 0);
  for (const LeafInfo& leaf : leaves_of(index)) CHECK_FALSE(leaf.has_overlay);
}

TEST_CASE("an overlay belongs to its version") {
  const TableIndex none = ten_unloaded();
  TableIndex one = none;
  one.put(sized("b", "15", 60, 9));
  TableIndex two = one;
  two.erase({"b", "15"});
  TableIndex three = two;
  CHECK(parts_with_overlay(none).empty());
  for (TableIndex* index : {&one, &two}) index->load_part(3, ten_rows());
  CHECK(timestamp_of(one, "15") == 9);
  CHECK(timestamp_of(two, "15") == 0);
  CHECK(three.find({"b", "15"}).part_needed == 3);
  CHECK(three.parts_with_inexact_counts() == Parts{3});
  CHECK((none.verify() + one.verify() + two.verify() + three.verify()) == "");
}

TEST_CASE("a loader puts the same leaves into versions with the same overlay") {
  TableIndex index = ten_unloaded();
  index.put(sized("b", "15", 60, 9));
  TableIndex other = index;
  PartLoader loader(index, 3);
  for (const Entity& row : ten_rows()) loader.add(row.key.view(), row.timestamp, {});
  loader.finish();
  loader.install_in_other_version(other);
  CHECK(keys_in(index) == keys_in(other));
  CHECK(&LeafIterator(index, {"b", ""}).leaf() == &LeafIterator(other, {"b", ""}).leaf());
  CHECK(other.verify() == "");
}

TEST_CASE("an abandoned load leaves the overlay unchanged") {
  TableIndex index = ten_unloaded();
  index.put(sized("b", "05", 60, 9));
  {
    PartLoader loader(index, 3);
    for (const Entity& row : ten_rows()) loader.add(row.key.view(), row.timestamp, {});
  }
  index.load_part(3, ten_rows());
  CHECK(index.row_count() == 11);
}

namespace {

// Changes rows, loads and unloads parts at random, and compares the index with a model.
class OverlayRun {
 public:
  explicit OverlayRun(std::uint64_t seed) : random_(seed) {
    stored_.resize(1 + random_.below(6));
    std::vector<Model> parts(stored_.size());
    for (std::uint64_t i = random_.below(300); i > 0; --i) {
      Entity row = random_row(1);
      parts[part_of(row.key)][row.key] = row;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      KeyRange range{EntityKey(digits(i * 100), ""), std::nullopt};
      if (i + 1 < parts.size()) range.upper = EntityKey(digits((i + 1) * 100), "");
      index_.add_unloaded(range, i + 1, parts[i].size(), parts[i].size() * 100);
      for (const auto& [key, row] : parts[i]) {
        stored_[i].push_back(row);
        model_[key] = row;
      }
    }
  }

  void step() {
    const std::uint64_t kind = random_.below(100);
    if (kind < 60) {
      Entity row = random_row(2 + static_cast<Ticks>(random_.below(1'000)));
      if (random_.chance(2)) look_for(row.key);
      index_.put(row);
      model_[row.key] = std::move(row);
    } else if (kind < 90) {
      const EntityKey key = random_row(1).key;
      index_.erase(key.view());
      model_.erase(key);
    } else if (kind < 94) {
      load(random_.below(stored_.size()));
    } else if (kind < 96) {
      drop();
    } else if (kind < 98) {
      kept_ = index_;  // from now on, both versions share nodes
      kept_model_ = model_;
    }
    REQUIRE(index_.verify() == "");
    if (index_.parts_with_inexact_counts().empty()) REQUIRE(index_.row_count() == model_.size());
  }

  void finish() {
    compare(index_, model_);
    compare(kept_, kept_model_);
  }

 private:
  static std::size_t part_of(const EntityKey& key) { return std::stoul(key.partition) / 100; }

  Entity random_row(Ticks timestamp) {
    const std::string partition =
        digits(random_.below(stored_.size()) * 100 + random_.below(7) * 15);
    Entity row = sized(partition, digits(random_.below(40)), random_.below(400), timestamp);
    if (random_.chance(5)) row.properties.push_back({"other", Value::of_int32(7)});
    return row;
  }

  // Looks up a row as a write does before it changes the row.
  void look_for(const EntityKey& key) {
    const TableIndex::Found found = index_.find_for_update(key.view());
    // A row that was changed while its part was unloaded is found in the overlay of the part.
    if (found.part_needed != 0) {
      REQUIRE(found.part_needed == index_.find(key.view()).part_needed);
    } else {
      REQUIRE(found.row.has_value() == model_.contains(key));
      if (found.row.has_value()) REQUIRE(found.row->timestamp() == model_.at(key).timestamp);
    }
  }

  void load(std::size_t part) {
    const std::vector<PartId> unloaded = unloaded_parts_in(index_);
    if (std::find(unloaded.begin(), unloaded.end(), part + 1) == unloaded.end()) return;
    index_.load_part(part + 1, stored_[part]);
  }

  static std::vector<PartId> unloaded_parts_in(const TableIndex& index) {
    std::vector<PartId> parts;
    for (const LeafInfo& leaf : leaves_of(index)) {
      if (leaf.unloaded) parts.push_back(leaf.part);
    }
    return parts;
  }

  void drop() {
    std::vector<PartId> dropped;
    for (const ResidentPart& part : index_.sweep_resident_parts()) {
      if (random_.chance(2)) dropped.push_back(part.part);
    }
    index_.unload_parts(dropped);
  }

  void compare(TableIndex index, const Model& model) {
    for (const PartId part : unloaded_parts_in(index)) index.load_part(part, stored_[part - 1]);
    REQUIRE(index.verify() == "");
    REQUIRE(index.row_count() == model.size());
    Cursor cursor(index, {});
    for (const auto& [key, row] : model) {
      REQUIRE(cursor.valid());
      REQUIRE(sorted(cursor.row().materialize()) == sorted(row));
      cursor.next();
    }
    REQUIRE(cursor.at_end());
  }

  Prng random_;
  TableIndex index_;
  Model model_;
  TableIndex kept_;  // an earlier version
  Model kept_model_;
  std::vector<std::vector<Entity>> stored_;
};

}  // namespace

TEST_CASE("random changes of unloaded, loaded and dropped parts agree with a map") {
  const std::uint64_t first = number_from_env("ENTITABLE_SEED", 20261122);
  // Limited, because every step verifies the whole index, and there are 40 seeds.
  const std::uint64_t steps =
      std::min<std::uint64_t>(number_from_env("ENTITABLE_STEPS", 300), 3'000);
  for (std::uint64_t seed = first; seed < first + 40; ++seed) {
    INFO("replay with ENTITABLE_SEED=" << seed);
    OverlayRun run(seed);
    for (std::uint64_t step = 0; step < steps; ++step) run.step();
    run.finish();
  }
}

TEST_CASE("a changed row is found without its part, even if the overlay is full") {
  TableIndex index = ten_unloaded();
  const TableIndex loaded = ten_loaded();
  CHECK(index.find_in_memory({"b", "12"}).part_needed == 3);
  CHECK(index.find_in_memory({"b", "12"}, &loaded).row->timestamp() == 7);
  index.put(sized("b", "12", 70'000, 9));
  index.erase({"b", "13"});
  CHECK(index.find_for_update({"b", "12"}).needs_part_for_any_change);
  CHECK(index.find_in_memory({"b", "12"}).row->timestamp() == 9);
  CHECK(index.find_in_memory({"b", "13"}).part_needed == 0);
  CHECK(!index.find_in_memory({"b", "13"}).row.has_value());
  CHECK(loaded.find_in_memory({"b", "13"}).row->timestamp() == 7);
}

TEST_CASE("changes of rows that an overlay has keep the counts exact") {
  TableIndex index = ten_unloaded();
  index.load_part(3, ten_rows());
  const TableIndex before = index;
  const std::uint64_t bytes = index.bytes();
  REQUIRE(index.part_to_unload_at({"b", "12"}, before) == 3);
  index.unload_part_at({"b", "12"});
  index.keep_row({"b", "12"}, before);
  index.keep_row({"b", "new"}, before);
  CHECK(index.verify() == "");
  CHECK(index.row_count() == 10);
  CHECK(index.bytes() == bytes);
  CHECK(index.find_for_update({"b", "12"}).row->timestamp() == 7);
  CHECK(index.find_for_update({"b", "12"}).row->partition() == "b");
  CHECK(index.find_for_update({"b", "new"}).part_needed == 0);
  CHECK(index.find_for_update({"b", "13"}).part_needed == 3);
  CHECK(index.find_for_update({"b", "13"}, &before).row->timestamp() == 7);
  index.put(sized("b", "new", 50, 8));
  index.erase({"b", "12"});
  CHECK(index.row_count() == 10);
  CHECK(index.parts_with_inexact_counts().empty());
  const std::uint64_t with_new = index.bytes();
  index.load_part(3, ten_rows());
  CHECK(index.verify() == "");
  CHECK(index.row_count() == 10);
  CHECK(index.bytes() == with_new);
  index.unload_part_at({"b", "13"});
  index.put(sized("b", "13", 50, 9));
  CHECK(index.parts_with_inexact_counts() == Parts{3});
}

TEST_CASE("a part is not unloaded for a write where it is not whole, here or in the base") {
  TableIndex index = ten_unloaded();
  index.load_part(3, ten_rows());
  TableIndex changed = index;
  changed.put(sized("b", "12", 50, 8));
  CHECK(changed.part_to_unload_at({"b", "12"}, changed) == 0);
  CHECK(index.part_to_unload_at({"b", "12"}, changed) == 0);
  CHECK(index.part_to_unload_at({"b", "12"}, ten_unloaded()) == 3);
  CHECK(index.part_to_unload_at({"a", "12"}, index) == 0);
  CHECK(ten_unloaded().part_to_unload_at({"b", "12"}, index) == 0);
}

// Part 3 is in memory with two changes, which a checkpoint then writes. A write unloads the part.
struct ReplacedPart {
  TableIndex index = ten_unloaded();
  Ref<Overlay> written;

  ReplacedPart() {
    index.put(sized("b", "12", 50, 8));
    index.put(sized("b", "17", 50, 8));
    index.load_part(3, ten_rows());
    written = LeafIterator::at(index, {"b", "12"}).leaf().overlay();
    index.unload_part_at({"b", "12"});
  }

  void replace(const std::vector<UnloadedPart>& parts) {
    index.replace_part(3, {EntityKey("b", ""), EntityKey("c", "")}, parts, written.get());
    CHECK(index.verify() == "");
  }
};

const KeyRange lower_half = {EntityKey("b", ""), EntityKey("b", "15")};
const KeyRange upper_half = {EntityKey("b", "15"), EntityKey("c", "")};
const KeyRange whole = {EntityKey("b", ""), EntityKey("c", "")};

TEST_CASE("a part that replaces another one keeps no changes that were written") {
  ReplacedPart part;
  SECTION("without later changes") {
    part.replace({{whole, 4, 10, 1'000}});
    CHECK(parts_with_overlay(part.index).empty());
  }
  SECTION("with a later change in one of two parts") {
    part.index.put(sized("b", "17", 50, 9));
    part.replace({{lower_half, 4, 5, 500}, {upper_half, 5, 5, 500}});
    CHECK(parts_with_overlay(part.index) == Parts{5});
    CHECK(part.index.find_for_update({"b", "17"}).row->timestamp() == 9);
    CHECK(part.index.find_for_update({"b", "12"}).part_needed == 4);
  }
}

TEST_CASE("counts stay exact when changed parts are replaced") {
  ReplacedPart part;
  SECTION("a row that was written changes again, in one of two parts") {
    part.index.put(sized("b", "12", 50, 9));
    part.index.erase({"b", "17"});
    part.replace({{lower_half, 4, 5, 500}, {upper_half, 5, 5, 500}});
  }
  SECTION("a row that was not written is erased") {
    const TableIndex loaded = ten_loaded();
    part.index.keep_row({"b", "18"}, loaded);
    part.index.erase({"b", "18"});
    part.replace({{whole, 4, 10, 1'000}});
  }
  CHECK(part.index.parts_with_inexact_counts().empty());
  CHECK(part.index.row_count() == 9);
}

}  // namespace entitable
