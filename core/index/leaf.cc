#include "core/index/leaf.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/index/key_search.h"

namespace entitable {

namespace {

// Approximate overhead of the allocator per block.
constexpr std::uint64_t block_overhead = 16;
constexpr std::uint32_t capacity_min = 256;

// Returns the buffer capacity for `bytes` of content. Small buffers double; larger ones grow by a
// quarter, so that little memory is wasted. A leaf filled in key order does not grow beyond
// leaf_bytes_filled.
std::uint32_t capacity_for(std::uint32_t bytes) {
  if (bytes > leaf_bytes_max) return bytes;
  if (bytes > leaf_bytes_filled) return leaf_bytes_max;
  const std::uint32_t spare = bytes < leaf_bytes_filled / 2 ? bytes : bytes / 4;
  return std::clamp(bytes + spare, capacity_min, leaf_bytes_filled);
}

// Returns whether row i starts a new run. Partitions of adjacent rows often point to the same text,
// which same_text() compares quickly.
bool begins_run(std::span<const SourceRow> rows, std::size_t i) {
  return i == 0 || !same_text(rows[i].partition, rows[i - 1].partition);
}

std::uint16_t narrow(std::size_t bytes) {
  return static_cast<std::uint16_t>(bytes);
}

}  // namespace

Leaf::Leaf() : Node(true) {
  count_memory();
}

Ref<Leaf> Leaf::make_unloaded(PartId part, std::uint64_t rows, std::uint64_t bytes,
                              Ref<Overlay> overlay) {
  Ref<Leaf> leaf = make_ref<Leaf>();
  leaf->unloaded_ = true;
  leaf->set_part(part, 1, std::move(overlay));
  leaf->totals_.rows = rows;
  leaf->totals_.bytes = bytes;
  leaf->count_memory();
  return leaf;
}

std::uint64_t Leaf::bytes_for(std::span<const SourceRow> rows) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    bytes += buffer_bytes_for_row(row_layout::packed_bytes(rows[i].base));
    if (begins_run(rows, i)) bytes += buffer_bytes_for_run(rows[i].partition);
  }
  return bytes;
}

Ref<Leaf> Leaf::build(std::span<const SourceRow> rows) {
  return build_with_capacity(rows, static_cast<std::uint32_t>(bytes_for(rows)));
}

Ref<Leaf> Leaf::build_with_slack(std::span<const SourceRow> rows, std::uint64_t bytes) {
  return build_with_capacity(rows, capacity_for(static_cast<std::uint32_t>(bytes)));
}

Ref<Leaf> Leaf::build_with_capacity(std::span<const SourceRow> rows, std::uint32_t capacity) {
  Ref<Leaf> leaf = make_ref<Leaf>();
  leaf->allocate(capacity);
  leaf->append_all(rows);
  leaf->count_memory();
  return leaf;
}

Ref<Leaf> Leaf::clone(std::uint32_t spare_bytes) const {
  if (unloaded_) {
    Ref<Leaf> unloaded = make_unloaded(part_, totals_.rows, totals_.bytes, overlay_);
    unloaded->has_exact_totals_ = has_exact_totals_;
    return unloaded;
  }
  Ref<Leaf> leaf = make_ref<Leaf>();
  leaf->allocate(spare_bytes == 0 ? used_bytes() : capacity_for(used_bytes() + spare_bytes));
  leaf->copy_from(*this);
  leaf->streak_ = streak_;
  leaf->last_insert_slot_ = last_insert_slot_;
  leaf->count_memory();
  return leaf;
}

void Leaf::allocate(std::uint32_t capacity) {
  buffer_ = capacity == 0 ? nullptr : std::unique_ptr<char[]>(new char[capacity]);
  capacity_ = capacity;
}

// Fills a new leaf with rows in key order.
void Leaf::append_all(std::span<const SourceRow> rows) {
  size_ = static_cast<std::uint32_t>(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (begins_run(rows, i)) ++runs_;
  }
  std::uint32_t run = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!begins_run(rows, i)) continue;
    const std::string_view partition = rows[i].partition;
    run_table()[run++] = {0, texts_, narrow(partition.size()), 0, static_cast<std::uint32_t>(i)};
    add_partition_key(partition);
  }
  LeafSlot* const slot = slots();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string_view packed = row_layout::packed(rows[i].base);
    slot[i] = {0, push(packed) - row_layout::row_key_bytes(rows[i].base)};
    totals_.bytes += packed.size();
    update_common_shape(rows[i].base, i == 0);
  }
  totals_.rows = size_;
  if (runs_ == 0) return;
  for (std::uint32_t r = 0; r < runs_; ++r) {
    const std::string_view low = row_key(run_first(r));
    run_table()[r].prefix = narrow(shared_prefix(low, row_key(run_end(r) - 1), low.size()));
    set_run_heads(r);
  }
  partition_prefix_ =
      narrow(shared_prefix(partition(0), partition(runs_ - 1), partition(0).size()));
  set_partition_heads();
}

