#include "core/query/explain.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/index/cursor.h"
#include "core/model/limits.h"
#include "core/query/scan.h"

namespace entitable {
namespace {

ServicePlan service_plan_from(const Query& query) {
  ServicePlan service = make_service_plan(query.filter);
  if (query.from.has_value()) {
    service.range = intersect(service.range, KeyRange{query.from->next, std::nullopt});
  }
  return service;
}

// Returns the packed bytes of the rows of the ranges in `read`. REQUIRES: these rows are in memory.
std::uint64_t count_bytes(const TableIndex& index, const std::vector<KeyRange>& ranges,
                          const KeyRange& read) {
  std::uint64_t bytes = 0;
  for (const KeyRange& range : ranges) bytes += index.count_range(intersect(range, read)).bytes;
  return bytes;
}

}  // namespace

Explanation::Explanation(Query query)
    : query_(std::move(query)),
      plan_(make_plan(query_.filter)),
      service_(service_plan_from(query_)),
      responses_(std::max<std::uint64_t>(1, query_.top)) {
  ENTITABLE_CHECK(query_.top <= limits::page_rows_max);
  restart();
}

void Explanation::restart() {
  next_row_ = query_.from;
  next_partition_ = service_.range.lower;
  rows_counted_ = false;
  rows_read_ = bytes_read_ = partitions_ = 0;
  responses_ = ResponseCounter(std::max<std::uint64_t>(1, query_.top));
  shapes_.clear();
  shapes_complete_ = true;
}

// Returns the parts to load before the next call, or nothing if all rows were counted.
std::vector<PartId> Explanation::count_rows(const TableIndex& index) {
  Scan scan(index, query_.filter, plan_, next_row_);
  scan.run([this](const RowView& row) {
    responses_.add(row.partition());
    return true;
  });
  rows_read_ += scan.rows_read();
  for (const Shape* shape : scan.filters().bound_shapes()) {
    if (std::find(shapes_.begin(), shapes_.end(), shape) == shapes_.end()) shapes_.push_back(shape);
  }
  shapes_complete_ = shapes_complete_ && scan.filters().shapes_complete();
  KeyRange read;
  if (next_row_.has_value()) read.lower = next_row_->next;
  std::vector<PartId> needed;
  if (scan.part_needed() != 0) {
    needed = scan.parts_to_load(index.row_count());
    read.upper = scan.stopped_at();
  }
  bytes_read_ += count_bytes(index, plan_.ranges, read);
  next_row_ = Continuation{read.upper.value_or(EntityKey())};
  return needed;
}

// Returns the part to load before the next call, or 0 if all partitions were counted.
PartId Explanation::count_partitions(const TableIndex& index) {
  Cursor cursor(index, KeyRange{next_partition_, service_.range.upper});
  while (cursor.valid()) {
    const RowBatch batch = cursor.batch();
    if (partitions_ > 0 && batch[batch.size() - 1].partition() == last_partition_) {
      // The partition fills the leaf: skip to its end.
      cursor.seek({successor(last_partition_), ""});
      continue;
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::string_view partition = batch[i].partition();
      if (partitions_ > 0 && partition == last_partition_) continue;
      ++partitions_;
      last_partition_ = partition;
    }
    cursor.skip(batch.size());
  }
  if (cursor.part_needed() != 0) next_partition_ = cursor.position();
  return cursor.part_needed();
}

Explain Explanation::result() {
  Explain explain;
  explain.kind = plan_.kind;
  explain.ranges = plan_.ranges;
  explain.rows_read = rows_read_;
  explain.rows_returned = responses_.rows();
  explain.bytes_read = bytes_read_;
  explain.service_kind = service_.kind;
  explain.service_round_trips = std::max<std::uint64_t>(1, partitions_ + responses_.extra());
  explain.service_transactions = explain.service_round_trips;
  explain.warnings =
      explain_warnings({query_.filter, plan_, service_, rows_read_, shapes_, shapes_complete_});
  return explain;
}

std::variant<Explain, PartsNeeded> explain(const TableIndex& index, Explanation& progress) {
  // With another schema, the shapes that were found are those of other rows.
  if (progress.schema_.get() != &index.schema()) {
    progress.restart();
    progress.schema_ = Ref<const Schema>(&index.schema());
  }
  if (progress.query_.top == 0) return progress.result();
  if (!progress.rows_counted_) {
    std::vector<PartId> needed = progress.count_rows(index);
    if (!needed.empty()) return PartsNeeded{std::move(needed)};
    progress.rows_counted_ = true;
  }
  if (progress.service_.kind != PlanKind::empty) {
    const PartId needed = progress.count_partitions(index);
    if (needed != 0) return PartsNeeded{{needed}};
  }
  return progress.result();
}

}  // namespace entitable
