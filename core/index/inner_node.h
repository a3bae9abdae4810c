// An inner node: its children, and the lower bound of the range of each but the first. Internal to
// core/index.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "core/index/bounds.h"
#include "core/index/node.h"
#include "core/model/key.h"

namespace entitable {

// A node on its way into an inner node, and where its range starts.
struct Child {
  EntityKey lower;
  Ref<Node> node;
};

class InnerNode : public Node {
 public:
  InnerNode();
  InnerNode(const InnerNode&) = default;
  // REQUIRES: 1 to inner_children_max children. The lower bound of the first is not kept.
  static Ref<InnerNode> build(std::span<const Child> children);

  std::uint32_t size() const { return bounds_->children(); }
  const Ref<Node>& child(std::uint32_t i) const { return children_[i]; }
  KeyView lower(std::uint32_t i) const { return (*bounds_)[i]; }  // REQUIRES: 1 <= i < size()
  // The child whose range holds the key.
  std::uint32_t find(const KeyView& key) const { return bounds_->find(key); }
  // All children; the first one's lower bound is empty.
  std::vector<Child> children() const;

  // Changes. REQUIRES: this node is referenced once. replace() and join() adjust the totals; after
  // a change inside a child the caller calls adjust_totals().
  Ref<Node>& mutable_child(std::uint32_t i) { return children_[i]; }
  void adjust_totals(const Totals& before, const Totals& after) {
    totals_ += after;
    totals_ -= before;
  }
  // Child i, which counted `before`, gives way to `nodes`; the first takes its lower bound. If
  // there is no memory for two of them, all is as before. REQUIRES: they fit.
  void replace(std::uint32_t i, const Totals& before, std::span<const Child> nodes);
  // Children i and i + 1 give way to one.
  void join(std::uint32_t i, Ref<Node> joined);

  // Empty: all well, as far as this node alone can tell.
  std::string verify() const;

 private:
  Bounds& mutable_bounds();
  void insert(std::uint32_t i, const KeyView& lower, const Ref<Node>& node);
  std::uint64_t own_memory() const;

  Ref<Bounds> bounds_;
  std::array<Ref<Node>, inner_children_max> children_;
};

}  // namespace entitable
