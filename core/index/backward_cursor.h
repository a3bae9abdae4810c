// Iterates over the leaves of a key range from the last to the first. A caller reads the rows of
// each leaf backwards.
//
//   for (BackwardCursor cursor(index, range); cursor.valid(); cursor.previous()) {
//     const RowBatch rows = cursor.batch();
//     for (std::size_t i = rows.size(); i-- > 0;) use(rows[i]);
//   }
#pragma once

#include <array>
#include <optional>

#include "core/index/cursor.h"

namespace entitable {

// Keeps the version of the index that it iterates over, as Cursor does.
class BackwardCursor {
 public:
  BackwardCursor(const TableIndex& index, const KeyRange& range);

  // A cursor is at a leaf with rows in the range, at an unloaded leaf, or at the end. valid()
  // returns whether it is at a leaf with rows.
  bool valid() const { return leaf_ != nullptr && !leaf_->is_unloaded(); }
  bool at_end() const { return leaf_ == nullptr; }
  // Returns the part of the unloaded leaf that the cursor is at, or 0 if the cursor is elsewhere.
  PartId part_needed() const { return at_end() || valid() ? 0 : leaf_->part(); }
  // Returns the rows of the leaf that are in the range, at least one, in key order. REQUIRES:
  // valid().
  RowBatch batch() const;
  // Returns how many rows the leaf has, in the range or not; an estimate if it is unloaded.
  // REQUIRES: !at_end().
  std::uint64_t leaf_rows() const { return leaf_->totals().rows; }
  // Returns the key below which the range continues; no key: no upper bound. The leaf's keys are
  // below it, those of the leaves before were above. REQUIRES: !at_end().
  std::optional<EntityKey> upper() const;
  // Moves to the leaf before, which may be unloaded. REQUIRES: !at_end().
  void previous();

 private:
  struct Step {
    const Node* node;
    std::uint32_t child;
  };
  void descend(const Node* node, const std::optional<KeyView>& below);
  std::uint32_t steps_to_lower() const;
  bool move_back();
  bool has_rows();

  Ref<Node> root_;
  Ref<Schema> schema_;
  KeyRange range_;
  const Leaf* leaf_ = nullptr;
  std::uint32_t first_ = 0;  // the slots of batch(), if the leaf is loaded
  std::uint32_t end_ = 0;
  std::array<Step, tree_depth_max> path_;
  std::uint32_t depth_ = 0;
  std::optional<KeyView> upper_;  // refers to range_ or to a node of the version
};

}  // namespace entitable
