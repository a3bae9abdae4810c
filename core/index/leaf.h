// A leaf: the packed rows of a short key range, in one buffer. Internal to core/index.
//
//   [ KeyRun × runs ][ partition keys ][ LeafSlot × rows ][ gap ][ heap ]
//
// A run is the rows of one partition, whose key is kept once. The heap grows downwards and holds
// packed rows (row.h); offsets into it count from the end of the buffer, so they survive its
// growth. Replaced and erased rows leave garbage, which goes whenever the buffer is made anew.
// Heads (key_search.h) answer most comparisons without touching a row; all that a search reads
// before it has found its row lies together at the front.
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

// What a leaf of more than one row may take in its buffer. Rows that come in order fill it to less,
// so that a few more find room between them before it is split.
inline constexpr std::uint32_t leaf_bytes_max = 9 * 1024;
inline constexpr std::uint32_t leaf_bytes_filled = 8 * 1024;

struct LeafSlot {
  std::uint32_t head;    // of the row key, after the run's prefix
  std::uint32_t offset;  // of the row's base
};

// A row on its way into a leaf.
struct RowSource {
  std::string_view partition;
  const char* base;
};

class Leaf : public Node {
 public:
  Leaf();  // present and empty
  // `rows` and `bytes`: of the part as its overlay leaves it, where that is known.
  static Ref<Leaf> make_unloaded(PartId part, std::uint64_t rows, std::uint64_t bytes,
                                 Ref<Overlay> overlay = nullptr);
  // Tightly packed. REQUIRES: keys rise strictly.
  static Ref<Leaf> build(std::span<const RowSource> rows);
  // The same with room to grow. REQUIRES: `bytes` is bytes_for(rows).
  static Ref<Leaf> build_with_slack(std::span<const RowSource> rows, std::uint64_t bytes);
  // What build() would take for these rows, in bytes.
  static std::uint64_t bytes_for(std::span<const RowSource> rows);
  // A copy with room for `room` more bytes.
  Ref<Leaf> clone(std::uint32_t room) const;
  // What a row adds to a leaf: in all, and when its partition is new there.
  static std::uint32_t cost(std::uint32_t packed_bytes) {
    return packed_bytes + static_cast<std::uint32_t>(sizeof(LeafSlot));
  }
  static std::uint32_t run_cost(std::string_view partition) {
    return padded(partition) + static_cast<std::uint32_t>(sizeof(KeyRun));
  }

  bool is_unloaded() const { return unloaded_; }
  std::uint32_t size() const { return size_; }  // rows
  std::uint32_t runs() const { return runs_; }
  std::uint32_t used_bytes() const {  // bytes, garbage and gap apart
    return directory_bytes() + heap_ - garbage_;
  }

  // Where a key is or would be.
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
  // The same in two steps. The first one looks at no row, and the second at one, nearly always: in
  // between, memory can be waited for once for many keys (base/prefetch.h).
  struct HeadSearch {
    SearchResult run;
    std::uint32_t slot;
  };
  HeadSearch find_by_heads(const KeyView& key) const;
  FindResult finish_find(const HeadSearch& head_search, const KeyView& key) const;
  void prefetch_directory() const;  // what the first one reads
  void prefetch_row(const HeadSearch& head_search,
                    const KeyView& key) const;  // the second, and a row's reader
  // find(), if a look at this slot and its neighbours is enough to tell; they need not be there.
  std::optional<FindResult> find_at_hint(const KeyView& key, std::uint32_t run,
                                         std::uint32_t slot) const;

  // Of slot i. REQUIRES: i < size(), run r holds it.
  const char* base(std::uint32_t i) const { return end() - slots()[i].offset; }
  std::string_view row_key(std::uint32_t i) const { return row_layout::key(base(i)); }
  std::uint32_t run_of(std::uint32_t i) const { return run_containing(run_table(), runs_, i); }
  std::string_view partition(std::uint32_t r) const {
    return {texts() + run_table()[r].text, run_table()[r].text_bytes};
  }
  std::uint32_t run_first(std::uint32_t r) const { return run_table()[r].first; }
  std::uint32_t run_end(std::uint32_t r) const {
    return r + 1 < runs_ ? run_table()[r + 1].first : size_;
  }
  KeyView key(std::uint32_t i) const { return {partition(run_of(i)), row_key(i)}; }
  // Whether all rows are sure to have shape(). REQUIRES: size() > 0.
  bool has_one_shape() const { return shape_ != many_shapes; }
  ShapeId shape() const { return shape_; }
  // The values at `slot`, in the order of the rows; nullptr: look at the rows. Valid until
  // cached_columns_max others were asked for. REQUIRES: has_one_shape(), and that form at that
  // slot.
  const char* column(std::uint32_t slot, ColumnForm form) const {
    return column_cache_.values(slot, form, size_, [this](std::uint32_t i) { return base(i); });
  }
  // What is read before a column is, and a column, if there is one: to have them in caches
  // (base/prefetch.h). REQUIRES: as column().
  void prefetch() const { entitable::prefetch(this, sizeof(Leaf)); }
  void prefetch_column(std::uint32_t slot, ColumnForm form) const {
    column_cache_.prefetch(slot, form, size_);
  }
  const LeafSlot* slots() const { return reinterpret_cast<const LeafSlot*>(texts() + texts_); }
  const char* buffer() const { return buffer_.get(); }  // what a search reads lies from here on
  const char* end() const { return buffer_.get() + capacity_; }

