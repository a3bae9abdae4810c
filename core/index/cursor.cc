#include "core/index/cursor.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/index/inner_node.h"

namespace entitable {

Cursor::Cursor(const TableIndex& index, const KeyRange& range)
    : root_(index.root_), schema_(index.schema_), range_(range) {
  if (range_.empty()) return;
  find_end();
  seek(range_.lower.view());
}

// Finds the leaf where the range ends, and the end slot in it.
void Cursor::find_end() {
  const Node* node = root_.get();
  KeyView lower;
  while (!node->is_leaf()) {
    const InnerNode& inner = inner_of(node);
    const std::uint32_t child = range_.upper ? inner.find(range_.upper->view()) : inner.size() - 1;
    if (child > 0) lower = inner.lower(child);
    node = inner.child(child).get();
  }
  last_leaf_ = static_cast<const Leaf*>(node);
  if (last_leaf_->is_unloaded()) {
    // 0: the range contains no key of the leaf. 1: the number of rows in the range is unknown.
    last_leaf_end_ = range_.upper && compare(lower, range_.upper->view()) == 0 ? 0 : 1;
  } else {
    last_leaf_end_ =
        range_.upper ? last_leaf_->find(range_.upper->view()).slot : last_leaf_->size();
  }
}

void Cursor::seek(const KeyView& key) {
  move_to_end();
  if (last_leaf_ == nullptr || (range_.upper && compare(key, range_.upper->view()) >= 0)) return;
  const bool early = compare(key, range_.lower.view()) < 0;
  const KeyView target = early ? range_.lower.view() : key;
  seek_key_ = EntityKey(target.partition, target.row);
  const Node* node = root_.get();
  depth_ = 0;
  while (!node->is_leaf()) {
    const InnerNode& inner = inner_of(node);
    ENTITABLE_CHECK(depth_ < path_.size());
    path_[depth_++] = {&inner, inner.find(target)};
    node = inner.child(path_[depth_ - 1].child).get();
  }
  leaf_ = static_cast<const Leaf*>(node);
  enter_leaf(leaf_->is_unloaded() ? 0 : leaf_->find(target).slot);
}

// Moves to slot `slot` of leaf_. If there is no row at this slot or the range ends before it, moves
// on to the next row, the next unloaded leaf or the end.
void Cursor::enter_leaf(std::uint32_t slot) {
  for (;; slot = 0) {
    leaf_end_ = leaf_ == last_leaf_ ? last_leaf_end_ : leaf_->size();
    if (leaf_->is_unloaded() && (leaf_ != last_leaf_ || last_leaf_end_ != 0)) {
      part_needed_ = leaf_->part();
      return;
    }
    if (slot < leaf_end_) return enter_run(leaf_->run_of(slot), slot);
    if (leaf_ == last_leaf_ || !next_leaf()) return move_to_end();
  }
}

void Cursor::enter_run(std::uint32_t run, std::uint32_t slot) {
  leaf_->mark_used();
  run_ = run;
  slot_ = slot;
  run_end_ = std::min(leaf_->run_end(run), leaf_end_);
  slots_ = leaf_->slots();
  end_ = leaf_->buffer_end();
}

// Moves from the end of the current run to the next run, in this leaf or a later one.
void Cursor::next_run() {
  if (slot_ < leaf_end_) return enter_run(run_ + 1, slot_);
  const bool last = leaf_ == last_leaf_;
  slot_ = run_end_ = 0;
  if (last || !next_leaf()) return move_to_end();
  enter_leaf(0);
}

bool Cursor::next_leaf() {
  while (depth_ > 0) {
    Step& step = path_[depth_ - 1];
    if (++step.child < inner_of(step.node).size()) break;
    --depth_;
  }
  if (depth_ == 0) return false;
  const Node* node = inner_of(path_[depth_ - 1].node).child(path_[depth_ - 1].child).get();
  while (!node->is_leaf()) {
    path_[depth_++] = {node, 0};
    node = inner_of(node).child(0).get();
  }
  leaf_ = static_cast<const Leaf*>(node);
  return true;
}

void Cursor::move_to_end() {
  leaf_ = nullptr;
  slot_ = run_end_ = 0;
  part_needed_ = 0;
}

EntityKey Cursor::position() const {
  ENTITABLE_CHECK(!at_end());
  if (valid()) return EntityKey(leaf_->partition(run_), row().row_key());
  KeyView at = seek_key_.view();
  for (std::uint32_t level = depth_; level-- > 0;) {
    const Step& step = path_[level];
    if (step.child == 0) continue;
    const KeyView lower = inner_of(step.node).lower(step.child);
    if (compare(lower, at) > 0) at = lower;
    break;
  }
  return EntityKey(at.partition, at.row);
}

RowBatch Cursor::batch() const {
  ENTITABLE_DCHECK(valid());
  return {*leaf_, *schema_, run_, slot_, leaf_end_};
}

std::size_t Cursor::current_and_next_leaves(std::span<const Leaf*> out) const {
  out[0] = leaf_;
  std::size_t count = 1;
  if (depth_ == 0) return count;
  const Step& step = path_[depth_ - 1];
  const InnerNode& parent = inner_of(step.node);
  for (std::uint32_t child = step.child + 1; child < parent.size(); ++child) {
    if (count == out.size() || out[count - 1] == last_leaf_) break;
    out[count++] = static_cast<const Leaf*>(parent.child(child).get());
  }
  return count;
}

void Cursor::skip(std::size_t rows) {
  slot_ += static_cast<std::uint32_t>(rows);
  if (slot_ < run_end_) return;
  if (slot_ < leaf_end_) return enter_run(leaf_->run_of(slot_), slot_);
  next_run();
}

}  // namespace entitable
