// One walk over the ranges of a plan, testing what is left of the filter. Internal to core/query;
// the executor turns it into pages, explain counts with it.
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
  // From `from` on, if given. REQUIRES: plan is make_plan(filter); all of them outlive this.
  Scan(const TableIndex& index, const Filter& filter, const Plan& plan,
       const std::optional<Continuation>& from);

  // Calls on_row(row) for every row that matches, in key order, until it returns false, rows end,
  // or a part is missing. `rows_max`: it may well return false after so many. To be called once.
  template <typename OnRow>
  void run(OnRow on_row, std::uint64_t rows_max = std::numeric_limits<std::uint64_t>::max());

  PartId part_needed() const { return part_needed_; }  // 0 unless a missing part stopped it
  // That part and others that the scan would meet next, in that order; `rows` is how many rows the
  // caller still wants. REQUIRES: part_needed() != 0, as for the next one.
  std::vector<PartId> parts_ahead(std::uint64_t rows) const;
  // The first key that the missing part may hold of those that were wanted.
  const EntityKey& stopped_at() const { return stopped_at_; }

  std::uint64_t rows_read() const { return rows_read_; }
  const BoundFilterCache& filters() const { return filters_; }

 private:
  // What is left of the current range.
  KeyRange current_range() const;
  template <typename OnRow>
  bool scan_point(const KeyView& key, OnRow& on_row);
  template <typename OnRow>
  bool scan_range(const KeyRange& range, OnRow& on_row);
  std::size_t prefetch_leaves(const Cursor& cursor) const;
  template <typename OnRow>
  bool scan_run(RowBatch run, OnRow& on_row);
  template <typename OnRow>
  bool scan_mixed(const RowBatch& run, OnRow& on_row);
  // Rows that match, as far as is known, wait for others, so that memory is waited for once.
  struct PendingRow {
    RowSlot row_slot;
    const BoundFilter* filter;  // null: it matches
    std::uint64_t rows_read;    // when it was met
  };
  template <typename OnRow>
  bool add_pending(const PendingRow& row, OnRow& on_row);
  template <typename OnRow>
  bool flush_pending(OnRow& on_row);
  // The filter of a shape, kept from row to row.
  const BoundFilter& filter_of(const Shape& shape) {
    if (&shape != shape_) {
      shape_ = &shape;
      bound_ = &filters_.of(shape);
    }
    return *bound_;
  }

  const TableIndex& index_;
  const Plan& plan_;
  const std::optional<Continuation>& from_;
  BoundFilterCache filters_;
  const Shape* shape_ = nullptr;  // of the rows tested last
  const BoundFilter* bound_ = nullptr;
  std::size_t range_ = 0;  // the current one
  PartId part_needed_ = 0;
  EntityKey stopped_at_;  // where the missing part begins to matter
  std::uint64_t rows_read_ = 0;
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
    const bool point = kind_of(range) == PlanKind::point;
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
    const RowBatch run = cursor.batch();
    if (!scan_run(run, on_row)) return false;
    cursor.skip(run.size());
  }
  if (!flush_pending(on_row)) return false;
  if (cursor.at_end()) return true;
  part_needed_ = cursor.part_needed();
  stopped_at_ = cursor.position();
  return false;
}

template <typename OnRow>
bool Scan::scan_run(RowBatch run, OnRow& on_row) {
  const Shape* const shape = run.shape();
  if (plan_.residual && shape == nullptr) return scan_mixed(run, on_row);
  const BoundFilter* const filter = plan_.residual ? &filter_of(*shape) : nullptr;
  if (filter != nullptr) filter->prepare(run);
  const std::uint64_t rows_before = rows_read_;
  for (std::size_t at = 0; at < run.size(); ++at) {
    if (filter == nullptr) {
      rows_read_ = rows_before + at + 1;
      if (!on_row(run[at])) return false;
      continue;
    }
    const BoundFilter::Candidate next = filter->next(run, at);
    at = next.at;
    if (at == run.size()) break;
    const PendingRow row = {run.row_slot(at), next.sure ? nullptr : filter, rows_before + at + 1};
    if (!add_pending(row, on_row)) return false;
  }
  rows_read_ = rows_before + run.size();
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

// Rows of several shapes, each tested by the filter of its own.
template <typename OnRow>
bool Scan::scan_mixed(const RowBatch& run, OnRow& on_row) {
  if (!flush_pending(on_row)) return false;
  for (std::size_t at = 0; at < run.size(); ++at) {
    const RowView row = run[at];
    ++rows_read_;
    if (filter_of(row.shape()).matches(row) && !on_row(row)) return false;
  }
  return true;
}

}  // namespace entitable
