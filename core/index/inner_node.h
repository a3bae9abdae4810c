// An inner node of the tree: its children, and the lower bound of each child but the first.
// Internal to core/index.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "core/index/child_bounds.h"
#include "core/index/node.h"
#include "core/model/key.h"

namespace entitable {

// A node to be inserted into an inner node, and the lower bound of its range.
struct Child {
  EntityKey lower;
  Ref<Node> node;
};

class InnerNode : public Node {
 public:
  InnerNode();
  InnerNode(const InnerNode&) = default;
  // REQUIRES: 1 to inner_children_max children. The lower bound of the first child is not stored.
  static Ref<InnerNode> build(std::span<const Child> children);

  std::uint32_t size() const { return bounds_->child_count(); }
  const Ref<Node>& child(std::uint32_t i) const { return children_[i]; }
  KeyView lower(std::uint32_t i) const { return (*bounds_)[i]; }  // REQUIRES: 1 <= i < size()
  // Returns the index of the child whose range holds the key.
  std::uint32_t find(const KeyView& key) const { return bounds_->find(key); }
  // Returns all children; the lower bound of the first is empty.
  std::vector<Child> children() const;

  // Changes. REQUIRES: this node is referenced once. replace_child() and replace_pair() adjust the
  // totals of this node. After a change inside a child, the caller must call adjust_totals().
  Ref<Node>& mutable_child(std::uint32_t i) { return children_[i]; }
  void adjust_totals(const Totals& before, const Totals& after) {
    totals_ += after;
    totals_ -= before;
  }
  // Replaces child i by `nodes`; the first of them keeps the lower bound of child i. `before`: the
  // totals of child i that are included in the totals of this node. If memory runs out and there
  // are at most two nodes, nothing has changed. REQUIRES: afterwards there are at most
  // inner_children_max children.
  void replace_child(std::uint32_t i, const Totals& before, std::span<const Child> nodes);
  // Replaces children i and i + 1 by `joined`.
  void replace_pair(std::uint32_t i, Ref<Node> joined);

  // Returns an empty text if the invariants of this node hold, else the first violation. Does not
  // check the children.
  std::string verify() const;

 private:
  ChildBounds& mutable_bounds();
  void insert(std::uint32_t i, const KeyView& lower, const Ref<Node>& node);
  std::uint64_t own_memory() const;

  Ref<ChildBounds> bounds_;
  std::array<Ref<Node>, inner_children_max> children_;
};

// REQUIRES: the node is an inner node.
inline const InnerNode& inner_of(const Node* node) {
  return static_cast<const InnerNode&>(*node);
}

}  // namespace entitable
