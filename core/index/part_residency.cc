// Lists which parts are in memory and unloads parts: one unloaded leaf replaces all leaves of a
// part.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/index/leaf.h"
#include "core/index/table_index.h"
#include "core/index/tree_edit.h"

namespace entitable {
namespace {

// Writes unload a part at most this often between two checkpoints of its changes. A part that was
// loaded again each time is in use.
constexpr std::uint32_t unloads_by_writes_max = 4;

// Adjacent leaves of one part. An unloaded leaf and a leaf without a part are groups of one leaf.
struct LeafGroup {
  PartId part = 0;
  std::uint32_t leaves = 0;
  std::uint32_t expected = 0;
  bool unloaded = false;
  bool recently_used = false;
  // Whether the overlay has changes outside the range of these leaves. This happens if rows that
  // were inserted later have taken over some of the part's range.
  bool overlay_out_of_range = false;
  Ref<Overlay> overlay;
  Totals totals;

  explicit LeafGroup(const LeafIterator& walk)
      : part(walk.leaf().part()),
        expected(walk.leaf().part_leaves()),
        unloaded(walk.leaf().is_unloaded()),
        overlay(walk.leaf().overlay()) {
    overlay_out_of_range =
        overlay && compare(overlay->changes().begin()->first.view(), walk.lower()) < 0;
  }
  void check_overlay_end(const KeyView& upper) {
    overlay_out_of_range |=
        overlay && compare(overlay->changes().rbegin()->first.view(), upper) >= 0;
  }
  bool includes(const Leaf& leaf) const { return part != 0 && !unloaded && leaf.part() == part; }
  void add(const Leaf& leaf) {
    ++leaves;
    totals += leaf.totals();
    recently_used |= leaf.recently_used();
  }
  // Returns the memory that unloading frees. The changes of an overlay stay.
  std::uint64_t freed_memory() const {
    const std::uint64_t kept = overlay ? overlay->memory_bytes() : 0;
    return totals.memory > kept ? totals.memory - kept : 0;
  }
  bool has_changed() const { return !unloaded && leaves != expected; }
  bool resident() const {
    return part != 0 && !unloaded && !overlay_out_of_range && leaves == expected;
  }
};

// Calls visit_leaf(walk) for each leaf, and visit_group(group) after the last leaf of each
// group.
template <typename VisitLeaf, typename VisitGroup>
void for_each_group(const TableIndex& index, VisitLeaf visit_leaf, VisitGroup visit_group) {
  for (LeafIterator walk(index); !walk.done();) {
    LeafGroup group(walk);
    do {
      group.add(walk.leaf());
      visit_leaf(walk);
      walk.next();
    } while (!walk.done() && group.includes(walk.leaf()));
    if (!walk.done()) group.check_overlay_end(walk.lower());
    visit_group(group);
  }
}

// The group of the leaf at a key, and its range.
struct GroupAt {
  LeafGroup group;
  EntityKey lower;
  std::optional<EntityKey> upper;
};

EntityKey owned(const KeyView& key) {
  return EntityKey(key.partition, key.row);
}

GroupAt group_at(const TableIndex& index, const KeyView& key) {
  LeafIterator first = LeafIterator::at(index, key);
  const LeafGroup part_at_key(first);
  for (LeafIterator before = first;; first = before) {
    before.previous();
    if (before.done() || !part_at_key.includes(before.leaf())) break;
  }
  GroupAt found{LeafGroup(first), owned(first.lower()), std::nullopt};
  LeafIterator walk = first;
  do {
    found.group.add(walk.leaf());
    walk.next();
  } while (!walk.done() && found.group.includes(walk.leaf()));
  if (!walk.done()) {
    found.group.check_overlay_end(walk.lower());
    found.upper = owned(walk.lower());
  }
  return found;
}

// Returns whether a row with this key would come before or after all rows of its part. `part`: the
// group of the leaf at `key`.
bool extends_part(const TableIndex& index, const KeyView& key, const LeafGroup& part) {
  LeafIterator walk = LeafIterator::at(index, key);
  const Leaf::FindResult position = walk.leaf().find(key);
  if (position.found) return false;
  if (position.slot == 0) {
    walk.previous();
  } else if (position.slot == walk.leaf().size()) {
    walk.next();
  } else {
    return false;
  }
  return walk.done() || !part.includes(walk.leaf());
}

// Adds the changes of `overlay` in `range` to the unloaded leaf of a part that was written with the
// changes of `written`. Leaves out those that the part holds. Either overlay may be null.
void add_changes_since(const Overlay* overlay, const Overlay* written, const KeyRange& range,
                       Leaf& leaf) {
  if (overlay == nullptr || overlay == written) return;
  const Overlay::Changes& all = overlay->changes();
  const auto end = range.upper.has_value() ? all.lower_bound(*range.upper) : all.end();
  for (auto change = all.lower_bound(range.lower); change != end; ++change) {
    const auto* const stored = written == nullptr ? nullptr : written->find(change->first.view());
    if (stored != nullptr) {
      if (stored->second == change->second) continue;
      leaf.keep_in_overlay(change->first.view(), stored->second);
    }
    leaf.put_in_overlay(change->first.view(), change->second);
  }
}

}  // namespace

// An unloaded leaf may start below the range of its part, because it was merged with an empty leaf
// before it. It may start above the range's lower bound, because rows that were inserted later have
// taken over the start of the range.
std::optional<EntityKey> TableIndex::any_key_in_unloaded_part(PartId part,
                                                              const KeyRange& range) const {
  const auto holds = [part](const Leaf& leaf) { return leaf.is_unloaded() && leaf.part() == part; };
  if (holds(find_leaf(range.lower.view()))) return range.lower;
  for (LeafIterator walk(*this, range.lower.view()); !walk.done(); walk.next()) {
    const KeyView lower = walk.lower();
    if (range.upper.has_value() && compare(lower, range.upper->view()) >= 0) break;
    if (holds(walk.leaf())) return EntityKey(lower.partition, lower.row);
  }
  return std::nullopt;
}

std::uint64_t TableIndex::bytes_to_checkpoint() const {
  std::uint64_t bytes = 0;
  for_each_group(
      *this, [](const LeafIterator&) {},
      [&bytes](const LeafGroup& group) {
        const bool stored = group.unloaded || group.resident();
        if (!stored || group.overlay) bytes += group.totals.bytes;
        if (group.unloaded && group.overlay) bytes += group.overlay->packed_bytes();
      });
  return bytes;
}

std::vector<PartId> TableIndex::parts_with_inexact_counts() const {
  std::vector<PartId> parts;
  for (LeafIterator walk(*this); !walk.done(); walk.next()) {
    const Leaf& leaf = walk.leaf();
    if (leaf.is_unloaded() && !leaf.has_exact_totals()) parts.push_back(leaf.part());
  }
  return parts;
}

std::vector<ResidentPart> TableIndex::sweep_resident_parts() const {
  std::vector<ResidentPart> parts;
  for_each_group(
      *this, [](const LeafIterator& walk) { walk.leaf().clear_used(); },
      [&parts](const LeafGroup& group) {
        if (group.resident())
          parts.push_back({group.part, group.freed_memory(), group.recently_used});
      });
  return parts;
}

std::uint64_t TableIndex::unloadable_memory() const {
  std::uint64_t memory = 0;
  for_each_group(
      *this, [](const LeafIterator&) {},
      [&memory](const LeafGroup& group) {
        if (group.resident()) memory += group.freed_memory();
      });
  return memory;
}

UnsharedLeaves TableIndex::leaves_not_in(const TableIndex& other) const {
  UnsharedLeaves found;
  if (root_ == other.root_) return found;
  // Not by key: inserts and deletes move a shared leaf to another lower bound.
  std::vector<const Leaf*> shared;
  for (LeafIterator there(other); !there.done(); there.next()) shared.push_back(&there.leaf());
  std::sort(shared.begin(), shared.end(), std::less<>());
  const auto is_shared = [&shared](const Leaf& leaf) {
    return std::binary_search(shared.begin(), shared.end(), &leaf, std::less<>());
  };
  std::uint64_t memory = 0;  // of the leaves of the current group
  for_each_group(
      *this,
      [&](const LeafIterator& walk) {
        if (!is_shared(walk.leaf())) memory += walk.leaf().totals().memory;
      },
      [&](const LeafGroup& group) {
        if (group.resident() && memory > 0) {
          found.parts.push_back(group.part);
          found.unloadable += std::min(memory, group.freed_memory());
        }
        found.memory += std::exchange(memory, 0);
      });
  std::sort(found.parts.begin(), found.parts.end());
  return found;
}

const Overlay* TableIndex::unloaded_overlay(const EntityKey& key) const {
  const Leaf& leaf = find_leaf(key.view());
  ENTITABLE_CHECK(leaf.is_unloaded());
  return leaf.overlay().get();
}

void TableIndex::replace_part(PartId old, const KeyRange& range,
                              std::span<const UnloadedPart> parts, const Overlay* written) {
  const std::optional<EntityKey> key = any_key_in_unloaded_part(old, range);
  if (!key.has_value()) return forget_part(old, range);
  if (parts.empty()) {
    // The rows were all erased, so the overlay holds every row that there is now.
    PartLoader(*this, old).finish();
    return forget_part(old, range);
  }
  TreeEdit edit(root_);
  edit.descend(key->view());
  const Leaf& before = edit.leaf();
  const std::optional<KeyView> end = edit.upper();
  std::vector<Child> leaves;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    KeyRange changed;  // the keys whose changes this part's overlay gets
    if (i > 0) {
      changed.lower = parts[i].range.lower;
      const KeyView start = changed.lower.view();
      ENTITABLE_CHECK(compare(edit.lower(), start) < 0 && (!end || compare(start, *end) < 0));
    }
    if (i + 1 < parts.size()) changed.upper = parts[i + 1].range.lower;
    Ref<Leaf> leaf = Leaf::make_unloaded(parts[i].part, parts[i].rows, parts[i].bytes);
    add_changes_since(before.overlay().get(), written, changed, *leaf);
    if (parts.size() == 1 && before.has_exact_totals()) {
      leaf = Leaf::make_unloaded(parts[i].part, before.totals().rows, before.totals().bytes,
                                 leaf->overlay());
    }
    leaves.push_back({i == 0 ? EntityKey() : parts[i].range.lower, as_node(leaf)});
  }
  edit.replace_leaf(std::move(leaves));
}

