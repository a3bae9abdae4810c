// Applies random changes to an index and to a std::map, and compares them. Copies of both are kept
// and compared again later. ENTITABLE_SEED replays one run, ENTITABLE_STEPS makes it longer.
#include <memory>
#include <optional>

#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"
#include "tests/support/env_number.h"

namespace entitable {

using test::digits;
using test::number_from_env;
using test::Prng;

namespace {

// The kind of keys and rows that a run uses.
struct Habits {
  enum class Keys { one_partition, tiny_partitions, rising, long_keys, hard_texts, mixed };
  Keys keys;
  std::size_t rows_max;  // the approximate maximum of rows
  bool huge_rows;
  bool many_shapes;
};

class Run {
 public:
  Run(std::uint64_t seed, Habits habits) : random_(seed), habits_(habits) {}

  void step() {
    const std::uint64_t kind = random_.below(100);
    const bool crowded = model_.size() > habits_.rows_max;
    if (random_.chance(8'000)) {
      erase_all();
    } else if (crowded ? kind < 25 : kind < 55) {
      put(kind < 10 ? known_key() : new_key());
    } else if (kind < 75) {
      erase(kind < 70 ? known_key() : new_key());
    } else if (kind < 90) {
      find(kind < 85 ? known_key() : new_key());
    } else if (kind < 98) {
      count();
    } else if (random_.chance(10)) {
      scan();
    }
    if (random_.chance(100)) put_group();
    if (random_.chance(1'500)) pin();
    if (random_.chance(1'500)) check_pinned();
  }

  void finish() {
    check(index_, model_);
    while (!pinned_.empty()) check_pinned();
    erase_all();
  }

 private:
  using Keys = Habits::Keys;
  using Model = std::map<EntityKey, std::shared_ptr<const Entity>, test::KeyOrder>;
  struct Version {
    TableIndex index;
    Model model;
  };

  EntityKey new_key() {
    Keys kind = habits_.keys;
    if (kind == Keys::mixed) kind = static_cast<Keys>(random_.below(5));
    switch (kind) {
      case Keys::one_partition:
        return EntityKey("the partition", digits(random_.below(100'000)));
      case Keys::tiny_partitions:
        return EntityKey("partition " + digits(random_.below(20'000)), digits(random_.below(3), 1));
      case Keys::rising:
        return EntityKey("log", digits(++last_, 12));
      case Keys::long_keys: {
        std::string partition(512, 'p');
        std::string row(512, 'r');
        partition[random_.below(512)] = random_.chance(2) ? 'o' : 'q';
        row[random_.below(512)] = random_.chance(2) ? 'q' : 's';
        return EntityKey(partition, row);
      }
      case Keys::hard_texts:
      case Keys::mixed:
        return EntityKey(test::hard_text(random_, 3), test::hard_text(random_, 6));
    }
    return EntityKey();
  }

  // Returns a random existing key, or a new key if the index is empty.
  EntityKey known_key() {
    const auto at = model_.lower_bound(new_key());
    if (at != model_.end()) return at->first;
    return model_.empty() ? new_key() : model_.begin()->first;
  }

  Entity new_entity(EntityKey key) {
    Entity made;
    made.key = std::move(key);
    made.timestamp = ++timestamp_;
    std::size_t bytes = random_.below(150);
    if (random_.chance(50)) bytes = random_.below(12'000);
    if (habits_.huge_rows && random_.chance(400)) bytes = random_.below(1'000'000);
    std::vector<Property>& properties = made.properties;
    properties.push_back(
        {"text", Value::of_string(std::string(bytes, static_cast<char>('a' + timestamp_ % 26)))});
    const std::size_t more = random_.below(4);
    for (std::size_t i = 0; i < more; ++i) {
      std::string name =
          "p" + std::to_string(random_.below(habits_.many_shapes ? 5'000 : 4) * 4 + i);
      if (random_.chance(2)) {
        properties.push_back(
            {std::move(name), Value::of_int64(static_cast<std::int64_t>(random_.next()))});
      } else {
        properties.push_back({std::move(name), Value::of_string(test::hard_text(random_, 5))});
      }
    }
    return made;
  }

  void put(EntityKey key) {
    auto made = std::make_shared<const Entity>(new_entity(std::move(key)));
    const std::vector<PropertyView> properties = property_views(made->properties);
    const bool done =
        random_.chance(2) && index_.try_put_in_place(made->key.view(), made->timestamp, properties);
    if (!done) index_.put(*made);
    model_.insert_or_assign(made->key, made);
  }

  void erase(const EntityKey& key) {
    REQUIRE(index_.erase(key.view()) == (model_.erase(key) == 1));
  }

  void erase_all() {
    while (!model_.empty()) {
      // Erases at both ends and near them.
      auto at = random_.chance(3) ? model_.begin() : std::prev(model_.end());
      if (random_.chance(3)) at = std::next(at, at == model_.begin() ? 0 : -1);
      const EntityKey key = at->first;
      erase(key);
    }
    check(index_, model_);
    REQUIRE(index_.bytes() == 0);
  }

  void find(const EntityKey& key) {
    const auto expected = model_.find(key);
    for (const bool to_change : {false, true}) {
      const TableIndex::Found found =
          to_change ? index_.find_for_update(key.view()) : index_.find(key.view());
      REQUIRE(found.part_needed == 0);
      REQUIRE(found.row.has_value() == (expected != model_.end()));
      if (found.row) compare_row(*found.row, *expected->second);
    }
  }

  // Does what a group write does: finds neighbouring keys, some of them new, then puts them.
  void put_group() {
    std::vector<EntityKey> keys;
    for (auto at = model_.lower_bound(known_key()); at != model_.end(); ++at) {
      keys.push_back(at->first);
      if (random_.chance(2)) keys.push_back({at->first.partition, at->first.row + "+"});
      if (random_.chance(10)) break;
    }
    for (const EntityKey& key : keys) find(key);
    if (random_.chance(10)) pin();
    for (EntityKey& key : keys) put(std::move(key));
  }

  KeyRange new_range() {
    KeyRange range{random_.chance(2) ? known_key() : new_key(), std::nullopt};
    if (random_.chance(3)) range.lower.row = successor(range.lower.row);
    if (!random_.chance(5)) range.upper = random_.chance(2) ? known_key() : new_key();
    if (random_.chance(5)) range = KeyRange::partition(range.lower.partition);
    return range;
  }

  void count() {
    const KeyRange range = new_range();
    const RangeCount counted = index_.count_range(range);
    std::uint64_t expected = 0;
    if (!range.empty()) {
      const auto end = range.upper ? model_.lower_bound(*range.upper) : model_.end();
      expected = static_cast<std::uint64_t>(std::distance(model_.lower_bound(range.lower), end));
    }
    REQUIRE(counted.rows == expected);
    REQUIRE(counted.exact);
  }

  void scan() {
    const KeyRange range = new_range();
    auto expected = model_.lower_bound(range.lower);
    for (Cursor cursor(index_, range); cursor.valid(); cursor.next(), ++expected) {
      REQUIRE(expected != model_.end());
      REQUIRE(range.contains(cursor.row().key()));
      compare_row(cursor.row(), *expected->second);
    }
    REQUIRE((expected == model_.end() || !range.contains(expected->first.view())));
  }

  void pin() {
    if (pinned_.size() >= 4) check_pinned();
    pinned_.push_back({index_, model_});
  }

  void check_pinned() {
    if (pinned_.empty()) return;
    const std::size_t i = random_.below(pinned_.size());
    check(pinned_[i].index, pinned_[i].model);
    if (random_.chance(6)) {  // continue with this old version
      index_ = pinned_[i].index;
      model_ = pinned_[i].model;
    }
    pinned_.erase(std::next(pinned_.begin(), static_cast<std::ptrdiff_t>(i)));
  }

  static void check(const TableIndex& index, const Model& model) {
    REQUIRE(index.verify() == "");
    REQUIRE(index.row_count() == model.size());
    auto expected = model.begin();
    for (Cursor cursor(index, {}); cursor.valid(); cursor.next(), ++expected) {
      REQUIRE(expected != model.end());
      compare_row(cursor.row(), *expected->second);
    }
    REQUIRE(expected == model.end());
  }

  // Makes one assertion per row: one per property would take most of the time.
  static void compare_row(const RowView& row, const Entity& expected) {
    bool equal = row.partition() == expected.key.partition && row.row_key() == expected.key.row &&
                 row.timestamp() == expected.timestamp;
    std::size_t properties = 0;
    row.for_each_property([&](std::string_view name, const ValueView& value) {
      ++properties;
      const Property* const property = expected.find_property(name);
      equal = equal && property != nullptr && property->value.view() == value;
    });
    equal = equal && properties == expected.properties.size();
    for (const Property& property : expected.properties) {
      const std::optional<ValueView> value = row.find(property.name);
      equal = equal && value && *value == property.value.view();
    }
    REQUIRE(equal);
  }

  Prng random_;
  const Habits habits_;
  TableIndex index_;
  Model model_;
  std::vector<Version> pinned_;
  std::uint64_t last_ = 0;
  Ticks timestamp_ = 0;
};

void run(std::uint64_t seed, Habits habits) {
  seed = number_from_env("ENTITABLE_SEED", seed);
  const std::uint64_t steps = number_from_env("ENTITABLE_STEPS", 20'000);
  CAPTURE(seed, steps);
  Run one(seed, habits);
  for (std::uint64_t step = 0; step < steps; ++step) {
    CAPTURE(step);
    one.step();
  }
  one.finish();
}

}  // namespace

TEST_CASE("index against map: one huge partition") {
  run(1, {Habits::Keys::one_partition, 4'000, false, false});
}

TEST_CASE("index against map: thousands of tiny partitions, many shapes") {
  run(2, {Habits::Keys::tiny_partitions, 4'000, false, true});
}

TEST_CASE("index against map: rising keys, rows up to a mebibyte") {
  run(3, {Habits::Keys::rising, 1'000, true, false});
}

TEST_CASE("index against map: keys of 512 units") {
  run(4, {Habits::Keys::long_keys, 1'000, false, false});
}

TEST_CASE("index against map: surrogates and other texts that are hard to order") {
  run(5, {Habits::Keys::hard_texts, 3'000, false, false});
}

TEST_CASE("index against map: everything at once") {
  run(6, {Habits::Keys::mixed, 2'000, true, true});
}

}  // namespace entitable
