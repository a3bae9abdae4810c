#include "core/index/table_index.h"

#include <algorithm>
#include <array>

#include "core/base/check.h"
#include "core/index/inner.h"
#include "core/index/leaf.h"
#include "core/index/leaf_split.h"
#include "core/index/tree_edit.h"

namespace entitable {

TableIndex::TableIndex() : root_(new Leaf()), schema_(make_ref<Schema>()) {}

const Leaf& TableIndex::leaf_of(const KeyView& key) const {
  const Node* node = root_.get();
  while (!node->is_leaf()) {
    const auto& inner = static_cast<const Inner&>(*node);
    node = inner.child(inner.find(key)).get();
  }
  return static_cast<const Leaf&>(*node);
}

// Where a key is or would be, in a leaf that is not absent.
struct TableIndex::Spot {
  const Leaf* leaf;
  Leaf::Place place;
};

TableIndex::Found TableIndex::found_at(const Spot& spot) const {
  const auto& [leaf, place] = spot;
  if (!place.found) return {};
  const char* const base = leaf->base(place.slot);
  return {RowView(base, schema_->shape(row_layout::shape_id(base)), leaf->partition(place.run)), 0};
}

TableIndex::Found TableIndex::find(const KeyView& key) const {
  const Leaf& leaf = leaf_of(key);
  if (leaf.is_absent()) return {std::nullopt, leaf.part()};
  leaf.note_use();
  return found_at({&leaf, leaf.find(key)});
}

void TableIndex::find_each(std::span<const KeyView> keys, std::span<Found> found) const {
  ENTITABLE_CHECK(keys.size() == found.size());
  struct Way {
    const Leaf* leaf;
    Leaf::Near near;
  };
  constexpr std::size_t together = 16;
  std::array<Way, together> ways;
  for (; !keys.empty(); keys = keys.subspan(std::min(together, keys.size()))) {
    const std::size_t count = std::min(together, keys.size());
    for (std::size_t i = 0; i < count; ++i) {
      ways[i].leaf = &leaf_of(keys[i]);
      ways[i].leaf->touch();
    }
    for (std::size_t i = 0; i < count; ++i) ways[i].leaf->touch_directory();
    for (std::size_t i = 0; i < count; ++i) {
      auto& [leaf, near] = ways[i];
      if (leaf->is_absent()) continue;
      near = leaf->find_near_to(keys[i]);
      leaf->touch_row(near, keys[i]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto& [leaf, near] = ways[i];
      found[i] = leaf->is_absent() ? Found{std::nullopt, leaf->part()}
                                   : found_at({leaf, leaf->find_from(near, keys[i])});
      if (!leaf->is_absent()) leaf->note_use();
    }
    found = found.subspan(count);
  }
}

TableIndex::Found TableIndex::find_to_change(const KeyView& key) const {
  Spot spot{};
  if (!spot_on_trail(key, spot)) {
    const Node* node = root_.get();
    for (std::uint32_t level = 0; !node->is_leaf(); ++level) {
      const auto& inner = static_cast<const Inner&>(*node);
      const std::uint32_t child = inner.find(key);
      trail_.children[level] = static_cast<std::uint8_t>(child);
      node = inner.child(child).get();
    }
    spot.leaf = static_cast<const Leaf*>(node);
    spot.leaf->touch();  // as the row below: what changes a row looks at all of both
    if (spot.leaf->is_absent()) return {std::nullopt, spot.leaf->part()};
    spot.leaf->touch_directory();
    const Leaf::Near near = spot.leaf->find_near_to(key);
    spot.leaf->touch_row(near, key);
    spot.place = spot.leaf->find_from(near, key);
  }
  trail_.run = spot.place.run;
  trail_.slot = spot.place.slot;
  spot.leaf->note_use();
  return found_at(spot);
}

// Whether the trail leads to where the key is or would be. Its neighbours in the leaf tell, and at
// an end of the leaf the nodes above.
bool TableIndex::spot_on_trail(const KeyView& key, Spot& spot) const {
  const Node* node = root_.get();
  const Inner* next_in = nullptr;  // of what starts where the leaf ends
  std::uint32_t next = 0;
  bool is_first = true;
  for (std::uint32_t level = 0; !node->is_leaf(); ++level) {
    const auto& inner = static_cast<const Inner&>(*node);
    const std::uint32_t child = trail_.children[level];
    if (child >= inner.size()) return false;
    if (child + 1 < inner.size()) {
      next_in = &inner;
      next = child + 1;
    }
    is_first = is_first && child == 0;
    node = inner.child(child).get();
  }
  const auto& leaf = static_cast<const Leaf&>(*node);
  const std::optional<Leaf::Place> place = leaf.find_near(key, trail_.run, trail_.slot);
  if (!place) return false;
  if (!place->found) {
    if (place->slot == 0 && !is_first) return false;
    const bool at_end = place->slot == leaf.size() && next_in != nullptr;
    if (at_end && compare(key, next_in->lower(next)) >= 0) return false;
  }
  ENTITABLE_DCHECK(&leaf == &leaf_of(key) && *place == leaf.find(key));
  spot = {&leaf, *place};
  return true;
}

Schema::Interned TableIndex::intern(std::span<const PropertyView> properties, Seen seen) {
  if (!schema_is_own_ && !schema_->knows(properties)) {
    schema_ = make_ref<Schema>(schema_);
    schema_is_own_ = true;
  }
  return schema_->intern(properties, seen);
}

void TableIndex::put(const Entity& entity) {
  std::vector<PropertyView>& properties = schema_->scratch().properties;
  properties.clear();
  for (const Property& property : entity.properties) {
    properties.push_back({property.name, property.value.view()});
  }
  put(entity.key.view(), entity.timestamp, properties);
}

namespace {

// A packed row and the place in a leaf where it goes.
struct Arrival {
  const std::string& packed;
  std::uint32_t key_bytes;
  Leaf::Place place;
  std::uint32_t room;  // that it takes there
  std::uint32_t gone;  // that the row it replaces took
  bool fits;           // without a split

  Arrival(const Leaf& leaf, const Leaf::Place& place_there, const KeyView& key,
          const std::string& packed_row)
      : packed(packed_row),
        key_bytes(static_cast<std::uint32_t>(key.row.size())),
        place(place_there),
        room(Leaf::cost(static_cast<std::uint32_t>(packed.size()))),
        gone(0) {
    ENTITABLE_CHECK(!leaf.is_absent());
    if (!place.run_found) room += Leaf::run_cost(key.partition);
    if (place.found) gone = Leaf::cost(row_layout::packed_bytes(leaf.base(place.slot)));
    const std::uint32_t rows = leaf.size() + (place.found ? 0 : 1);
    const bool in_order = !place.found && place.slot == leaf.size() && leaf.rising(place);
    const std::uint32_t most = in_order ? leaf_bytes_filled : leaf_bytes_max;
    fits = rows <= 1 || leaf.used() + room - gone <= most;
  }

  // Into the leaf that the edit went to. The next one may well go beside it.
  void go_into(TreeEdit& edit, std::string_view partition, Trail& trail) const {
    const Totals before = edit.leaf().totals();
    Leaf& leaf = edit.own_leaf(room);
    if (place.found) {
      leaf.replace(place.slot, packed, key_bytes);
    } else {
      leaf.insert(place, partition, packed, key_bytes);
    }
    edit.leave(trail);
    trail.run = place.run;
    trail.slot = place.slot + 1;
    edit.settle(before);
  }
};

}  // namespace

const std::string& TableIndex::packed(const KeyView& key, Ticks timestamp,
                                      std::span<const PropertyView> properties, bool alike,
                                      Seen seen) {
  const Schema::Interned interned =
      alike ? schema_->interned_last(properties) : intern(properties, seen);
  std::string& packed = schema_->scratch().row;
  pack_row(interned, key.row, timestamp, properties, packed);
  return packed;
}

void TableIndex::put(const KeyView& key, Ticks timestamp, std::span<const PropertyView> properties,
                     bool alike, Seen seen) {
  const std::string& row = packed(key, timestamp, properties, alike, seen);
  Spot spot{};
  const bool on_trail = spot_on_trail(key, spot);
  TreeEdit edit(root_);
  on_trail ? edit.descend(trail_) : edit.descend(key);
  if (edit.leaf().is_absent()) {
    const Totals before = edit.leaf().totals();
    edit.own_leaf(0).put_absent(key, row);
    edit.settle(before);
    return;
  }
  const Arrival arrival(edit.leaf(), on_trail ? spot.place : edit.leaf().find(key), key, row);
  if (!arrival.fits) {
    edit.replace(split_leaf(edit.slot(), arrival.place, key, row));
    return;
  }
  arrival.go_into(edit, key.partition, trail_);
}

// The leaf asks for memory before it changes anything, as long as it doesn't shrink.
bool TableIndex::put_in_place(const KeyView& key, Ticks timestamp,
                              std::span<const PropertyView> properties, Seen seen) {
  Spot spot{};
  const bool on_trail = spot_on_trail(key, spot);
  TreeEdit edit(root_);
  const bool alone = on_trail ? edit.descend_alone(trail_) : edit.descend_alone(key);
  if (!alone || edit.leaf().is_absent()) return false;
  const std::string& row = packed(key, timestamp, properties, false, seen);
  const Arrival arrival(edit.leaf(), on_trail ? spot.place : edit.leaf().find(key), key, row);
  if (!arrival.fits) {
    return edit.has_room_above() &&
           edit.replace_alone(split_leaf(edit.slot(), arrival.place, key, row));
  }
  if (arrival.room < arrival.gone) return false;
  arrival.go_into(edit, key.partition, trail_);
  return true;
}

bool TableIndex::erase(const KeyView& key) {
  const Found found = find(key);
  if (!found.row && found.need_part == 0) return false;  // so that nothing is cloned in vain
  TreeEdit edit(root_);
  edit.descend(key);
  const Totals before = edit.leaf().totals();
  if (edit.leaf().is_absent()) {
    edit.own_leaf(0).erase_absent(key);
  } else {
    const Leaf::Place place = edit.leaf().find(key);
    edit.own_leaf(0).erase(place);
  }
  edit.settle(before);
  return true;
}

namespace {

// The rows below a key. An absent leaf that the key lies inside of is `torn`, and not counted.
struct Below {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  const Leaf* torn = nullptr;
};

Below count_below(const Node* node, const KeyView& key) {
  Below below;
  KeyView lower;
  while (!node->is_leaf()) {
    const auto& inner = static_cast<const Inner&>(*node);
    const std::uint32_t child = inner.find(key);
    for (std::uint32_t i = 0; i < child; ++i) {
      below.rows += inner.child(i)->totals().rows;
      below.bytes += inner.child(i)->totals().bytes;
    }
    if (child > 0) lower = inner.lower(child);
    node = inner.child(child).get();
  }
  const auto& leaf = static_cast<const Leaf&>(*node);
  if (leaf.is_absent()) {
    if (compare(lower, key) < 0) below.torn = &leaf;
    return below;
  }
  const std::uint32_t slot = leaf.find(key).slot;
  below.rows += slot;
  for (std::uint32_t i = 0; i < slot; ++i) {
    below.bytes += row_layout::packed_bytes(leaf.base(i));
  }
  return below;
}

}  // namespace

RangeCount TableIndex::count(const KeyRange& range) const {
  if (range.empty()) return {};
  Below end{rows(), bytes(), nullptr};
  if (range.upper) end = count_below(root_.get(), range.upper->view());
  const Below start = count_below(root_.get(), range.lower.view());
  RangeCount count{end.rows - start.rows, end.bytes - start.bytes,
                   end.torn == nullptr && start.torn == nullptr};
  if (end.torn != nullptr) {  // not counted at either end; torn at the start only, it is in `end`
    count.rows += end.torn->totals().rows;
    count.bytes += end.torn->totals().bytes;
  }
  return count;
}

std::uint64_t TableIndex::memory_bytes() const {
  return root_->totals().memory + schema_->memory_bytes();
}

// All in one edit: each would have the bounds of all in its node made anew.
void TableIndex::add_absent(std::span<const AbsentPart> parts) {
  TreeEdit edit(root_);
  edit.descend_to_last();
  ENTITABLE_CHECK(!edit.leaf().is_absent() && edit.leaf().size() == 0);
  // What lies between the parts, and behind the last one, is known to be empty.
  std::vector<Child> leaves;
  leaves.reserve(parts.size() + 2);
  std::optional<EntityKey> end(std::in_place, edit.lower().partition, edit.lower().row);
  const auto add_empty = [&] { leaves.push_back({*end, as_node(make_ref<Leaf>())}); };
  for (const auto& [range, part, rows, bytes] : parts) {
    ENTITABLE_CHECK(part != 0 && !range.empty() && end.has_value());
    const int order = compare(end->view(), range.lower.view());
    ENTITABLE_CHECK(order <= 0);
    if (order < 0) add_empty();
    leaves.push_back({range.lower, as_node(Leaf::make_absent(part, rows, bytes))});
    end = range.upper;
  }
  if (end) add_empty();
  edit.replace(std::move(leaves));
}

void TableIndex::add_absent(const KeyRange& range, PartId part, std::uint64_t rows,
                            std::uint64_t bytes) {
  const AbsentPart one{range, part, rows, bytes};
  add_absent(std::span(&one, 1));
}

void TableIndex::set_part(const TableIndex& version, const KeyRange& range, PartId part) {
  ENTITABLE_CHECK(part != 0);
  std::vector<const Leaf*> leaves;
  for (LeafWalk walk(version, range.lower.view()); !walk.done(); walk.next()) {
    if (range.upper && compare(walk.lower(), range.upper->view()) >= 0) break;
    leaves.push_back(&walk.leaf());
  }
  for (const Leaf* leaf : leaves) {
    ENTITABLE_CHECK(!leaf->is_absent());
    leaf->set_part(part, static_cast<std::uint32_t>(leaves.size()));
  }
}

// ---- LeafWalk --------------------------------------------------------------

LeafWalk::LeafWalk(const TableIndex& index) : root_(index.root_) {
  descend(root_.get());
}

LeafWalk::LeafWalk(const TableIndex& index, const KeyView& from) : root_(index.root_) {
  const Node* node = root_.get();
  while (!node->is_leaf()) {
    const auto& inner = static_cast<const Inner&>(*node);
    path_.push_back({&inner, inner.find(from)});
    node = inner.child(path_.back().child).get();
  }
  leaf_ = static_cast<const Leaf*>(node);
  if (compare(lower(), from) < 0) next();
}

// To the first leaf below `node`.
void LeafWalk::descend(const Node* node) {
  while (!node->is_leaf()) {
    const auto& inner = static_cast<const Inner&>(*node);
    path_.push_back({&inner, 0});
    node = inner.child(0).get();
  }
  leaf_ = static_cast<const Leaf*>(node);
}

void LeafWalk::next() {
  ENTITABLE_DCHECK(!done());
  leaf_ = nullptr;
  while (!path_.empty()) {
    Step& step = path_.back();
    if (++step.child < step.node->size()) return descend(step.node->child(step.child).get());
    path_.pop_back();
  }
}

KeyView LeafWalk::lower() const {
  for (std::size_t level = path_.size(); level-- > 0;) {
    if (path_[level].child > 0) return path_[level].node->lower(path_[level].child);
  }
  return {};
}

Ref<Node> LeafWalk::node() const {
  return path_.empty() ? root_ : path_.back().node->child(path_.back().child);
}

LeafSpan LeafWalk::span() const {
  const KeyView low = lower();
  return {EntityKey(low.partition, low.row),
          leaf_->part(),
          leaf_->is_absent(),
          static_cast<bool>(leaf_->overlay()),
          leaf_->totals().rows,
          leaf_->totals().bytes,
          leaf_->part_leaves()};
}

}  // namespace entitable
