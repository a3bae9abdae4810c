// Iterates over the rows of a key range in key order.
//
//   for (Cursor cursor(index, range); cursor.valid(); cursor.next()) use(cursor.row());
//
// Reading in batches is faster:
//
//   for (Cursor cursor(index, range); cursor.valid();) {
//     const RowBatch rows = cursor.batch();
//     for (std::size_t i = 0; i < rows.size(); ++i) use(rows[i]);
//     cursor.skip(rows.size());
//   }
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "core/base/prefetch.h"
#include "core/index/leaf.h"
#include "core/index/table_index.h"

namespace entitable {

// A reference to a row of a RowBatch that has not been read yet. Valid as long as the batch.
class RowSlot {
 public:
  RowSlot() = default;
  RowSlot(const Leaf& leaf, const Shape& shape, std::uint32_t slot)
      : leaf_(&leaf), shape_(&shape), slot_(slot) {}
  RowView row() const {
    return {leaf_->row_base(slot_), *shape_, leaf_->partition(leaf_->run_of(slot_))};
  }
  // Prefetch what a reader of the row needs, in three steps: its slot, its header, its values. Each
  // step reads what the previous step has prefetched. A caller therefore runs one step for many
  // rows before the next step (core/base/prefetch.h).
  void prefetch_slot() const {
    prefetch(leaf_->buffer());
    prefetch(leaf_->slots() + slot_);
  }
  void prefetch_row() const { prefetch(leaf_->row_base(slot_)); }
  void prefetch_values() const {
    const char* const base = leaf_->row_base(slot_);
    prefetch(base, std::min(row_layout::end(base), prefetched_bytes_max));
  }

 private:
  // Beyond these bytes, the hardware prefetcher recognises the sequential read.
  static constexpr std::uint32_t prefetched_bytes_max = 512;
  const Leaf* leaf_ = nullptr;
  const Shape* shape_ = nullptr;
  std::uint32_t slot_ = 0;
};

// Adjacent rows of one leaf, of any partitions and shapes. Valid as long as the cursor holds its
// version.
class RowBatch {
 public:
  // The rows in slots `first` to `end` - 1. `run`: the run of the first row. REQUIRES: first < end.
  RowBatch(const Leaf& leaf, const Schema& schema, std::uint32_t run, std::uint32_t first,
           std::uint32_t end)
      : slots_(leaf.slots() + first),
        end_(leaf.buffer_end()),
        size_(end - first),
        shape_(leaf.has_one_shape() ? &schema.shape(leaf.shape()) : nullptr),
        schema_(&schema),
        one_partition_(leaf.run_end(run) >= end),
        run_(run),
        leaf_(&leaf),
        first_(first) {}
  std::size_t size() const { return size_; }
  // The shape of all rows, or null if they may have different shapes.
  const Shape* shape() const { return shape_; }
  // Looks up the cached column at `slot`. If it is cached, values(i) returns the values of this
  // batch; otherwise values(i) is null. REQUIRES: i < cached_columns_max; shape() is not null and
  // has a column at `slot` whose values have this form.
  void find_cached_values(std::uint32_t i, std::uint32_t slot, ColumnForm form) {
    const char* const column = leaf_->cached_column(slot, form);
    if (column != nullptr) values_[i] = column + std::size_t{first_} * bytes_per_value(form);
  }
  const char* values(std::uint32_t i) const { return values_[i]; }  // i <= cached_columns_max
  RowView operator[](std::size_t i) const {                         // REQUIRES: i < size()
    const char* const base = end_ - slots_[i].offset;
    return {base, shape_ != nullptr ? *shape_ : schema_->shape(row_layout::shape_id(base)),
            partition_of(i)};
  }
  // REQUIRES: i < size(), shape() is not null.
  RowSlot row_slot(std::size_t i) const {
    return {*leaf_, *shape_, first_ + static_cast<std::uint32_t>(i)};
  }

 private:
  // The partition is found only when a row is read, because a scan of cached columns does not need
  // it.
  std::string_view partition_of(std::size_t i) const {
    const std::uint32_t slot = first_ + static_cast<std::uint32_t>(i);
    return leaf_->partition(one_partition_ ? run_ : leaf_->run_of(slot));
  }

  const LeafSlot* slots_;
  const char* end_;
  std::size_t size_;
  const Shape* shape_;
  const Schema* schema_;
  bool one_partition_;
  std::uint32_t run_;  // run of the first row
  const Leaf* leaf_;
  std::uint32_t first_;                                       // slot of the first row
  std::array<const char*, cached_columns_max + 1> values_{};  // the last element is always null
};

// Keeps the version of the index that it iterates over. Later writes neither appear in the
// iteration nor invalidate the cursor.
class Cursor {
 public:
  Cursor(const TableIndex& index, const KeyRange& range);

  // A cursor is at a row, at an unloaded leaf, or at the end. valid() returns whether it is at a
  // row.
  bool valid() const { return slot_ < run_end_; }
  // Returns the part of the unloaded leaf that the cursor is at, or 0 if the cursor is elsewhere.
  // To continue, the caller loads that part and creates a new cursor that starts at position().
  PartId part_needed() const { return part_needed_; }
  bool at_end() const { return !valid() && part_needed() == 0; }
  // Returns the key of the row, or the key inside the unloaded leaf where the range continues.
  // REQUIRES: !at_end().
  EntityKey position() const;
  RowView row() const {  // REQUIRES: valid()
    const char* base = end_ - slots_[slot_].offset;
    return {base, schema_->shape(row_layout::shape_id(base)), leaf_->partition(run_)};
  }
  void next() {  // REQUIRES: valid()
    if (++slot_ == run_end_) next_run();
  }
  // Moves forward or back, within the range, to the first row at or after `key`.
  void seek(const KeyView& key);

  // Returns at least one row: the current row and those that follow it in the same leaf and range.
  // REQUIRES: valid().
  RowBatch batch() const;
  // Moves forward by `rows` rows. REQUIRES: rows <= batch().size().
  void skip(std::size_t rows);
  // Fills `out` with the current leaf and the leaves after it that are in the range and have the
  // same parent node. Returns how many leaves were written, at least one. REQUIRES: valid(), and
  // `out` is not empty.
  std::size_t current_and_next_leaves(std::span<const Leaf*> out) const;

 private:
  struct Step {
    const Node* node;
    std::uint32_t child;
  };
  void find_end();
  void enter_leaf(std::uint32_t slot);
  void enter_run(std::uint32_t run, std::uint32_t slot);
  void next_run();
  bool next_leaf();
  void move_to_end();

  Ref<Node> root_;
  Ref<Schema> schema_;
  KeyRange range_;
  // The rest of the current run: slots_[slot_] .. slots_[run_end_ - 1].
  const LeafSlot* slots_ = nullptr;
  const char* end_ = nullptr;
  std::uint32_t slot_ = 0;
  std::uint32_t run_end_ = 0;
  // The current leaf.
  const Leaf* leaf_ = nullptr;
  std::uint32_t run_ = 0;
  std::uint32_t leaf_end_ = 0;  // slot where the range ends in leaf_
  // Where the range ends: the last leaf, and the end slot in it.
  const Leaf* last_leaf_ = nullptr;
  std::uint32_t last_leaf_end_ = 0;
  PartId part_needed_ = 0;
  EntityKey seek_key_;  // key of the last seek
  std::array<Step, tree_depth_max> path_;
  std::uint32_t depth_ = 0;
};

}  // namespace entitable
