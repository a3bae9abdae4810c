// Which parts are in memory, and dropping them: an absent leaf takes the place of all leaves of a
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

// The neighbouring leaves of one part, as a walk meets them; a leaf of no part is by itself.
struct Group {
  PartId part = 0;
  std::uint32_t leaves = 0;
  std::uint32_t expected = 0;
  bool absent = false;
  bool used = false;
  bool stray = false;  // rows that came later have taken some of the place of its overlay's changes
  Ref<Overlay> overlay;
  Totals totals;

  explicit Group(const LeafWalk& walk)
      : part(walk.leaf().part()),
        expected(walk.leaf().part_leaves()),
        absent(walk.leaf().is_absent()),
        overlay(walk.leaf().overlay()) {
    stray = overlay && compare(overlay->changes().begin()->first.view(), walk.lower()) < 0;
  }
  void end_before(const KeyView& upper) {
    stray |= overlay && compare(overlay->changes().rbegin()->first.view(), upper) >= 0;
  }
  bool takes(const Leaf& leaf) const { return part != 0 && !absent && leaf.part() == part; }
  void add(const Leaf& leaf) {
    ++leaves;
    totals += leaf.totals();
    used |= leaf.used_lately();
  }
  bool resident() const { return part != 0 && !absent && !stray && leaves == expected; }
};

// Calls visit_leaf(walk) for each leaf, and visit_group(group) after the last one of a group.
template <typename VisitLeaf, typename VisitGroup>
void for_each_group(const TableIndex& index, VisitLeaf visit_leaf, VisitGroup visit_group) {
  for (LeafWalk walk(index); !walk.done();) {
    Group group(walk);
    do {
      group.add(walk.leaf());
      visit_leaf(walk);
      walk.next();
    } while (!walk.done() && group.takes(walk.leaf()));
    if (!walk.done()) group.end_before(walk.lower());
    visit_group(group);
  }
}

template <typename Wanted>
std::vector<PartId> absent_parts(const TableIndex& index, Wanted wanted) {
  std::vector<PartId> parts;
  for (LeafWalk walk(index); !walk.done(); walk.next()) {
    const Leaf& leaf = walk.leaf();
    if (leaf.is_absent() && wanted(leaf)) parts.push_back(leaf.part());
  }
  return parts;
}

}  // namespace

// A leaf that merged with an empty one before it starts lower than its part is listed; one that was
// split off behind rows that came later starts higher.
std::optional<EntityKey> TableIndex::find_absent(PartId part, const KeyRange& place) const {
  const auto holds = [part](const Leaf& leaf) { return leaf.is_absent() && leaf.part() == part; };
  if (holds(leaf_of(place.lower.view()))) return place.lower;
  for (LeafWalk walk(*this, place.lower.view()); !walk.done(); walk.next()) {
    const KeyView lower = walk.lower();
    if (place.upper.has_value() && compare(lower, place.upper->view()) >= 0) break;
    if (holds(walk.leaf())) return EntityKey(lower.partition, lower.row);
  }
  return std::nullopt;
}

std::uint64_t TableIndex::unstored_bytes() const {
  std::uint64_t bytes = 0;
  for_each_group(
      *this, [](const LeafWalk&) {},
      [&bytes](const Group& group) {
        const bool stored = group.absent || group.resident();
        if (!stored || group.overlay) bytes += group.totals.bytes;
        if (group.absent && group.overlay) bytes += group.overlay->bytes();
      });
  return bytes;
}

std::vector<PartId> TableIndex::overlaid_parts() const {
  return absent_parts(*this, [](const Leaf& leaf) { return static_cast<bool>(leaf.overlay()); });
}

std::vector<PartId> TableIndex::uncounted_parts() const {
  return absent_parts(*this, [](const Leaf& leaf) { return !leaf.counted(); });
}

std::vector<ResidentPart> TableIndex::resident_parts() const {
  std::vector<ResidentPart> parts;
  for_each_group(
      *this, [](const LeafWalk& walk) { walk.leaf().forget_use(); },
      [&parts](const Group& group) {
        if (group.resident()) parts.push_back({group.part, group.totals.memory, group.used});
      });
  return parts;
}

void TableIndex::drop_parts(const std::vector<PartId>& parts) {
  std::size_t dropped = 0;
  std::vector<Child> rest;
  std::vector<Child> leaves;  // of the group at hand
  for_each_group(
      *this,
      [&leaves](const LeafWalk& walk) {
        leaves.push_back({EntityKey(walk.lower().partition, walk.lower().row), walk.node()});
      },
      [&](const Group& group) {
        if (group.resident() && std::binary_search(parts.begin(), parts.end(), group.part)) {
          ++dropped;
          leaves.resize(1);
          leaves[0].node = as_node(
              Leaf::make_absent(group.part, group.totals.rows, group.totals.bytes, group.overlay));
        }
        std::move(leaves.begin(), leaves.end(), std::back_inserter(rest));
        leaves.clear();
      });
  ENTITABLE_CHECK(dropped == parts.size());
  Ref<Node> root = as_node(make_ref<Leaf>());
  TreeEdit edit(root);
  edit.descend_to_last();
  edit.replace(std::move(rest));
  root_ = std::move(root);
}

}  // namespace entitable
