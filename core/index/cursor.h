// Steps through the rows of a key range in key order.
//
//   for (Cursor cursor(index, range); cursor.valid(); cursor.next()) use(cursor.row());
//
// and, tighter, run by run:
//
//   for (Cursor cursor(index, range); cursor.valid();) {
//     const RowBatch run = cursor.batch();
//     for (std::size_t i = 0; i < run.size(); ++i) use(run[i]);
//     cursor.skip(run.size());
//   }
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "core/base/prefetch.h"
#include "core/index/leaf.h"
#include "core/index/table_index.h"

namespace entitable {

// Where a row is, of which nothing has been read yet. Valid as long as its run.
class RowSlot {
 public:
  RowSlot() = default;
  RowSlot(const Leaf& leaf, const Shape& shape, std::uint32_t slot)
      : leaf_(&leaf), shape_(&shape), slot_(slot) {}
  RowView row() const {
    return {leaf_->base(slot_), *shape_, leaf_->partition(leaf_->run_of(slot_))};
  }
  // Has in caches what row() reads, then how far the row goes, then its values: of many rows the
  // first, of all of them the second, and so on (base/prefetch.h).
  void prefetch_slot() const {
    prefetch(leaf_->buffer());
    prefetch(leaf_->slots() + slot_);
  }
  void prefetch_row() const { prefetch(leaf_->base(slot_)); }
  void prefetch_values() const {
    const char* const base = leaf_->base(slot_);
    prefetch(base, std::min(row_layout::end(base), prefetched_bytes_max));
  }

 private:
  // Further on, the processor itself sees where reading goes.
  static constexpr std::uint32_t prefetched_bytes_max = 512;
  const Leaf* leaf_ = nullptr;
  const Shape* shape_ = nullptr;
  std::uint32_t slot_ = 0;
};

// Neighbouring rows: those of one leaf, of any partitions and shapes. Valid as long as the cursor
// holds its version.
class RowBatch {
 public:
  std::size_t size() const { return size_; }
  // Of all rows; nullptr: they may have several.
  const Shape* shape() const { return shape_; }
  // Looks for the rows' values at `slot` in an array of their own: then they are at values(i), else
  // that is nullptr. REQUIRES: i < cached_columns_max, shape() is not null, and has that slot,
  // whose values have that form.
  void find_cached_values(std::uint32_t i, std::uint32_t slot, ColumnForm form) {
    const char* const column = leaf_->column(slot, form);
    if (column != nullptr) values_[i] = column + std::size_t{first_} * bytes_of(form);
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
  friend class Cursor;
  // Not asked for before a row is: it lies where a scan of columns does not look.
  std::string_view partition_of(std::size_t i) const {
    const std::uint32_t slot = first_ + static_cast<std::uint32_t>(i);
    return leaf_->partition(one_partition_ ? run_ : leaf_->run_of(slot));
  }

  const LeafSlot* slots_ = nullptr;
  const char* end_ = nullptr;
  std::size_t size_ = 0;
  const Shape* shape_ = nullptr;
  const Schema* schema_ = nullptr;
  bool one_partition_ = false;
  std::uint32_t run_ = 0;  // of the first row
  const Leaf* leaf_ = nullptr;
  std::uint32_t first_ = 0;                                   // slot of the first row
  std::array<const char*, cached_columns_max + 1> values_{};  // the last one is always null
};

// Holds the version it walks: writes made meanwhile are not seen and do no harm.
class Cursor {
 public:
  Cursor(const TableIndex& index, const KeyRange& range);

  // At a row, at an unloaded leaf, or at the end.
  bool valid() const { return slot_ < run_end_; }  // at a row
  PartId part_needed() const {
    return part_needed_;
  }  // not 0: at an unloaded leaf; load it and start again at position()
  bool at_end() const { return !valid() && part_needed() == 0; }
  // The key of the row, or where the range goes on inside an unloaded leaf. REQUIRES: !at_end().
  EntityKey position() const;
  RowView row() const {  // REQUIRES: valid()
    const char* base = end_ - slots_[slot_].offset;
    return {base, schema_->shape(row_layout::shape_id(base)), leaf_->partition(run_)};
  }
  void next() {  // REQUIRES: valid()
    if (++slot_ == run_end_) next_run();
  }
  // Forward or back, still within the range: to the first row at or after `key`.
  void seek(const KeyView& key);

  // The rows from here on that lie together: at least one. REQUIRES: valid().
  RowBatch batch() const;
  // As next(), `rows` times. REQUIRES: rows <= batch().size().
  void skip(std::size_t rows);
  // The leaves from this one on, as far as the range goes and there is room, and one inner node
  // knows them. Gives how many: at least one. REQUIRES: valid(), there is room.
  std::size_t leaves_ahead(std::span<const Leaf*> out) const;

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
  // Of the current run of rows: slots_[slot_] .. slots_[run_end_ - 1].
  const LeafSlot* slots_ = nullptr;
  const char* end_ = nullptr;
  std::uint32_t slot_ = 0;
  std::uint32_t run_end_ = 0;
  // Of the current leaf.
  const Leaf* leaf_ = nullptr;
  std::uint32_t run_ = 0;
  std::uint32_t leaf_end_ = 0;  // where the range ends in it
  // Where the range ends: a leaf, and a slot in it.
  const Leaf* last_leaf_ = nullptr;
  std::uint32_t last_leaf_end_ = 0;
  PartId part_needed_ = 0;
  EntityKey seek_key_;  // where the last seek went
  std::array<Step, tree_depth_max> path_;
  std::uint32_t depth_ = 0;
};

}  // namespace entitable