// The first leaf may start below the range, as an unloaded leaf may (see
// any_key_in_unloaded_part()).
void TableIndex::forget_part(PartId old, const KeyRange& range) const {
  const auto forget = [old](const Leaf& leaf) {
    if (!leaf.is_unloaded() && leaf.part() == old) leaf.set_part(0, 0);
  };
  forget(find_leaf(range.lower.view()));
  for (LeafIterator walk(*this, range.lower.view()); !walk.done(); walk.next()) {
    if (range.upper.has_value() && compare(walk.lower(), range.upper->view()) >= 0) break;
    forget(walk.leaf());
  }
}

void TableIndex::forget_incomplete_parts() const {
  std::vector<const Leaf*> leaves;  // leaves of the current group
  for_each_group(
      *this, [&leaves](const LeafIterator& walk) { leaves.push_back(&walk.leaf()); },
      [&leaves](const LeafGroup& group) {
        for (const Leaf* leaf : leaves) {
          if (group.has_changed() && group.part != 0) leaf->set_part(0, 0);
        }
        leaves.clear();
      });
}

void TableIndex::add_parts_to(std::set<PartId>& parts) const {
  for (LeafIterator walk(*this); !walk.done(); walk.next()) {
    if (walk.leaf().part() != 0) parts.insert(walk.leaf().part());
  }
}

