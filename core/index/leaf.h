// A leaf of the tree: the packed rows of a short key range, in one buffer. Internal to core/index.
//
//   [ KeyRun × runs ][ partition keys ][ LeafSlot × rows ][ gap ][ heap ]
//
// A run is the rows of one partition, whose key is stored once. The heap grows downwards and holds
// packed rows (row_layout.h). Offsets into the heap count from the end of the buffer, so they stay
// valid when the buffer grows. Replaced and erased rows leave garbage in the heap, which is removed
// when the buffer is reallocated.
//
// Everything before the gap is the *directory*. A search reads mostly the directory, because most
// comparisons need only heads (key_search.h) and no row.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/prefetch.h"
#include "core/index/column_cache.h"
#include "core/index/key_search.h"
#include "core/index/node.h"
#include "core/index/overlay.h"
#include "core/index/row.h"

namespace entitable {

// The most bytes that a leaf of more than one row may use in its buffer. Rows that arrive in key
// order fill a leaf only up to leaf_bytes_filled. A few rows can then be inserted between them
// later before the leaf must be split.
inline constexpr std::uint32_t leaf_bytes_max = 9 * 1024;
inline constexpr std::uint32_t leaf_bytes_filled = 8 * 1024;

struct LeafSlot {
  std::uint32_t head;    // head of the row key, after the run's prefix
  std::uint32_t offset;  // offset of the row's base from the end of the buffer
};

// A row to be copied into a leaf.
struct SourceRow {
  std::string_view partition;
  const char* base;
};

class Leaf : public Node {
 public:
  Leaf();  // an empty leaf, loaded
  // Creates an unloaded leaf: the rows are only in the part (PartId), and the leaf has only their
  // key range. `rows` and `bytes` are the totals of the part with the changes of the overlay, as
  // far as they are known.
  static Ref<Leaf> make_unloaded(PartId part, std::uint64_t rows, std::uint64_t bytes,
                                 Ref<Overlay> overlay = nullptr);
  // Creates a leaf whose buffer has no gap. REQUIRES: keys ascend strictly.
  static Ref<Leaf> build(std::span<const SourceRow> rows);
  // Creates a leaf whose buffer has a gap for later inserts. REQUIRES: keys ascend strictly; bytes
  // == bytes_for(rows).
  static Ref<Leaf> build_with_slack(std::span<const SourceRow> rows, std::uint64_t bytes);
  // Returns the buffer size in bytes that build() would allocate for these rows.
  static std::uint64_t bytes_for(std::span<const SourceRow> rows);
  // Returns a copy whose buffer has space for `spare_bytes` more.
  Ref<Leaf> clone(std::uint32_t spare_bytes) const;
  // Returns the bytes that a row takes in the buffer.
  static std::uint32_t buffer_bytes_for_row(std::uint32_t packed_bytes) {
    return packed_bytes + static_cast<std::uint32_t>(sizeof(LeafSlot));
  }
  // Returns the bytes that the first row of a partition takes in addition.
  static std::uint32_t buffer_bytes_for_run(std::string_view partition) {
    return padded(partition) + static_cast<std::uint32_t>(sizeof(KeyRun));
  }

  bool is_unloaded() const { return unloaded_; }
  std::uint32_t size() const { return size_; }  // rows
  std::uint32_t run_count() const { return runs_; }
  std::uint32_t used_bytes() const {  // without garbage and gap
    return directory_bytes() + heap_ - garbage_;
  }

  // The position of a key, or where it would be inserted.
  struct FindResult {
    std::uint32_t run;
    std::uint32_t slot;
    bool run_found;
    bool found;
    friend bool operator==(const FindResult&, const FindResult&) = default;
  };
  FindResult find(const KeyView& key) const {
    prefetch_directory();
    return finish_find(find_by_heads(key), key);
  }
  // The two steps of find(): find_by_heads() reads no row, finish_find() nearly always reads one. A
  // caller with many keys runs the first step for all of them, then prefetches the rows, then runs
  // the second step (core/base/prefetch.h).
  struct HeadSearch {
    SearchResult run;
    std::uint32_t slot;
  };
  HeadSearch find_by_heads(const KeyView& key) const;
  FindResult finish_find(const HeadSearch& head_search, const KeyView& key) const;
  // Prefetches what find_by_heads() reads.
  void prefetch_directory() const;
  // Prefetches what finish_find() and a reader of the row read.
  void prefetch_row(const HeadSearch& head_search, const KeyView& key) const;
  // Returns the result of find() if it is near `slot` of `run`: then comparing the key with up to
  // three rows is enough. Returns nothing otherwise. `run` and `slot` may be out of range.
  std::optional<FindResult> find_at_hint(const KeyView& key, std::uint32_t run,
                                         std::uint32_t slot) const;