// Copies the content of another leaf, without its garbage, into a new leaf.
void Leaf::copy_from(const Leaf& from) {
  size_ = from.size_;
  runs_ = from.runs_;
  texts_ = from.texts_;
  partition_prefix_ = from.partition_prefix_;
  shape_ = from.shape_;
  totals_ = from.totals_;
  if (size_ == 0) return;
  std::memcpy(buffer_.get(), from.buffer_.get(), directory_bytes());
  if (from.garbage_ == 0) {
    heap_ = from.heap_;
    std::memcpy(buffer_end() - heap_, from.buffer_end() - heap_, heap_);
    return;
  }
  for (std::uint32_t i = 0; i < size_; ++i) {
    const char* const base = from.row_base(i);
    slots()[i].offset = push(row_layout::packed(base)) - row_layout::row_key_bytes(base);
  }
}

// Appends a partition key. Overwrites what follows the partition keys in the buffer.
void Leaf::add_partition_key(std::string_view partition) {
  char* const at = texts() + texts_;
  if (!partition.empty()) std::memcpy(at, partition.data(), partition.size());
  std::memset(at + partition.size(), 0, padded(partition) - partition.size());
  texts_ += padded(partition);
}

// Adds bytes to the heap and returns the offset of their start. REQUIRES: they fit into the gap.
std::uint32_t Leaf::push(std::string_view bytes) {
  heap_ += static_cast<std::uint32_t>(bytes.size());
  if (!bytes.empty()) std::memcpy(buffer_end() - heap_, bytes.data(), bytes.size());
  return heap_;
}

// Ensures that the gap has at least `gap_bytes` bytes.
void Leaf::reserve(std::uint32_t gap_bytes) {
  if (gap() >= gap_bytes) return;
  reallocate(capacity_for(used_bytes() + gap_bytes));
}

void Leaf::reallocate(std::uint32_t capacity) {
  Leaf fresh;
  fresh.allocate(capacity);
  fresh.copy_from(*this);
  std::swap(buffer_, fresh.buffer_);
  std::swap(capacity_, fresh.capacity_);
  heap_ = fresh.heap_;
  garbage_ = 0;
  count_memory();
}

void Leaf::count_memory() {
  totals_.memory = sizeof(Leaf) + block_overhead;
  if (capacity_ != 0) totals_.memory += capacity_ + block_overhead;
  if (unloaded_ && overlay_) totals_.memory += overlay_->memory_bytes();
}

Leaf::HeadSearch Leaf::find_by_heads(const KeyView& key) const {
  const KeyRun* const table = run_table();
  const SearchResult run = search_runs(table, runs_, partition_prefix_, key.partition,
                                       [this](std::uint32_t r) { return partition(r); });
  if (!run.found) return {run, run.index < runs_ ? run_first(run.index) : size_};
  const LeafSlot* const slot = slots();
  const std::uint32_t head = head_of(key.row, table[run.index].prefix);
  return {run, search_heads(run_first(run.index), run_end(run.index), head,
                            [slot](std::uint32_t i) { return slot[i].head; })};
}

Leaf::FindResult Leaf::finish_find(const HeadSearch& head_search, const KeyView& key) const {
  const std::uint32_t run = head_search.run.index;
  if (!head_search.run.found) return {run, head_search.slot, false, false};
  const LeafSlot* const slot = slots();
  const SearchResult row = search_keys(
      head_search.slot, run_first(run), run_end(run), run_table()[run].prefix, key.row,
      [slot](std::uint32_t i) { return slot[i].head; },
      [this](std::uint32_t i) { return row_key(i); });
  return {run, row.index, true, row.found};
}

// Each step of a binary search waits for memory. Prefetching eight lines spread over the directory
// removes the wait of the first steps.
void Leaf::prefetch_directory() const {
  constexpr std::uint32_t lines = 8;
  const std::uint32_t bytes = directory_bytes();
  const auto line = static_cast<std::uint32_t>(cache_line_bytes);
  const std::uint32_t step = std::max(line, bytes / lines);
  for (std::uint32_t at = 0; at < bytes; at += step) entitable::prefetch(buffer_.get() + at);
}

void Leaf::prefetch_row(const HeadSearch& head_search, const KeyView& key) const {
  constexpr std::ptrdiff_t values = 192;  // most rows have fewer bytes
  if (head_search.slot == size_) return;
  const char* const at = row_base(head_search.slot);
  const char* const from = at - std::min<std::ptrdiff_t>(at - buffer_.get(), std::ssize(key.row));
  const char* const to = at + std::min<std::ptrdiff_t>(buffer_end() - at, values);
  entitable::prefetch(from, static_cast<std::size_t>(to - from));
}

