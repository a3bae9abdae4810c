// What a query costs, here and on the real service.
//
// explain() runs the whole query, page after page to the end (from query.from, if given), on one
// version and without collecting rows, and counts. A `top` of 0 reads nothing.
//
// The model of the real service (an estimate: the service publishes no plans):
//   * It reads one contiguous range (ServicePlan) row by row and returns what matches.
//   * A response ends after `top` rows (1000 if not given) and wherever the scan leaves a partition
//     (core/rest/SERVICE.md §5: it may, and then answers with fewer rows or none, and a
//     continuation). So each partition that has rows in the range takes max(1, ceil(matches in it /
//     top)) responses. That is the most it takes: on a small table the service mostly crosses
//     partitions without a stop.
//   * Its limit of 5 s a response is not modelled.
//   * At least one response, also for an empty table or a contradiction.
//   * A transaction in the bill is one request, so transactions equal round trips.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "core/query/executor.h"
#include "core/query/explain_warnings.h"
#include "core/query/planner.h"
#include "core/query/query.h"

namespace entitable {

struct Explain {
  PlanKind kind = PlanKind::empty;
  std::vector<KeyRange> ranges;     // of the plan, whatever query.from
  std::uint64_t rows_read = 0;      // looked at
  std::uint64_t rows_returned = 0;  // matching, in all pages
  std::uint64_t bytes_read = 0;     // packed bytes of the rows looked at
  PlanKind service_kind = PlanKind::table;
  std::uint64_t service_round_trips = 1;
  std::uint64_t service_transactions = 1;
  std::vector<ExplainWarning> warnings;
};

// REQUIRES: as execute().
std::variant<Explain, PartsNeeded> explain(const TableIndex& index, const Query& query);

}  // namespace entitable