  // REQUIRES for the accessors below: i < size(), r < run_count().
  const char* row_base(std::uint32_t i) const { return buffer_end() - slots()[i].offset; }
  std::string_view row_key(std::uint32_t i) const { return row_layout::row_key(row_base(i)); }
  std::uint32_t run_of(std::uint32_t i) const { return run_containing(run_table(), runs_, i); }
  std::string_view partition(std::uint32_t r) const {
    return {texts() + run_table()[r].text, run_table()[r].text_bytes};
  }
  std::uint32_t run_first(std::uint32_t r) const { return run_table()[r].first; }
  std::uint32_t run_end(std::uint32_t r) const {
    return r + 1 < runs_ ? run_table()[r + 1].first : size_;
  }
  KeyView key(std::uint32_t i) const { return {partition(run_of(i)), row_key(i)}; }
  // Returns whether all rows are known to have the shape shape(). REQUIRES: size() > 0.
  bool has_one_shape() const { return shape_ != many_shapes; }
  ShapeId shape() const { return shape_; }
  // Returns the cached values at `slot`, in the order of the rows, or null if the caller must read
  // the rows. Valid until cached_columns_max other slots have been requested. REQUIRES:
  // has_one_shape(), and that shape has a column of this form at `slot`.
  const char* cached_column(std::uint32_t slot, ColumnForm form) const {
    return column_cache_.values(slot, form, size_, [this](std::uint32_t i) { return row_base(i); });
  }
  // prefetch() prefetches this object, prefetch_cached_column() the cached values at `slot` if
  // there are any (core/base/prefetch.h). REQUIRES for prefetch_cached_column(): as for
  // cached_column().
  void prefetch() const { entitable::prefetch(this, sizeof(Leaf)); }
  void prefetch_cached_column(std::uint32_t slot, ColumnForm form) const {
    column_cache_.prefetch(slot, form, size_);
  }
  const LeafSlot* slots() const { return reinterpret_cast<const LeafSlot*>(texts() + texts_); }
  const char* buffer() const { return buffer_.get(); }  // start of the directory
  const char* buffer_end() const { return buffer_.get() + capacity_; }

  // Appends all rows to `rows`. They are valid as long as this leaf is unchanged.
  void append_rows_to(std::vector<SourceRow>& rows) const;

  // Insert, replace or erase one row. `packed` begins with the row key, which has `key_bytes`
  // bytes. REQUIRES: this leaf is referenced once; `packed` and `partition` do not point into it;
  // `position` is the result of find() for the row's key.
  void insert(const FindResult& position, std::string_view partition, std::string_view packed,
              std::uint32_t key_bytes);
  void replace(std::uint32_t i, std::string_view packed, std::uint32_t key_bytes);
  void erase(const FindResult& position);
  // Makes sure that one of the next insert() and replace() that needs at most this many bytes does
  // not allocate memory. REQUIRES: this leaf is referenced once.
  void reserve(std::uint32_t gap_bytes);

  // Record a change of an unloaded leaf in its overlay. If the overlay had no change of the row, it
  // is not known whether the part has the row, and the totals of the leaf are inexact afterwards.
  // REQUIRES: is_unloaded(); this leaf is referenced once.
  void put_in_overlay(const KeyView& key, std::string_view packed);
  void erase_in_overlay(const KeyView& key) { put_in_overlay(key, {}); }
  // Adds a row of the part to the overlay as it is (empty: there is no such row), so that a change
  // of it keeps the totals exact. REQUIRES: as above; the overlay has no change of the row.
  void keep_in_overlay(const KeyView& key, std::string_view packed);
  bool has_exact_totals() const { return has_exact_totals_; }

  // part(): the checkpoint part that, together with the changes in overlay(), holds exactly these
  // rows. part_leaves(): the number of leaves that have the rows of this part. Any change of the
  // leaf resets part(), part_leaves() and overlay() to 0, 0 and null. set_part() is const because
  // it does not change the rows.
  PartId part() const { return part_; }
  std::uint32_t part_leaves() const { return part_leaves_; }
  const Ref<Overlay>& overlay() const { return overlay_; }  // null: no changes
  void set_part(PartId part, std::uint32_t part_leaves, Ref<Overlay> overlay = nullptr) const {
    part_ = part;
    part_leaves_ = part_leaves;
    overlay_ = std::move(overlay);
  }

