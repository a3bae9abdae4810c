#include "core/index/tree_edit.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "core/base/check.h"

namespace entitable {

namespace {

// Neighbours are merged up to this size, so that the next insert does not split them again.
constexpr std::uint32_t merged_leaf_max = leaf_bytes_max / 4 * 3;
constexpr std::uint32_t merged_inner_max = inner_children_max / 4 * 3;

constexpr std::uint32_t inner_fill = inner_children_max / 8 * 7;

bool underfull(const Node& node) {
  if (node.is_leaf()) return static_cast<const Leaf&>(node).used_bytes() < leaf_bytes_max / 2;
  return static_cast<const InnerNode&>(node).size() < inner_children_max / 2;
}

// Distributes children that do not fit into one inner node over several nodes. If the children were
// added at the end, more inserts are likely there; all nodes but the last are then nearly full.
std::vector<Child> grouped(const std::vector<Child>& children, bool grown_at_end) {
  const std::size_t count = children.size();
  const std::size_t groups = (count + inner_fill - 1) / inner_fill;
  std::vector<Child> nodes;
  nodes.reserve(groups);
  std::size_t from = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t to =
        grown_at_end ? std::min(count, (g + 1) * inner_fill) : count * (g + 1) / groups;
    const std::span<const Child> group = std::span(children).subspan(from, to - from);
    nodes.push_back({children[from].lower, as_node(InnerNode::build(group))});
    from = to;
  }
  return nodes;
}

Ref<Node> merged_leaves(const Ref<Node>& a, const Ref<Node>& b) {
  const auto& left = static_cast<const Leaf&>(*a);
  const auto& right = static_cast<const Leaf&>(*b);
  if (left.is_unloaded() || right.is_unloaded()) return nullptr;
  if (left.size() == 0) return b;
  if (right.size() == 0) return a;
  if (left.used_bytes() + right.used_bytes() > merged_leaf_max) return nullptr;
  std::vector<SourceRow> rows;
  rows.reserve(left.size() + right.size());
  left.append_rows_to(rows);
  right.append_rows_to(rows);
  return as_node(Leaf::build(rows));
}

Ref<Node> merged_inners(const Ref<Node>& a, const Ref<Node>& b, const KeyView& b_lower) {
  const auto& left = static_cast<const InnerNode&>(*a);
  const auto& right = static_cast<const InnerNode&>(*b);
  if (left.size() + right.size() > merged_inner_max) return nullptr;
  std::vector<Child> children = left.children();
  std::vector<Child> more = right.children();
  more[0].lower = EntityKey(b_lower.partition, b_lower.row);
  std::move(more.begin(), more.end(), std::back_inserter(children));
  return as_node(InnerNode::build(children));
}

// Returns children `left` and `left` + 1 merged into one node, or null if they stay separate.
Ref<Node> merged(const InnerNode& parent, std::uint32_t left) {
  const Ref<Node>& a = parent.child(left);
  const Ref<Node>& b = parent.child(left + 1);
  return a->is_leaf() ? merged_leaves(a, b) : merged_inners(a, b, parent.lower(left + 1));
}

}  // namespace

void TreeEdit::descend(const KeyView& key) {
  descend_by([&key](const InnerNode& inner) { return inner.find(key); });
}

void TreeEdit::descend(const TreePath& path) {
  descend_by([&](const InnerNode&) { return path.children[depth_]; });
}

void TreeEdit::descend_to_last() {
  descend_by([](const InnerNode& inner) { return inner.size() - 1; });
}

template <typename Choose>
void TreeEdit::descend_by(Choose choose) {
  ENTITABLE_CHECK(leaf_ref_ == nullptr);
  leaf_ref_ = &root_;
  while (!(*leaf_ref_)->is_leaf()) {
    if (!leaf_ref_->unique()) {
      *leaf_ref_ = Ref<Node>(new InnerNode(static_cast<const InnerNode&>(**leaf_ref_)));
    }
    InnerNode& inner = static_cast<InnerNode&>(**leaf_ref_);
    ENTITABLE_CHECK(depth_ < tree_depth_max);
    path_[depth_] = {&inner, choose(inner)};
    ++depth_;
    leaf_ref_ = &inner.mutable_child(path_[depth_ - 1].child);
  }
}

