// Changing the tree below one root: paths, splits, merges. Internal to core/index.
//
// An edit goes down once, making every inner node on its way its own (shared ones are cloned), then
// changes the leaf or puts others in its place, and carries sums, splits and merges up again.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/index/inner_node.h"
#include "core/index/leaf.h"

namespace entitable {

class TreeEdit {
 public:
  explicit TreeEdit(Ref<Node>& root) : root_(root) {}

  // Goes to the leaf of a key, to that at the end of a trail, or to the very last one. Once per
  // edit. REQUIRES: the tree has a trail's nodes.
  void descend(const KeyView& key);
  void descend(const TreePath& path);
  void descend_to_last();
  // descend(), but nothing is cloned: false if something on the way to the leaf, or the leaf, is
  // held elsewhere too. Then the edit is good for nothing.
  bool descend_if_unshared(const KeyView& key);
  bool descend_if_unshared(const TreePath& path);
  // The way it went.
  void record_path(TreePath& path) const;

  const Leaf& leaf() const { return static_cast<const Leaf&>(*leaf_node()); }
  const Ref<Node>& leaf_node() const { return *leaf_ref_; }
  // Where the leaf's range starts and ends (nothing: no end); valid until a change.
  KeyView lower() const;
  std::optional<KeyView> upper() const;

  // The leaf, held once, with room for `room` more bytes.
  Leaf& mutable_leaf(std::uint32_t room);
  // Tells the nodes above of a change in the leaf, which counted `before`. If it shrank and is
  // underfull, merges it with a neighbour, unless both together were nearly full again.
  void propagate_change(const Totals& before);
  // Puts other leaves in the place of the leaf. The first one's lower bound is not looked at.
  void replace(std::vector<Child> leaves);
  // The same where only the node above changes, which has room for one more. False: it would not be
  // enough, and nothing was done. On std::bad_alloc nothing was done, either. REQUIRES:
  // parent_has_room().
  bool replace_in_parent(std::span<const Child> leaves);
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
  Ref<Node>* leaf_ref_ = nullptr;  // holds the leaf
  std::array<Step, tree_depth_max> path_;
  std::uint32_t depth_ = 0;  // inner nodes above the leaf
};

}  // namespace entitable
