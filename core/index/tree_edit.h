// Changes the tree below one root and keeps it balanced. Internal to core/index.
//
// An edit descends once and clones every shared inner node on its path. It then changes or replaces
// the leaf, and propagates totals, splits and merges back to the root.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/index/inner_node.h"
#include "core/index/key_range.h"
#include "core/index/leaf.h"

namespace entitable {

class TreeEdit {
 public:
  explicit TreeEdit(Ref<Node>& root) : root_(root) {}

  // Descend to the leaf of a key, to the leaf at the end of a path, or to the last leaf. Clone the
  // shared inner nodes on the way. REQUIRES: no other descend function was called on this object;
  // the nodes of the path exist in this tree.
  void descend(const KeyView& key);
  void descend(const TreePath& path);
  void descend_to_last();
  // Descends as descend() does if no node on the way is shared, the leaf included. Otherwise
  // returns false; this TreeEdit must then not be used any more.
  bool descend_if_unshared(const KeyView& key);
  bool descend_if_unshared(const TreePath& path);
  // Stores the path to the leaf in path.children.
  void record_path(TreePath& path) const;

  const Leaf& leaf() const { return static_cast<const Leaf&>(*leaf_node()); }
  const Ref<Node>& leaf_node() const { return *leaf_ref_; }
  // The bounds of the leaf's key range. The last leaf has no upper bound. Valid until the next
  // change.
  KeyView lower() const;
  std::optional<KeyView> upper() const;

  // Returns the leaf so that the caller can change it. If the leaf is shared, first replaces it by
  // a clone with space for `spare_bytes` more bytes.
  Leaf& mutable_leaf(std::uint32_t spare_bytes);
  // Must be called after a change of the leaf. `before`: the leaf's totals before the change.
  // Adjusts the totals of the nodes above. If the leaf shrank and is underfull, merges it with a
  // neighbour, unless the merged leaf would be nearly full.
  void rebalance_after_change(const Totals& before);
  // Replaces the leaf by `leaves`. The lower bound of the first of them is ignored.
  void replace_leaf(std::vector<Child> leaves);
  // Replaces the leaf by `leaves` without splitting nodes above. Returns false and changes nothing
  // if there are more than two leaves. Changes nothing either if it throws std::bad_alloc.
  // REQUIRES: parent_has_room().
  bool replace_leaf_in_parent(std::span<const Child> leaves);
  bool parent_has_room() const {
    return depth_ > 0 && path_[depth_ - 1].node->size() < inner_children_max;
  }

 private:
  struct Step {
    InnerNode* node;
    std::uint32_t child;
  };
  template <typename Choose>
  void descend_by(Choose choose);
  template <typename Choose>
  bool descend_if_unshared_by(Choose choose);
  void adjust_ancestors(std::uint32_t level, const Totals& before, const Totals& after);
  void merge_upwards();

  Ref<Node>& root_;
  Ref<Node>* leaf_ref_ = nullptr;  // the reference to the leaf in its parent, or root_
  std::array<Step, tree_depth_max> path_;
  std::uint32_t depth_ = 0;  // number of inner nodes above the leaf
};

// Replaces the leaves of a key range by `leaf`. Changes nothing if it throws std::bad_alloc.
// REQUIRES: a leaf starts at the start of the range, and one ends at its end.
void replace_leaves(Ref<Node>& root, const KeyRange& range, const Ref<Node>& leaf);

}  // namespace entitable