bool TreeEdit::descend_if_unshared(const KeyView& key) {
  return descend_if_unshared_by([&key](const InnerNode& inner) { return inner.find(key); });
}

bool TreeEdit::descend_if_unshared(const TreePath& path) {
  return descend_if_unshared_by([&](const InnerNode&) { return path.children[depth_]; });
}

template <typename Choose>
bool TreeEdit::descend_if_unshared_by(Choose choose) {
  ENTITABLE_CHECK(leaf_ref_ == nullptr);
  for (leaf_ref_ = &root_; leaf_ref_->unique();
       leaf_ref_ = &path_[depth_ - 1].node->mutable_child(path_[depth_ - 1].child)) {
    if ((*leaf_ref_)->is_leaf()) return true;
    InnerNode& inner = static_cast<InnerNode&>(**leaf_ref_);
    ENTITABLE_CHECK(depth_ < tree_depth_max);
    path_[depth_] = {&inner, choose(inner)};
    ++depth_;
  }
  return false;
}

void TreeEdit::record_path(TreePath& path) const {
  static_assert(inner_children_max <= 0xFF);
  for (std::uint32_t level = 0; level < depth_; ++level) {
    path.children[level] = static_cast<std::uint8_t>(path_[level].child);
  }
}

KeyView TreeEdit::lower() const {
  for (std::uint32_t level = depth_; level-- > 0;) {
    const Step& step = path_[level];
    if (step.child > 0) return step.node->lower(step.child);
  }
  return {};
}

std::optional<KeyView> TreeEdit::upper() const {
  for (std::uint32_t level = depth_; level-- > 0;) {
    const Step& step = path_[level];
    if (step.child + 1 < step.node->size()) return step.node->lower(step.child + 1);
  }
  return std::nullopt;
}

Leaf& TreeEdit::mutable_leaf(std::uint32_t spare_bytes) {
  if (!leaf_ref_->unique()) *leaf_ref_ = as_node(leaf().clone(spare_bytes));
  return static_cast<Leaf&>(**leaf_ref_);
}

void TreeEdit::rebalance_after_change(const Totals& before) {
  const Totals& after = (*leaf_ref_)->totals();
  adjust_ancestors(depth_, before, after);
  if (after.bytes < before.bytes) merge_upwards();
}

// Adjusts the totals of the nodes above `level` after totals at that level changed from `before` to
// `after`.
void TreeEdit::adjust_ancestors(std::uint32_t level, const Totals& before, const Totals& after) {
  while (level-- > 0) path_[level].node->adjust_totals(before, after);
}

void TreeEdit::replace_leaf(std::vector<Child> nodes) {
  Totals before = (*leaf_ref_)->totals();
  for (std::uint32_t level = depth_; level-- > 0;) {
    const Step& step = path_[level];
    InnerNode& parent = *step.node;
    const Totals parent_before = parent.totals();
    if (parent.size() - 1 + nodes.size() <= inner_children_max) {
      parent.replace_child(step.child, before, nodes);
      adjust_ancestors(level, parent_before, parent.totals());
      return;
    }
    const bool at_end = step.child + 1 == parent.size();
    std::vector<Child> children = parent.children();
    children[step.child].node = nodes[0].node;
    const auto behind = std::next(children.begin(), static_cast<std::ptrdiff_t>(step.child) + 1);
    children.insert(behind, nodes.begin() + 1, nodes.end());
    nodes = grouped(children, at_end);
    before = parent_before;
  }
  while (nodes.size() > 1) {
    if (nodes.size() <= inner_children_max) {
      nodes = {{EntityKey(), as_node(InnerNode::build(nodes))}};
    } else {
      nodes = grouped(nodes, true);
    }
  }
  root_ = nodes[0].node;
}

