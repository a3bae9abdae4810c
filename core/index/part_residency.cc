// Lists which parts are in memory and unloads parts: one unloaded leaf replaces all leaves of a
// part.
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/index/leaf.h"
#include "core/index/table_index.h"
#include "core/index/tree_edit.h"

namespace entitable {
namespace {

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

template <typename Wanted>
std::vector<PartId> unloaded_parts(const TableIndex& index, Wanted wanted) {
  std::vector<PartId> parts;
  for (LeafIterator walk(index); !walk.done(); walk.next()) {
    const Leaf& leaf = walk.leaf();
    if (leaf.is_unloaded() && wanted(leaf)) parts.push_back(leaf.part());
  }
  return parts;
}

}  // namespace

// An unloaded leaf may start below the range of its part, because it was merged with an empty leaf
// before it. It may start above the range's lower bound, because rows that were inserted later have
// taken over the start of the range.
std::optional<EntityKey> TableIndex::key_in_unloaded_part(PartId part,
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

std::uint64_t TableIndex::dirty_bytes() const {
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

std::vector<PartId> TableIndex::parts_with_overlay() const {
  return unloaded_parts(*this, [](const Leaf& leaf) { return static_cast<bool>(leaf.overlay()); });
}

std::vector<PartId> TableIndex::parts_with_inexact_counts() const {
  return unloaded_parts(*this, [](const Leaf& leaf) { return !leaf.has_exact_totals(); });
}

std::vector<ResidentPart> TableIndex::sweep_resident_parts() const {
  std::vector<ResidentPart> parts;
  for_each_group(
      *this, [](const LeafIterator& walk) { walk.leaf().clear_used(); },
      [&parts](const LeafGroup& group) {
        if (group.resident())
          parts.push_back({group.part, group.totals.memory, group.recently_used});
      });
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

}  // namespace entitable