std::optional<Leaf::FindResult> Leaf::find_at_hint(const KeyView& key, std::uint32_t run,
                                                   std::uint32_t slot) const {
  if (run >= runs_ || !same_text(partition(run), key.partition)) return std::nullopt;
  const std::uint32_t first = run_first(run);
  const std::uint32_t last = run_end(run);
  if (slot < first || slot > last) return std::nullopt;
  if (slot > first) {
    const int order = compare_utf16(row_key(slot - 1), key.row);
    if (order == 0) return FindResult{run, slot - 1, true, true};
    if (order > 0) return std::nullopt;
  }
  for (std::uint32_t at = slot; at <= slot + 1; ++at) {
    if (at == last) return FindResult{run, at, true, false};
    const int order = compare_utf16(key.row, row_key(at));
    if (order <= 0) return FindResult{run, at, true, order == 0};
  }
  return std::nullopt;
}

void Leaf::append_rows_to(std::vector<SourceRow>& rows) const {
  for (std::uint32_t r = 0; r < runs_; ++r) {
    for (std::uint32_t i = run_first(r); i < run_end(r); ++i) {
      rows.push_back({partition(r), row_base(i)});
    }
  }
}

// ---- Changes ---------------------------------------------------------------

void Leaf::insert(const FindResult& position, std::string_view partition, std::string_view packed,
                  std::uint32_t key_bytes) {
  ENTITABLE_DCHECK(!position.found);
  const auto packed_bytes = static_cast<std::uint32_t>(packed.size());
  reserve(buffer_bytes_for_row(packed_bytes) +
          (position.run_found ? 0 : buffer_bytes_for_run(partition)));
  const std::string_view key = packed.substr(0, key_bytes);
  if (position.run_found) {
    narrow_run_prefix(position.run, key);
  } else {
    insert_run(position, partition, key_bytes);
  }
  KeyRun* const table = run_table();
  for (std::uint32_t r = position.run + 1; r < runs_; ++r) ++table[r].first;
  LeafSlot* const slot = slots();
  std::memmove(slot + position.slot + 1, slot + position.slot,
               (size_ - position.slot) * sizeof(LeafSlot));
  slot[position.slot] = {head_of(key, table[position.run].prefix), push(packed) - key_bytes};
  update_common_shape(packed.data() + key_bytes, size_ == 0);
  ++size_;
  ++totals_.rows;
  totals_.bytes += packed_bytes;
  update_streak(position.slot);
  clear_part_and_columns();
}

// Inserts a run, without its row.
void Leaf::insert_run(const FindResult& position, std::string_view partition,
                      std::uint32_t key_bytes) {
  if (runs_ == 0) {
    partition_prefix_ = narrow(partition.size());
  } else {
    narrow_partition_prefix(partition);
  }
  char* const slots_before = texts() + texts_;
  std::memmove(slots_before + buffer_bytes_for_run(partition), slots_before,
               size_ * sizeof(LeafSlot));
  std::memmove(texts() + sizeof(KeyRun), texts(), texts_);
  KeyRun* const at = run_table() + position.run;
  std::memmove(at + 1, at, (runs_ - position.run) * sizeof(KeyRun));
  ++runs_;
  *at = {head_of(partition, partition_prefix_), texts_, narrow(partition.size()), narrow(key_bytes),
         position.slot};
  add_partition_key(partition);
}

// Removes a run whose rows have been erased.
void Leaf::erase_run(std::uint32_t run) {
  KeyRun* const at = run_table() + run;
  const std::uint32_t text = at->text;
  const std::uint32_t bytes = padded(partition(run));
  char* const slots_before = texts() + texts_;
  std::memmove(texts() + text, texts() + text + bytes, texts_ - text - bytes);
  texts_ -= bytes;
  std::memmove(at, at + 1, (runs_ - run - 1) * sizeof(KeyRun));
  std::memmove(texts() - sizeof(KeyRun), texts(), texts_);
  --runs_;
  for (std::uint32_t r = 0; r < runs_; ++r) {
    if (run_table()[r].text > text) run_table()[r].text -= bytes;
  }
  std::memmove(slots(), slots_before, size_ * sizeof(LeafSlot));
}

