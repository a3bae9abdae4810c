#include "core/query/explain.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/index/cursor.h"
#include "core/model/limits.h"
#include "core/query/scan.h"
#include "core/query/service_plan.h"

namespace entitable {
namespace {

// Counts the responses that the matching rows of a partition take in addition to its first
// response, over all partitions. REQUIRES: rows are added in key order.
class ResponseCounter {
 public:
  explicit ResponseCounter(std::uint64_t page_rows) : page_rows_(page_rows) {}
  void add(std::string_view partition) {
    if (partition != partition_) {
      partition_ = partition;
      in_partition_ = 0;
    }
    if (in_partition_ != 0 && in_partition_ % page_rows_ == 0) ++extra_;
    ++in_partition_;
    ++rows_;
  }
  std::uint64_t rows() const { return rows_; }
  std::uint64_t extra() const { return extra_; }

 private:
  std::uint64_t page_rows_;
  std::string_view partition_;
  std::uint64_t in_partition_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t extra_ = 0;
};

struct PartitionCount {
  std::uint64_t partitions = 0;  // partitions that have rows in the range
  PartId part_needed = 0;        // not 0: a part is missing, and the count is incomplete
};

PartitionCount count_partitions(const TableIndex& index, const KeyRange& range) {
  PartitionCount count;
  Cursor cursor(index, range);
  std::string last;
  while (cursor.valid()) {
    const RowBatch batch = cursor.batch();
    if (count.partitions > 0 && batch[batch.size() - 1].partition() == last) {
      cursor.seek({successor(last), ""});  // the partition fills the leaf: skip to its end
      continue;
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::string_view partition = batch[i].partition();
      if (count.partitions > 0 && partition == last) continue;
      ++count.partitions;
      last = partition;
    }
    cursor.skip(batch.size());
  }
  count.part_needed = cursor.part_needed();
  return count;
}

// Returns the packed bytes of the rows that a scan of the ranges reads. REQUIRES: all rows are in
// memory.
std::uint64_t count_bytes(const TableIndex& index, const std::vector<KeyRange>& ranges,
                          const std::optional<Continuation>& from) {
  std::uint64_t bytes = 0;
  for (const KeyRange& range : ranges) {
    const KeyRange rest =
        from.has_value() ? intersect(range, KeyRange{from->next, std::nullopt}) : range;
    bytes += index.count_range(rest).bytes;
  }
  return bytes;
}

}  // namespace

std::variant<Explain, PartsNeeded> explain(const TableIndex& index, const Query& query) {
  ENTITABLE_CHECK(query.top <= limits::page_rows_max);
  Plan plan = make_plan(query.filter);
  ServicePlan service = make_service_plan(query.filter);
  if (query.from.has_value()) {
    service.range = intersect(service.range, KeyRange{query.from->next, std::nullopt});
  }

  Explain explain;
  Scan scan(index, query.filter, plan, query.from);
  ResponseCounter responses(std::max<std::uint64_t>(1, query.top));
  PartitionCount visited;
  if (query.top > 0) {
    scan.run([&](const RowView& row) {
      responses.add(row.partition());
      return true;
    });
    if (scan.part_needed() != 0) return PartsNeeded{scan.parts_to_load(index.row_count())};
    if (service.kind != PlanKind::empty) visited = count_partitions(index, service.range);
    if (visited.part_needed != 0) return PartsNeeded{{visited.part_needed}};
    explain.bytes_read = count_bytes(index, plan.ranges, query.from);
  }
  explain.kind = plan.kind;
  explain.rows_read = scan.rows_read();
  explain.rows_returned = responses.rows();
  explain.service_kind = service.kind;
  explain.service_round_trips = std::max<std::uint64_t>(1, visited.partitions + responses.extra());
  explain.service_transactions = explain.service_round_trips;
  explain.warnings =
      explain_warnings({query.filter, plan, service, scan.rows_read(),
                        scan.filters().bound_shapes(), scan.filters().shapes_complete()});
  explain.ranges = std::move(plan.ranges);
  return explain;
}

}  // namespace entitable
