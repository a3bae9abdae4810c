#include "core/index/backward_cursor.h"

#include "core/base/check.h"
#include "core/index/inner_node.h"

namespace entitable {

BackwardCursor::BackwardCursor(const TableIndex& index, const KeyRange& range)
    : root_(index.root_), schema_(index.schema_), range_(range) {
  if (range_.empty()) return;
  if (range_.upper.has_value()) upper_ = range_.upper->view();
  descend(root_.get(), upper_);
  if (!has_rows()) previous();
}

// Moves to the last leaf of the subtree that may hold a key below `below`; no key: to the last
// leaf.
void BackwardCursor::descend(const Node* node, const std::optional<KeyView>& below) {
  while (!node->is_leaf()) {
    const InnerNode& inner = inner_of(node);
    ENTITABLE_CHECK(depth_ < path_.size());
    const std::uint32_t child = below.has_value() ? inner.find(*below) : inner.size() - 1;
    path_[depth_++] = {node, child};
    node = inner.child(child).get();
  }
  leaf_ = static_cast<const Leaf*>(node);
}

// Returns how many steps of the path lead to the node that has the leaf's lower bound: the bound is
// that of the last of these steps. 0: the leaf is the table's first.
std::uint32_t BackwardCursor::steps_to_lower() const {
  std::uint32_t steps = depth_;
  while (steps > 0 && path_[steps - 1].child == 0) --steps;
  return steps;
}

// Moves to the leaf before, and sets upper_ to where the leaf started. Returns false if that is the
// start of the range or of the table.
bool BackwardCursor::move_back() {
  const std::uint32_t steps = steps_to_lower();
  if (steps == 0) return false;
  Step& step = path_[steps - 1];
  const KeyView lower = inner_of(step.node).lower(step.child);
  if (compare(lower, range_.lower.view()) <= 0) return false;
  upper_ = lower;
  --step.child;
  depth_ = steps;
  descend(inner_of(step.node).child(step.child).get(), std::nullopt);
  return true;
}

void BackwardCursor::previous() {
  do {
    if (!move_back()) {
      leaf_ = nullptr;
      return;
    }
  } while (!has_rows());
}

// Returns whether the leaf has rows in the range, or may have some because it is unloaded. Sets the
// slots of batch().
bool BackwardCursor::has_rows() {
  if (leaf_->is_unloaded()) {
    // The range may end where the leaf starts.
    const std::uint32_t steps = steps_to_lower();
    if (steps == 0 || !upper_.has_value()) return true;
    const Step& step = path_[steps - 1];
    return compare(inner_of(step.node).lower(step.child), *upper_) < 0;
  }
  first_ = leaf_->find(range_.lower.view()).slot;
  end_ = upper_.has_value() ? leaf_->find(*upper_).slot : leaf_->size();
  return first_ < end_;
}

RowBatch BackwardCursor::batch() const {
  ENTITABLE_DCHECK(valid());
  leaf_->mark_used();
  return {*leaf_, *schema_, leaf_->run_of(first_), first_, end_};
}

std::optional<EntityKey> BackwardCursor::upper() const {
  ENTITABLE_CHECK(!at_end());
  if (!upper_.has_value()) return std::nullopt;
  return EntityKey(upper_->partition, upper_->row);
}

}  // namespace entitable
