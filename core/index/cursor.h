// Steps through the rows of a key range in key order.
//
//   for (Cursor cursor(index, range); cursor.valid(); cursor.next()) use(cursor.row());
//
// and, tighter, run by run:
//
//   for (Cursor cursor(index, range); cursor.valid();) {
//     const RowRun run = cursor.run();
//     for (std::size_t i = 0; i < run.size(); ++i) use(run[i]);
//     cursor.skip(run.size());
//   }
#pragma once

#include <array>

#include "core/index/leaf.h"
#include "core/index/table_index.h"

namespace entitable {

// Neighbouring rows of one partition and one shape. Valid as long as the cursor holds its version.
class RowRun {
 public:
  std::size_t size() const { return size_; }
  std::string_view partition() const { return partition_; }
  const Shape& shape() const { return *shape_; }
  // Looks for the rows' values at `slot`, of `width` bytes, in an array of their own: then they are
  // at values(), else that is nullptr. REQUIRES: a slot of the shape, which is not generic.
  void find_values(std::uint32_t slot, std::uint32_t width) {
    if (!leaf_->has_one_shape()) return;
    const char* const column = leaf_->column(slot, width);
    if (column != nullptr) values_ = column + std::size_t{first_} * width;
  }
  const char* values() const { return values_; }
  RowView operator[](std::size_t i) const {  // REQUIRES: i < size()
    return {end_ - slots_[i].offset, *shape_, partition_};
  }

 private:
  friend class Cursor;
  const LeafSlot* slots_ = nullptr;
  const char* end_ = nullptr;
  std::size_t size_ = 0;
  const char* values_ = nullptr;
  const Leaf* leaf_ = nullptr;
  std::uint32_t first_ = 0;  // slot of the first row
  const Shape* shape_ = nullptr;
  std::string_view partition_;
};

// Holds the version it walks: writes made meanwhile are not seen and do no harm.
class Cursor {
 public:
  Cursor(const TableIndex& index, const KeyRange& range);

  // At a row, at an absent leaf, or at the end.
  bool valid() const { return slot_ < run_end_; }  // at a row
  PartId need_part() const {
    return need_part_;
  }  // not 0: at an absent leaf; load it and start again at position()
  bool at_end() const { return !valid() && need_part() == 0; }
  // The key of the row, or where the range goes on inside an absent leaf. REQUIRES: !at_end().
  EntityKey position() const;
  RowView row() const {  // REQUIRES: valid()
    const char* base = end_ - slots_[slot_].offset;
    return {base, schema_->shape(row_layout::shape_id(base)), partition_};
  }
  void next() {  // REQUIRES: valid()
    if (++slot_ == run_end_) next_run();
  }
  // Forward or back, still within the range: to the first row at or after `key`.
  void seek(const KeyView& key);

  // The rows from here on that lie together: at least one, all of one partition and one shape.
  // REQUIRES: valid().
  RowRun run() const;
  // As next(), `rows` times. REQUIRES: rows <= run().size().
  void skip(std::size_t rows) {
    slot_ += static_cast<std::uint32_t>(rows);
    if (slot_ == run_end_) next_run();
  }

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
  void leave();
  std::uint32_t shape_end() const;

  Ref<Node> root_;
  Ref<Schema> schema_;
  KeyRange range_;
  // Of the current run of rows: slots_[slot_] .. slots_[run_end_ - 1].
  const LeafSlot* slots_ = nullptr;
  const char* end_ = nullptr;
  std::uint32_t slot_ = 0;
  std::uint32_t run_end_ = 0;
  std::string_view partition_;
  // Of the current leaf.
  const Leaf* leaf_ = nullptr;
  std::uint32_t run_ = 0;
  std::uint32_t leaf_end_ = 0;  // where the range ends in it
  // Where the range ends: a leaf, and a slot in it.
  const Leaf* last_leaf_ = nullptr;
  std::uint32_t last_end_ = 0;
  PartId need_part_ = 0;
  EntityKey start_;  // where the last seek went
  std::array<Step, tree_depth_max> path_;
  std::uint32_t depth_ = 0;
};

}  // namespace entitable