std::vector<PartId> TableIndex::resident_parts_unloaded_in(const TableIndex& other) const {
  std::set<PartId> unloaded;
  for (LeafIterator walk(other); !walk.done(); walk.next()) {
    if (walk.leaf().is_unloaded()) unloaded.insert(walk.leaf().part());
  }
  std::vector<PartId> parts;
  for_each_group(
      *this, [](const LeafIterator&) {},
      [&](const LeafGroup& group) {
        if (group.resident() && unloaded.count(group.part) != 0) parts.push_back(group.part);
      });
  std::sort(parts.begin(), parts.end());
  return parts;
}

void TableIndex::unload_parts(const std::vector<PartId>& parts) {
  std::size_t dropped = 0;
  std::vector<Child> rest;
  std::vector<Child> leaves;  // leaves of the current group
  for_each_group(
      *this,
      [&leaves](const LeafIterator& walk) {
        leaves.push_back({EntityKey(walk.lower().partition, walk.lower().row), walk.leaf_node()});
      },
      [&](const LeafGroup& group) {
        if (group.resident() && std::binary_search(parts.begin(), parts.end(), group.part)) {
          ++dropped;
          leaves.resize(1);
          leaves[0].node = as_node(Leaf::make_unloaded(group.part, group.totals.rows,
                                                       group.totals.bytes, group.overlay));
        }
        std::move(leaves.begin(), leaves.end(), std::back_inserter(rest));
        leaves.clear();
      });
  ENTITABLE_CHECK(dropped == parts.size());
  Ref<Node> root = as_node(make_ref<Leaf>());
  TreeEdit edit(root);
  edit.descend_to_last();
  edit.replace_leaf(std::move(rest));
  root_ = std::move(root);
}