  // Returns whether mark_used() was called after the last clear_used(). Readers of rows call it.
  bool recently_used() const { return recently_used_; }
  void mark_used() const {
    if (!recently_used_) recently_used_ = true;  // avoids a memory write in most calls
  }
  void clear_used() const { recently_used_ = false; }

  // Return whether the last inserts were adjacent and in ascending (or descending) key order, and
  // an insert at `position` continues this order.
  bool inserts_ascend(const FindResult& position) const {
    return streak_ >= streak_min && position.slot == last_insert_slot_ + 1;
  }
  bool inserts_descend(const FindResult& position) const {
    return streak_ <= -streak_min && position.slot == last_insert_slot_;
  }

  // Returns an empty text if the invariants hold, else the first violation.
  std::string verify(const Schema& schema) const;

 private:
  Leaf(const Leaf&) = delete;
  static constexpr std::int32_t streak_min = 3;
  static constexpr ShapeId many_shapes = 0xFFFF;

  // Partition keys are padded to whole 32-bit words, so that slots are aligned.
  static std::uint32_t padded(std::string_view partition) {
    return (static_cast<std::uint32_t>(partition.size()) + 3) & ~std::uint32_t{3};
  }
  KeyRun* run_table() { return reinterpret_cast<KeyRun*>(buffer_.get()); }
  const KeyRun* run_table() const { return reinterpret_cast<const KeyRun*>(buffer_.get()); }
  LeafSlot* slots() { return reinterpret_cast<LeafSlot*>(texts() + texts_); }
  char* texts() { return buffer_.get() + runs_ * sizeof(KeyRun); }
  const char* texts() const { return buffer_.get() + runs_ * sizeof(KeyRun); }
  char* buffer_end() { return buffer_.get() + capacity_; }
  std::uint32_t directory_bytes() const {
    return static_cast<std::uint32_t>(runs_ * sizeof(KeyRun) + texts_ + size_ * sizeof(LeafSlot));
  }
  std::uint32_t gap() const { return capacity_ - directory_bytes() - heap_; }
  void allocate(std::uint32_t capacity);
  static Ref<Leaf> build_with_capacity(std::span<const SourceRow> rows, std::uint32_t capacity);
  void append_all(std::span<const SourceRow> rows);
  void copy_from(const Leaf& from);
  void reallocate(std::uint32_t capacity);
  void shrink_buffer();
  void add_partition_key(std::string_view partition);
  std::uint32_t push(std::string_view bytes);
  void insert_run(const FindResult& position, std::string_view partition, std::uint32_t key_bytes);
  void erase_run(std::uint32_t run);
  void narrow_run_prefix(std::uint32_t run, std::string_view key);
  void narrow_partition_prefix(std::string_view added);
  void set_run_heads(std::uint32_t run);
  void set_partition_heads();
  void count_memory();
  void update_streak(std::uint32_t slot);
  void update_common_shape(const char* base, bool only_row);
  void clear_part_and_columns();
  Overlay& mutable_overlay();

  std::unique_ptr<char[]> buffer_;  // null: capacity 0
  std::uint32_t capacity_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t runs_ = 0;
  std::uint32_t texts_ = 0;    // bytes of the partition keys
  std::uint32_t heap_ = 0;     // bytes of the heap, garbage included
  std::uint32_t garbage_ = 0;  // bytes of the heap that nothing points to
  // The length in bytes of a prefix that all partition keys share. It ends between characters.
  std::uint16_t partition_prefix_ = 0;
  bool unloaded_ = false;
  bool has_exact_totals_ = true;
  // The shape of all rows, or many_shapes; any value if there are no rows.
  ShapeId shape_ = generic_shape_id;
  std::int32_t streak_ = 0;  // consecutive inserts in ascending (> 0) or descending (< 0) order
  std::uint32_t last_insert_slot_ = 0;  // slot of the last insert
  mutable ColumnCache column_cache_;
  mutable bool recently_used_ = false;
  mutable PartId part_ = 0;
  mutable std::uint32_t part_leaves_ = 0;
  mutable Ref<Overlay> overlay_;
};

}  // namespace entitable
