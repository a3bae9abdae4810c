#include "core/query/count.h"

#include <limits>

#include "core/query/parts_ahead.h"
#include "core/query/planner.h"
#include "core/query/scan.h"

namespace entitable {
namespace {

// Adds the part that holds the key, if it is not in memory.
void add_part_of(const TableIndex& index, const KeyView& key, std::vector<PartId>& parts) {
  const PartId part = index.find(key).part_needed;
  if (part != 0) parts.push_back(part);
}

std::variant<MatchCount, PartsNeeded> count_by_keys(const TableIndex& index, const Plan& plan,
                                                    const Query& query) {
  std::vector<PartId> parts = index.parts_with_inexact_counts();
  MatchCount count;
  for (KeyRange range : plan.ranges) {
    if (!parts.empty()) break;
    if (query.from.has_value()) range = intersect(range, KeyRange{query.from->next, std::nullopt});
    if (range.empty()) continue;
    const RangeCount counted = index.count_range(range);
    count.rows += counted.rows;
    if (counted.exact) continue;
    add_part_of(index, range.lower.view(), parts);
    if (range.upper.has_value()) add_part_of(index, range.upper->view(), parts);
  }
  if (parts.empty()) return count;
  PartsAhead ahead(parts.front());
  for (std::size_t i = 1; i < parts.size() && !ahead.full(); ++i) ahead.add(parts[i]);
  return PartsNeeded{ahead.release_ids()};
}

}  // namespace

std::variant<MatchCount, PartsNeeded> count_matches(const TableIndex& index, const Query& query) {
  const Plan plan = make_plan(query.filter);
  if (!plan.residual) return count_by_keys(index, plan, query);
  MatchCount count;
  Scan scan(index, query.filter, plan, query.from);
  scan.run([&count](const RowView&) {
    ++count.rows;
    return true;
  });
  count.rows_read = scan.rows_read();
  if (scan.part_needed() == 0) return count;
  if (scan.rows_read() == 0) {
    return PartsNeeded{scan.parts_to_load(std::numeric_limits<std::uint64_t>::max())};
  }
  count.next = Continuation{scan.stopped_at()};
  return count;
}

}  // namespace entitable
