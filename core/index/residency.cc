// Which parts are in memory, and dropping them: an absent leaf takes the place of all leaves of a
// part.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/index/leaf.h"
#include "core/index/table_index.h"
#include "core/index/tree_edit.h"

namespace entitable {
namespace {

// The neighbouring leaves of one part, as a walk meets them.
struct Group {
  Child first;
  PartId part = 0;
  std::uint32_t leaves = 0;
  std::uint32_t expected = 0;
  bool absent = false;
  bool used = false;
  Totals totals;

  explicit Group(const LeafWalk& walk)
      : first{EntityKey(walk.lower().partition, walk.lower().row), walk.node()},
        part(walk.leaf().part()),
        expected(walk.leaf().part_leaves()),
        absent(walk.leaf().is_absent()) {
    add(walk.leaf());
  }
  bool takes(const Leaf& leaf) const { return part != 0 && !absent && leaf.part() == part; }
  void add(const Leaf& leaf) {
    ++leaves;
    totals += leaf.totals();
    used |= leaf.used_lately();
  }
  bool resident() const { return part != 0 && !absent && leaves == expected; }
};

// Calls visit(group, leaves) for all leaves, part by part; the leaves of no part one by one.
template <typename Visit>
void for_each_group(const TableIndex& index, Visit visit) {
  std::vector<Child> leaves;
  for (LeafWalk walk(index); !walk.done();) {
    Group group(walk);
    leaves.assign(1, group.first);
    for (walk.next(); !walk.done() && group.takes(walk.leaf()); walk.next()) {
      group.add(walk.leaf());
      leaves.push_back({EntityKey(walk.lower().partition, walk.lower().row), walk.node()});
    }
    visit(group, leaves);
  }
}

}  // namespace

std::vector<ResidentPart> TableIndex::resident_parts() const {
  std::vector<ResidentPart> parts;
  for_each_group(*this, [&parts](const Group& group, const std::vector<Child>& leaves) {
    if (group.resident()) parts.push_back({group.part, group.totals.memory, group.used});
    for (const Child& leaf : leaves) static_cast<const Leaf&>(*leaf.node).forget_use();
  });
  return parts;
}

void TableIndex::drop_parts(const std::vector<PartId>& parts) {
  std::size_t dropped = 0;
  std::vector<Child> rest;
  for_each_group(*this, [&](const Group& group, std::vector<Child>& leaves) {
    if (group.resident() && std::binary_search(parts.begin(), parts.end(), group.part)) {
      ++dropped;
      rest.push_back({group.first.lower, as_node(Leaf::make_absent(group.part, group.totals.rows,
                                                                   group.totals.bytes))});
    } else {
      std::move(leaves.begin(), leaves.end(), std::back_inserter(rest));
    }
  });
  ENTITABLE_CHECK(dropped == parts.size());
  Ref<Node> root = as_node(make_ref<Leaf>());
  TreeEdit edit(root);
  edit.descend_to_last();
  edit.replace(std::move(rest));
  root_ = std::move(root);
}

}  // namespace entitable
