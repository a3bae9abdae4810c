#include "core/index/inner_node.h"

#include <algorithm>

#include "core/base/check.h"

namespace entitable {

InnerNode::InnerNode() : Node(false), bounds_(make_ref<ChildBounds>()) {
  totals_.memory = own_memory();
}

Ref<InnerNode> InnerNode::build(std::span<const Child> children) {
  ENTITABLE_CHECK(!children.empty() && children.size() <= inner_children_max);
  Ref<InnerNode> inner = make_ref<InnerNode>();
  const std::uint64_t memory_before = inner->own_memory();
  ChildBounds::List bounds;
  for (std::size_t i = 0; i < children.size(); ++i) {
    bounds[i] = children[i].lower.view();
    inner->children_[i] = children[i].node;
    inner->totals_ += children[i].node->totals();
  }
  inner->bounds_->assign(bounds, static_cast<std::uint32_t>(children.size()));
  inner->totals_.memory += inner->own_memory() - memory_before;
  return inner;
}

std::vector<Child> InnerNode::children() const {
  const ChildBounds::List all = bounds_->list();
  std::vector<Child> list;
  list.reserve(size() + 1);  // callers usually add a child
  for (std::uint32_t i = 0; i < size(); ++i) {
    list.push_back({EntityKey(all[i].partition, all[i].row), children_[i]});
  }
  return list;
}

// ---- Changes ---------------------------------------------------------------

// Returns the bounds for changes. Clones them if copies of this node share them.
ChildBounds& InnerNode::mutable_bounds() {
  if (!bounds_.unique()) bounds_ = make_ref<ChildBounds>(*bounds_);
  return *bounds_;
}

void InnerNode::replace_child(std::uint32_t i, const Totals& before, std::span<const Child> nodes) {
  ENTITABLE_DCHECK(!nodes.empty() && size() - 1 + nodes.size() <= inner_children_max);
  const std::uint64_t memory_before = own_memory();
  for (std::size_t n = 1; n < nodes.size(); ++n) {  // first, because it may throw
    insert(i + static_cast<std::uint32_t>(n), nodes[n].lower.view(), nodes[n].node);
  }
  totals_ -= before;
  children_[i] = nodes[0].node;
  for (const Child& child : nodes) totals_ += child.node->totals();
  totals_.memory += own_memory() - memory_before;
}

void InnerNode::insert(std::uint32_t i, const KeyView& lower_bound, const Ref<Node>& node) {
  mutable_bounds().insert(i, lower_bound);
  std::move_backward(children_.begin() + i, children_.begin() + size() - 1,
                     children_.begin() + size());
  children_[i] = node;
}

void InnerNode::replace_pair(std::uint32_t i, Ref<Node> joined) {
  ENTITABLE_DCHECK(i + 1 < size());
  const std::uint64_t memory_before = own_memory();
  totals_ -= children_[i]->totals();
  totals_ -= children_[i + 1]->totals();
  totals_ += joined->totals();
  children_[i] = std::move(joined);
  std::move(children_.begin() + i + 2, children_.begin() + size(), children_.begin() + i + 1);
  children_[size() - 1] = nullptr;
  mutable_bounds().erase(i + 1);
  totals_.memory += own_memory() - memory_before;
}

std::uint64_t InnerNode::own_memory() const {
  return sizeof(InnerNode) + bounds_->memory_bytes() + 48;
}

std::string InnerNode::verify() const {
  if (size() == 0 || size() > inner_children_max) return "inner node: number of children";
  Totals sum{0, 0, own_memory()};
  for (std::uint32_t i = 0; i < inner_children_max; ++i) {
    if (static_cast<bool>(children_[i]) != (i < size())) return "inner node: children";
    if (i < size()) sum += children_[i]->totals();
  }
  if (std::string problem = bounds_->verify(); !problem.empty()) return problem;
  return sum == totals_ ? "" : "inner node: sums";
}

}  // namespace entitable