bool TreeEdit::replace_leaf_in_parent(std::span<const Child> leaves) {
  ENTITABLE_DCHECK(parent_has_room());
  if (leaves.size() > 2) return false;
  const Step& step = path_[depth_ - 1];
  const Totals parent_before = step.node->totals();
  step.node->replace_child(step.child, (*leaf_ref_)->totals(), leaves);
  adjust_ancestors(depth_ - 1, parent_before, step.node->totals());
  return true;
}

void TreeEdit::merge_upwards() {
  for (std::uint32_t level = depth_; level-- > 0;) {
    const Step& step = path_[level];
    InnerNode& parent = *step.node;
    if (!underfull(*parent.child(step.child))) break;
    std::uint32_t left = step.child;
    Ref<Node> joined = left + 1 < parent.size() ? merged(parent, left) : nullptr;
    if (!joined && left > 0) joined = merged(parent, --left);
    if (!joined) break;
    const Totals before = parent.totals();
    parent.replace_pair(left, std::move(joined));
    adjust_ancestors(level, before, parent.totals());
  }
  while (!root_->is_leaf() && static_cast<const InnerNode&>(*root_).size() == 1) {
    root_ = Ref<Node>(static_cast<const InnerNode&>(*root_).child(0));
  }
}

namespace {

// Joins adjacent inner nodes that have become small.
void join_small(std::vector<Child>& nodes) {
  if (nodes.empty() || nodes[0].node->is_leaf()) return;
  std::vector<Child> joined;
  joined.reserve(nodes.size());
  for (Child& next : nodes) {
    Ref<Node> both;
    if (!joined.empty() && (underfull(*next.node) || underfull(*joined.back().node)))
      both = merged_inners(joined.back().node, next.node, next.lower.view());
    if (both) {
      joined.back().node = std::move(both);
    } else {
      joined.push_back(std::move(next));
    }
  }
  nodes = std::move(joined);
}

// Returns the children that `inner` has after the leaves of `range` were replaced by `leaf`, with
// all their lower bounds. `own`: the range of `inner`. The recursion is as deep as the tree.
std::vector<Child> children_after(const InnerNode& inner, const KeyRange& own,
                                  const KeyRange& range, const Ref<Node>& leaf) {
  std::vector<Child> before = inner.children();
  before[0].lower = own.lower;
  std::vector<Child> after;
  after.reserve(before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    KeyRange child{before[i].lower, own.upper};
    if (i + 1 < before.size()) child.upper = before[i + 1].lower;
    const Ref<Node>& node = before[i].node;
    if (intersect(child, range).empty()) {
      after.push_back(std::move(before[i]));
    } else if (!node->is_leaf()) {
      std::vector<Child> below =
          children_after(static_cast<const InnerNode&>(*node), child, range, leaf);
      if (below.empty()) continue;
      EntityKey lower = below[0].lower;
      after.push_back({std::move(lower), as_node(InnerNode::build(below))});
    } else if (child.lower == range.lower) {
      after.push_back({std::move(child.lower), leaf});
    }
  }
  join_small(after);
  return after;
}

}  // namespace

void replace_leaves(Ref<Node>& root, const KeyRange& range, const Ref<Node>& leaf) {
  Ref<Node> changed = leaf;
  if (!root->is_leaf()) {
    const std::vector<Child> children =
        children_after(static_cast<const InnerNode&>(*root), KeyRange(), range, leaf);
    changed = children.size() == 1 ? children[0].node : as_node(InnerNode::build(children));
  }
  while (!changed->is_leaf() && static_cast<const InnerNode&>(*changed).size() == 1)
    changed = Ref<Node>(static_cast<const InnerNode&>(*changed).child(0));
  root = std::move(changed);
}

}  // namespace entitable