void Leaf::replace(std::uint32_t i, std::string_view packed, std::uint32_t key_bytes) {
  const auto packed_bytes = static_cast<std::uint32_t>(packed.size());
  const std::uint32_t before = row_layout::packed_bytes(row_base(i));
  if (packed_bytes <= before) {
    std::memcpy(buffer_end() - slots()[i].offset - key_bytes, packed.data(), packed_bytes);
    garbage_ += before - packed_bytes;
  } else {
    reserve(packed_bytes);
    slots()[i].offset = push(packed) - key_bytes;
    garbage_ += before;
  }
  update_common_shape(packed.data() + key_bytes, size_ == 1);
  totals_.bytes += packed_bytes;
  totals_.bytes -= before;
  clear_part_and_columns();
  shrink_buffer();
}

void Leaf::erase(const FindResult& position) {
  ENTITABLE_DCHECK(position.found);
  const std::uint32_t packed_bytes = row_layout::packed_bytes(row_base(position.slot));
  LeafSlot* const slot = slots();
  std::memmove(slot + position.slot, slot + position.slot + 1,
               (size_ - position.slot - 1) * sizeof(LeafSlot));
  --size_;
  --totals_.rows;
  totals_.bytes -= packed_bytes;
  garbage_ += packed_bytes;
  KeyRun* const table = run_table();
  for (std::uint32_t r = position.run + 1; r < runs_; ++r) --table[r].first;
  if (run_first(position.run) == run_end(position.run)) erase_run(position.run);
  streak_ = 0;
  clear_part_and_columns();
  shrink_buffer();
}

void Leaf::put_in_overlay(const KeyView& key, std::string_view packed) {
  Overlay& overlay = mutable_overlay();
  const Overlay::Changes::value_type* const before = overlay.find(key);
  if (before == nullptr) {
    has_exact_totals_ = false;
  } else if (has_exact_totals_) {
    totals_.rows += packed.empty() ? 0 : 1;
    totals_.rows -= before->second.empty() ? 0 : 1;
    totals_.bytes += packed.size();
    totals_.bytes -= before->second.size();
  }
  overlay.put(key, packed);
  count_memory();
}

void Leaf::keep_in_overlay(const KeyView& key, std::string_view packed) {
  ENTITABLE_DCHECK(!overlay_ || overlay_->find(key) == nullptr);
  mutable_overlay().put(key, packed);
  count_memory();
}

// Returns the overlay for changes. Clones it if copies of this leaf share it.
Overlay& Leaf::mutable_overlay() {
  ENTITABLE_CHECK(unloaded_);
  if (!overlay_) {
    overlay_ = make_ref<Overlay>();
  } else if (!overlay_.unique()) {
    overlay_ = make_ref<Overlay>(*overlay_);
  }
  return *overlay_;
}

// Reallocates the buffer if it has become far larger than its content.
void Leaf::shrink_buffer() {
  const std::uint32_t capacity = capacity_for(used_bytes());
  if (capacity_ > 2 * capacity) reallocate(capacity);
}

void Leaf::narrow_run_prefix(std::uint32_t run, std::string_view key) {
  KeyRun& entry = run_table()[run];
  const std::size_t prefix = shared_prefix(row_key(entry.first), key, entry.prefix);
  if (prefix == entry.prefix) return;
  entry.prefix = narrow(prefix);
  set_run_heads(run);
}

void Leaf::narrow_partition_prefix(std::string_view added) {
  const std::size_t prefix = shared_prefix(partition(0), added, partition_prefix_);
  if (prefix == partition_prefix_) return;
  partition_prefix_ = narrow(prefix);
  set_partition_heads();
}

void Leaf::set_run_heads(std::uint32_t run) {
  const std::uint32_t prefix = run_table()[run].prefix;
  for (std::uint32_t i = run_first(run); i < run_end(run); ++i) {
    slots()[i].head = head_of(row_key(i), prefix);
  }
}

void Leaf::set_partition_heads() {
  for (std::uint32_t r = 0; r < runs_; ++r) {
    run_table()[r].head = head_of(partition(r), partition_prefix_);
  }
}

// Continues the streak if the insert comes directly after (ascending) or before (descending) the
// last inserted row; otherwise ends it.
void Leaf::update_streak(std::uint32_t slot) {
  if (slot == last_insert_slot_ + 1) {
    streak_ = streak_ > 0 ? streak_ + 1 : 1;
  } else if (slot == last_insert_slot_) {
    streak_ = streak_ < 0 ? streak_ - 1 : -1;
  } else {
    streak_ = 0;
  }
  last_insert_slot_ = slot;
}

void Leaf::clear_part_and_columns() {
  set_part(0, 0);
  column_cache_.clear();
}

// Updates shape_ after a row was added. shape_ stays as it is when rows are removed; only building
// a new leaf finds out again that all rows have one shape.
void Leaf::update_common_shape(const char* base, bool only_row) {
  const ShapeId shape = row_layout::shape_id(base);
  if (only_row) {
    shape_ = shape;
  } else if (shape_ != shape) {
    shape_ = many_shapes;
  }
}

}  // namespace entitable
