#include "core/live/range_tree.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/base/check.h"

namespace entitable {
namespace {

// Compares upper bounds. No bound is above all others.
int compare_upper(const KeyRange& a, const KeyRange& b) {
  if (!a.upper.has_value() || !b.upper.has_value())
    return (a.upper.has_value() ? 0 : 1) - (b.upper.has_value() ? 0 : 1);
  return compare(a.upper->view(), b.upper->view());
}

int compare_ranges(const KeyRange& a, const KeyRange& b) {
  const int order = compare(a.lower.view(), b.lower.view());
  return order != 0 ? order : compare_upper(a, b);
}

bool ends_after(const KeyRange& range, const KeyView& key) {
  return !range.upper.has_value() || compare(key, range.upper->view()) < 0;
}

}  // namespace

struct RangeTree::Node {
  KeyRange range;
  std::vector<Watch*> watches;
  std::int32_t height = 1;
  const KeyRange* widest = &range;  // the range with the greatest upper bound here and below
  Link left{};
  Link right{};
};

RangeTree::RangeTree() = default;
RangeTree::~RangeTree() = default;

const KeyRange* RangeTree::add(const KeyRange& range, Watch* watch) {
  ENTITABLE_CHECK(!range.empty());
  return add(root_, range, watch);
}

const KeyRange* RangeTree::add(Link& link, const KeyRange& range, Watch* watch) {
  if (link == nullptr) {
    auto node = std::make_unique<Node>();
    node->range = range;
    node->watches.push_back(watch);
    link = std::move(node);
    return &link->range;
  }
  const int order = compare_ranges(range, link->range);
  if (order == 0) {
    link->watches.push_back(watch);
    return &link->range;
  }
  const KeyRange* const added = add(order < 0 ? link->left : link->right, range, watch);
  rebalance(link);
  return added;
}

void RangeTree::remove(const KeyRange* range, Watch* watch) {
  Node& node = node_of(*range);
  const auto at = std::find(node.watches.begin(), node.watches.end(), watch);
  ENTITABLE_CHECK(at != node.watches.end());
  node.watches.erase(at);
  if (node.watches.empty()) remove(root_, *range);
}

RangeTree::Node& RangeTree::node_of(const KeyRange& range) const {
  Node* node = root_.get();
  while (node != nullptr) {
    const int order = compare_ranges(range, node->range);
    if (order == 0) return *node;
    node = order < 0 ? node->left.get() : node->right.get();
  }
  check_failed("a range that is removed was added", __FILE__, __LINE__);
}

void RangeTree::remove(Link& link, const KeyRange& range) {
  const int order = compare_ranges(range, link->range);
  if (order != 0) {
    remove(order < 0 ? link->left : link->right, range);
  } else if (link->left == nullptr || link->right == nullptr) {
    Link child = std::move(link->left != nullptr ? link->left : link->right);
    link = std::move(child);
  } else {
    Link next = take_first(link->right);
    next->left = std::move(link->left);
    next->right = std::move(link->right);
    link = std::move(next);
  }
  if (link != nullptr) rebalance(link);
}

// Removes the first node of the subtree and returns it.
RangeTree::Link RangeTree::take_first(Link& link) {
  if (link->left != nullptr) {
    Link first = take_first(link->left);
    rebalance(link);
    return first;
  }
  Link first = std::move(link);
  link = std::move(first->right);
  return first;
}

void RangeTree::update(Node& node) {
  node.height = 1;
  node.widest = &node.range;
  for (const Link* const child : {&node.left, &node.right}) {
    if (*child == nullptr) continue;
    node.height = std::max(node.height, (*child)->height + 1);
    if (compare_upper(*(*child)->widest, *node.widest) > 0) node.widest = (*child)->widest;
  }
}

void RangeTree::rotate_left(Link& link) {
  Link top = std::move(link->right);
  link->right = std::move(top->left);
  update(*link);
  top->left = std::move(link);
  link = std::move(top);
}

void RangeTree::rotate_right(Link& link) {
  Link top = std::move(link->left);
  link->left = std::move(top->right);
  update(*link);
  top->right = std::move(link);
  link = std::move(top);
}

// Restores the invariants of a node whose subtrees fulfil them and differ in height by at most 2.
void RangeTree::rebalance(Link& link) {
  const auto height = [](const Link& node) { return node == nullptr ? 0 : node->height; };
  const std::int32_t slope = height(link->left) - height(link->right);
  if (slope > 1) {
    if (height(link->left->left) < height(link->left->right)) rotate_left(link->left);
    rotate_right(link);
  } else if (slope < -1) {
    if (height(link->right->right) < height(link->right->left)) rotate_right(link->right);
    rotate_left(link);
  }
  update(*link);
}

// Calls visit(watches) for the ranges that hold the key, until it returns false. Returns whether it
// never did. The depth of the recursion is the height of the tree.
template <typename Visit>
bool RangeTree::visit_holders(const Node* node, const KeyView& key, Visit& visit) {
  if (node == nullptr || !ends_after(*node->widest, key)) return true;
  if (!visit_holders(node->left.get(), key, visit)) return false;
  if (compare(key, node->range.lower.view()) < 0) return true;
  if (ends_after(node->range, key) && !visit(node->watches)) return false;
  return visit_holders(node->right.get(), key, visit);
}

bool RangeTree::covers(const KeyView& key) const {
  auto stop = [](const std::vector<Watch*>&) { return false; };
  return !visit_holders(root_.get(), key, stop);
}

void RangeTree::find(const KeyView& key, std::vector<Watch*>& watches) const {
  auto append = [&watches](const std::vector<Watch*>& found) {
    watches.insert(watches.end(), found.begin(), found.end());
    return true;
  };
  visit_holders(root_.get(), key, append);
}

std::string RangeTree::verify() const {
  return verify(root_.get());
}

std::string RangeTree::verify(const Node* node) {
  if (node == nullptr) return {};
  if (node->watches.empty()) return "a range without watches";
  std::int32_t heights[2] = {0, 0};
  const KeyRange* widest = &node->range;
  for (const int side : {0, 1}) {
    const Node* const child = side == 0 ? node->left.get() : node->right.get();
    if (child == nullptr) continue;
    if (std::string below = verify(child); !below.empty()) return below;
    const int order = compare_ranges(child->range, node->range);
    if (side == 0 ? order >= 0 : order <= 0) return "ranges are not in order";
    heights[side] = child->height;
    if (compare_upper(*child->widest, *widest) > 0) widest = child->widest;
  }
  if (std::abs(heights[0] - heights[1]) > 1) return "a node is not balanced";
  if (node->height != std::max(heights[0], heights[1]) + 1) return "a height is wrong";
  if (compare_upper(*widest, *node->widest) != 0) return "a greatest upper bound is wrong";
  return {};
}

}  // namespace entitable