PartId TableIndex::part_to_unload_at(const KeyView& key, const TableIndex& published) const {
  const Leaf& leaf = find_leaf(key);
  if (leaf.is_unloaded() || leaf.part() == 0) return 0;
  const Overlay* const overlay = leaf.overlay().get();
  if (overlay && (overlay->is_full() || overlay->unloads_by_writes() >= unloads_by_writes_max))
    return 0;
  const LeafGroup part = group_at(*this, key).group;
  if (!part.resident() || extends_part(*this, key, part)) return 0;
  if (&published == this || root_.get() == published.root_.get()) return leaf.part();
  const LeafGroup there = group_at(published, key).group;
  return there.part == leaf.part() && (there.unloaded || there.resident()) ? leaf.part() : 0;
}

void TableIndex::unload_part_at(const KeyView& key) {
  const auto [group, lower, upper] = group_at(*this, key);
  ENTITABLE_CHECK(group.resident());
  Ref<Overlay> overlay = group.overlay ? make_ref<Overlay>(*group.overlay) : make_ref<Overlay>();
  overlay->count_unload_by_write();
  const Ref<Leaf> leaf =
      Leaf::make_unloaded(group.part, group.totals.rows, group.totals.bytes, std::move(overlay));
  replace_leaves(root_, {lower, upper}, as_node(leaf));
}

bool TableIndex::lacks_row(const KeyView& key, const TableIndex& base) const {
  const Leaf& leaf = find_leaf(key);
  if (!leaf.is_unloaded() || (leaf.overlay() && leaf.overlay()->find(key) != nullptr)) return false;
  const Leaf& loaded = base.find_leaf(key);
  return !loaded.is_unloaded() && loaded.part() == leaf.part();
}

void TableIndex::keep_row(const KeyView& key, const TableIndex& base) {
  const Leaf& loaded = base.find_leaf(key);
  const Leaf::FindResult position = loaded.find(key);
  TreeEdit edit(root_);
  edit.descend(key);
  const Totals before = edit.leaf().totals();
  edit.mutable_leaf(0).keep_in_overlay(
      key, position.found ? row_layout::packed(loaded.row_base(position.slot)) : "");
  edit.rebalance_after_change(before);
}

}  // namespace entitable
