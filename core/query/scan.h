// Scans the ranges of a plan and tests the plan's remaining conditions on the rows. Internal to
// core/query: the executor builds pages from scans, explain() counts rows with them.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/index/cursor.h"
#include "core/query/bound_filter.h"
#include "core/query/planner.h"
#include "core/query/query.h"

namespace entitable {

class Scan {
 public:
  // Starts at `from`, if given. REQUIRES: plan is make_plan(filter); all arguments outlive this
  // object.
  Scan(const TableIndex& index, const Filter& filter, const Plan& plan,
       const std::optional<Continuation>& from);

  // Makes run() end after about this number of rows was tested: at least one leaf. Each range of
  // the plan counts as a row: it takes a search. REQUIRES: rows is not 0.
  void limit_rows_tested(std::uint64_t rows) { rows_tested_max_ = rows; }
  // Calls on_row(row) for every matching row, in key order, until on_row returns false, the rows
  // end, a part is not in memory, or enough rows were tested. `rows_max` is a hint: on_row will
  // probably return false after this number of rows. REQUIRES: called only once.
  template <typename OnRow>
  void run(OnRow on_row, std::uint64_t rows_max = std::numeric_limits<std::uint64_t>::max());

  // The part that was not in memory, so that the scan stopped; 0 if there is none.
  PartId part_needed() const { return part_needed_; }
  // Returns part_needed(), then other parts that the scan would need next, in that order. `rows`:
  // how many more rows the caller wants. REQUIRES: part_needed() != 0.
  std::vector<PartId> parts_to_load(std::uint64_t rows) const;
  // Whether enough rows were tested.
  bool tested_enough() const { return tested_enough_; }
  // The first key that the scan did not reach. REQUIRES: part_needed() != 0 or tested_enough().
  const EntityKey& stopped_at() const { return stopped_at_; }

  std::uint64_t rows_read() const { return rows_read_; }
  std::uint64_t ranges_read() const { return ranges_read_; }
  const BoundFilterCache& filters() const { return filters_; }

 private:
  bool has_tested_enough() const { return rows_read_ + ranges_read_ >= rows_tested_max_; }
  void stop_at(const EntityKey& next) {
    tested_enough_ = true;
    stopped_at_ = next;
  }
  // Returns the keys of the current range that are not before `from`.
  KeyRange current_range() const;
  template <typename OnRow>
  bool scan_point(const KeyView& key, OnRow& on_row);
  template <typename OnRow>
  bool scan_range(const KeyRange& range, OnRow& on_row);
  std::size_t prefetch_leaves(const Cursor& cursor) const;
  template <typename OnRow>
  bool scan_batch(RowBatch batch, OnRow& on_row);
  template <typename OnRow>
  bool scan_mixed(const RowBatch& batch, OnRow& on_row);
  // A row that may match and is tested later, together with others, so that the memory accesses to
  // their rows overlap (core/base/prefetch.h).
  struct PendingRow {
    RowSlot row_slot;
    const BoundFilter* filter;  // null: the row is known to match
    std::uint64_t rows_read;    // rows tested so far, including this row
  };
  template <typename OnRow>
  bool add_pending(const PendingRow& row, OnRow& on_row);
  template <typename OnRow>
  bool flush_pending(OnRow& on_row);
  // Returns the filter bound to the shape. Caches it, because most rows have the same shape as the
  // row before.
  const BoundFilter& filter_of(const Shape& shape) {
    if (&shape != shape_) {
      shape_ = &shape;
      bound_ = &filters_.filter_for(shape);
    }
    return *bound_;
  }