  // All rows, behind those in `rows`; valid as long as the leaf.
  void append_rows(std::vector<RowSource>& rows) const;

  // Changes. REQUIRES: this leaf is held once; `packed` and `partition` do not look into it;
  // `position` is find()'s answer.
  void insert(const FindResult& position, std::string_view partition, std::string_view packed,
              std::uint32_t key_bytes);
  void replace(std::uint32_t i, std::string_view packed, std::uint32_t key_bytes);
  void erase(const FindResult& position);

  // Record a change of an unloaded leaf in its overlay. The leaf's totals, which are the part's,
  // are inexact afterwards. REQUIRES: is_unloaded(); this leaf is referenced once.
  void put_in_overlay(const KeyView& key, std::string_view packed);
  void erase_in_overlay(const KeyView& key);
  bool has_exact_totals() const { return has_exact_totals_; }  // whether the sums are exact

  // The part that holds exactly these rows, but for what its overlay changed, and how many leaves
  // it went to; 0, 0 and null after any change. Marking is no change.
  PartId part() const { return part_; }
  std::uint32_t part_leaves() const { return part_leaves_; }
  const Ref<Overlay>& overlay() const { return overlay_; }  // null: nothing
  void set_part(PartId part, std::uint32_t part_leaves, Ref<Overlay> overlay = nullptr) const {
    part_ = part;
    part_leaves_ = part_leaves;
    overlay_ = std::move(overlay);
  }

  // Whether anything was looked for in it since clear_used().
  bool recently_used() const { return recently_used_; }
  void mark_used() const {
    if (!recently_used_) recently_used_ = true;  // a store less: most leaves are looked at often
  }
  void clear_used() const { recently_used_ = false; }

  // Whether rows came in ascending (descending) order lately, each beside the one before;
  // `position`: of the next one.
  bool inserts_ascend(const FindResult& position) const {
    return streak_ >= streak_min && position.slot == last_insert_slot_ + 1;
  }
  bool inserts_descend(const FindResult& position) const {
    return streak_ <= -streak_min && position.slot == last_insert_slot_;
  }

  // Empty: all well.
  std::string verify(const Schema& schema) const;

 private:
  Leaf(const Leaf&) = delete;
  static constexpr std::int32_t streak_min = 3;
  static constexpr ShapeId many_shapes = 0xFFFF;

  // Partition keys are filled up to whole words, so that slots are aligned.
  static std::uint32_t padded(std::string_view partition) {
    return (static_cast<std::uint32_t>(partition.size()) + 3) & ~std::uint32_t{3};
  }
  KeyRun* run_table() { return reinterpret_cast<KeyRun*>(buffer_.get()); }
  const KeyRun* run_table() const { return reinterpret_cast<const KeyRun*>(buffer_.get()); }
  LeafSlot* slots() { return reinterpret_cast<LeafSlot*>(texts() + texts_); }
  char* texts() { return buffer_.get() + runs_ * sizeof(KeyRun); }
  const char* texts() const { return buffer_.get() + runs_ * sizeof(KeyRun); }
  char* end() { return buffer_.get() + capacity_; }
  std::uint32_t directory_bytes() const {
    return static_cast<std::uint32_t>(runs_ * sizeof(KeyRun) + texts_ + size_ * sizeof(LeafSlot));
  }
  std::uint32_t gap() const { return capacity_ - directory_bytes() - heap_; }
  void allocate(std::uint32_t capacity);
  static Ref<Leaf> build_with_capacity(std::span<const RowSource> rows, std::uint32_t capacity);
  void append_all(std::span<const RowSource> rows);
  void copy_from(const Leaf& from);
  void reserve(std::uint32_t room);
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
  std::uint16_t partition_prefix_ =
      0;  // bytes that all partition keys share (whole characters), or fewer
  bool unloaded_ = false;
  bool has_exact_totals_ = true;
  ShapeId shape_ = generic_shape_id;    // of all rows, or many_shapes; of no rows, any
  std::int32_t streak_ = 0;             // inserts in a row that rose (> 0) or fell (< 0)
  std::uint32_t last_insert_slot_ = 0;  // slot of the last insert
  mutable ColumnCache column_cache_;
  mutable bool recently_used_ = false;
  mutable PartId part_ = 0;
  mutable std::uint32_t part_leaves_ = 0;
  mutable Ref<Overlay> overlay_;
};

}  // namespace entitable
