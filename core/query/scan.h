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

  // Calls take(row) for every row that matches, in key order, until it returns false, rows end, or
  // a part is missing. `most`: it may well return false after so many. To be called once.
  template <typename Take>
  void run(Take take, std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

  PartId need_part() const { return need_part_; }  // 0 unless a missing part stopped it
  // That part and others that the scan would meet next, in that order; `rows` is how many rows the
  // caller still wants. REQUIRES: need_part() != 0, as for the next one.
  std::vector<PartId> parts_ahead(std::uint64_t rows) const;
  // The first key that the missing part may hold of those that were wanted.
  const EntityKey& stopped_at() const { return stopped_at_; }

  std::uint64_t rows_read() const { return rows_read_; }
  const ShapeFilters& filters() const { return filters_; }

 private:
  // What is left of the current range.
  KeyRange current_range() const;
  template <typename Take>
  bool scan_point(const KeyView& key, Take& take);
  template <typename Take>
  bool scan_range(const KeyRange& range, Take& take);
  std::size_t touch_ahead(const Cursor& cursor) const;
  template <typename Take>
  bool scan_run(RowRun run, Take& take);
  template <typename Take>
  bool scan_mixed(const RowRun& run, Take& take);
  // Rows that match, as far as is known, wait for others, so that memory is waited for once.
  struct Waiting {
    RowPlace place;
    const BoundFilter* filter;  // null: it matches
    std::uint64_t rows_read;    // when it was met
  };
  template <typename Take>
  bool wait(const Waiting& row, Take& take);
  template <typename Take>
  bool take_waiting(Take& take);
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
  ShapeFilters filters_;
  const Shape* shape_ = nullptr;  // of the rows tested last
  const BoundFilter* bound_ = nullptr;
  std::size_t range_ = 0;  // the current one
  PartId need_part_ = 0;
  EntityKey stopped_at_;  // where the missing part begins to matter
  std::uint64_t rows_read_ = 0;
  std::uint64_t wanted_ = 0;
  std::array<Waiting, 16> waiting_;
  std::size_t waiting_count_ = 0;
};

// ---- Inline ----

template <typename Take>
void Scan::run(Take take, std::uint64_t most) {
  wanted_ = most;
  for (; range_ < plan_.ranges.size(); ++range_) {
    const KeyRange range = current_range();
    if (range.empty()) continue;
    const bool point = kind_of(range) == PlanKind::point;
    if (point ? !scan_point(range.lower.view(), take) : !scan_range(range, take)) return;
  }
}

template <typename Take>
bool Scan::scan_point(const KeyView& key, Take& take) {
  const TableIndex::Found found = index_.find(key);
  if (found.need_part != 0) {
    need_part_ = found.need_part;
    stopped_at_ = EntityKey(key.partition, key.row);
    return false;
  }
  if (!found.row.has_value()) return true;
  ++rows_read_;
  const bool matching = !plan_.residual || filter_of(found.row->shape()).matches(*found.row);
  return !matching || take(*found.row);
}

template <typename Take>
bool Scan::scan_range(const KeyRange& range, Take& take) {
  Cursor cursor(index_, range);
  for (std::size_t touched = 0; cursor.valid(); --touched) {
    if (touched == 0) touched = touch_ahead(cursor);
    const RowRun run = cursor.run();
    if (!scan_run(run, take)) return false;
    cursor.skip(run.size());
  }
  if (!take_waiting(take)) return false;
  if (cursor.at_end()) return true;
  need_part_ = cursor.need_part();
  stopped_at_ = cursor.position();
  return false;
}

template <typename Take>
bool Scan::scan_run(RowRun run, Take& take) {
  const Shape* const shape = run.shape();
  if (plan_.residual && shape == nullptr) return scan_mixed(run, take);
  const BoundFilter* const filter = plan_.residual ? &filter_of(*shape) : nullptr;
  if (filter != nullptr) filter->prepare(run);
  const std::uint64_t rows_before = rows_read_;
  for (std::size_t at = 0; at < run.size(); ++at) {
    if (filter == nullptr) {
      rows_read_ = rows_before + at + 1;
      if (!take(run[at])) return false;
      continue;
    }
    const BoundFilter::Candidate next = filter->next(run, at);
    at = next.at;
    if (at == run.size()) break;
    const Waiting row = {run.place(at), next.sure ? nullptr : filter, rows_before + at + 1};
    if (!wait(row, take)) return false;
  }
  rows_read_ = rows_before + run.size();
  return true;
}

template <typename Take>
bool Scan::wait(const Waiting& row, Take& take) {
  waiting_[waiting_count_++] = row;
  const bool enough = waiting_count_ == waiting_.size() || waiting_count_ >= wanted_;
  return !enough || take_waiting(take);
}

template <typename Take>
bool Scan::take_waiting(Take& take) {
  const std::span<const Waiting> waiting(waiting_.data(), waiting_count_);
  waiting_count_ = 0;
  for (const Waiting& row : waiting) row.place.touch_way();
  for (const Waiting& row : waiting) row.place.touch_row();
  for (const Waiting& row : waiting) row.place.touch_values();
  for (const Waiting& waited : waiting) {
    const RowView row = waited.place.row();
    if (waited.filter != nullptr && !waited.filter->matches(row)) continue;
    if (!take(row)) {
      rows_read_ = waited.rows_read;
      return false;
    }
    if (wanted_ != 0) --wanted_;
  }
  return true;
}

// Rows of several shapes, each tested by the filter of its own.
template <typename Take>
bool Scan::scan_mixed(const RowRun& run, Take& take) {
  if (!take_waiting(take)) return false;
  for (std::size_t at = 0; at < run.size(); ++at) {
    const RowView row = run[at];
    ++rows_read_;
    if (filter_of(row.shape()).matches(row) && !take(row)) return false;
  }
  return true;
}

}  // namespace entitable