  const TableIndex& index_;
  const Plan& plan_;
  const std::optional<Continuation>& from_;
  BoundFilterCache filters_;
  const Shape* shape_ = nullptr;  // of the row tested last
  const BoundFilter* bound_ = nullptr;
  std::size_t range_ = 0;  // the current one
  PartId part_needed_ = 0;
  EntityKey stopped_at_;
  std::uint64_t rows_tested_max_ = std::numeric_limits<std::uint64_t>::max();
  bool tested_enough_ = false;
  std::uint64_t rows_read_ = 0;
  std::uint64_t ranges_read_ = 0;
  std::uint64_t rows_wanted_ = 0;
  std::array<PendingRow, 16> pending_;
  std::size_t pending_count_ = 0;
};

// ---- Inline ----

template <typename OnRow>
void Scan::run(OnRow on_row, std::uint64_t rows_max) {
  rows_wanted_ = rows_max;
  for (; range_ < plan_.ranges.size(); ++range_) {
    const KeyRange range = current_range();
    if (range.empty()) continue;
    if (has_tested_enough()) return stop_at(range.lower);
    ++ranges_read_;
    const bool point = plan_kind_of(range) == PlanKind::point;
    if (point ? !scan_point(range.lower.view(), on_row) : !scan_range(range, on_row)) return;
  }
}

template <typename OnRow>
bool Scan::scan_point(const KeyView& key, OnRow& on_row) {
  const TableIndex::Found found = index_.find(key);
  if (found.part_needed != 0) {
    part_needed_ = found.part_needed;
    stopped_at_ = EntityKey(key.partition, key.row);
    return false;
  }
  if (!found.row.has_value()) return true;
  ++rows_read_;
  const bool matching = !plan_.residual || filter_of(found.row->shape()).matches(*found.row);
  return !matching || on_row(*found.row);
}

template <typename OnRow>
bool Scan::scan_range(const KeyRange& range, OnRow& on_row) {
  Cursor cursor(index_, range);
  for (std::size_t prefetched = 0; cursor.valid(); --prefetched) {
    if (prefetched == 0) prefetched = prefetch_leaves(cursor);
    const RowBatch batch = cursor.batch();
    if (!scan_batch(batch, on_row)) return false;
    cursor.skip(batch.size());
    if (!has_tested_enough() || !cursor.valid()) continue;
    if (flush_pending(on_row)) stop_at(cursor.position());
    return false;
  }
  if (!flush_pending(on_row)) return false;
  if (cursor.at_end()) return true;
  part_needed_ = cursor.part_needed();
  stopped_at_ = cursor.position();
  return false;
}

template <typename OnRow>
bool Scan::scan_batch(RowBatch batch, OnRow& on_row) {
  const Shape* const shape = batch.shape();
  if (plan_.residual && shape == nullptr) return scan_mixed(batch, on_row);
  const BoundFilter* const filter = plan_.residual ? &filter_of(*shape) : nullptr;
  if (filter != nullptr) filter->prepare_batch(batch);
  const std::uint64_t rows_before = rows_read_;
  for (std::size_t at = 0; at < batch.size(); ++at) {
    if (filter == nullptr) {
      rows_read_ = rows_before + at + 1;
      if (!on_row(batch[at])) return false;
      continue;
    }
    const BoundFilter::Candidate next = filter->next_candidate(batch, at);
    at = next.at;
    if (at == batch.size()) break;
    const PendingRow row = {batch.row_slot(at), next.sure ? nullptr : filter, rows_before + at + 1};
    if (!add_pending(row, on_row)) return false;
  }
  rows_read_ = rows_before + batch.size();
  return true;
}

template <typename OnRow>
bool Scan::add_pending(const PendingRow& row, OnRow& on_row) {
  pending_[pending_count_++] = row;
  const bool enough = pending_count_ == pending_.size() || pending_count_ >= rows_wanted_;
  return !enough || flush_pending(on_row);
}

template <typename OnRow>
bool Scan::flush_pending(OnRow& on_row) {
  const std::span<const PendingRow> pending(pending_.data(), pending_count_);
  pending_count_ = 0;
  for (const PendingRow& row : pending) row.row_slot.prefetch_slot();
  for (const PendingRow& row : pending) row.row_slot.prefetch_row();
  for (const PendingRow& row : pending) row.row_slot.prefetch_values();
  for (const PendingRow& candidate : pending) {
    const RowView row = candidate.row_slot.row();
    if (candidate.filter != nullptr && !candidate.filter->matches(row)) continue;
    if (!on_row(row)) {
      rows_read_ = candidate.rows_read;
      return false;
    }
    if (rows_wanted_ != 0) --rows_wanted_;
  }
  return true;
}

// Rows of several shapes: each row is tested by the filter of its shape.
template <typename OnRow>
bool Scan::scan_mixed(const RowBatch& batch, OnRow& on_row) {
  if (!flush_pending(on_row)) return false;
  for (std::size_t at = 0; at < batch.size(); ++at) {
    const RowView row = batch[at];
    ++rows_read_;
    if (filter_of(row.shape()).matches(row) && !on_row(row)) return false;
  }
  return true;
}

}  // namespace entitable
