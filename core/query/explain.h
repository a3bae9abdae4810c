// What a query costs, here and on the real service.
//
// explain() runs the whole query on one version, from query.from (if given) through all pages. It
// counts rows and does not collect them. If query.top is 0, it reads nothing.
//
// The model of the real service (an estimate: the service publishes no plans):
//   * It reads one contiguous range (ServicePlan) row by row and returns what matches.
//   * A response ends after `top` rows (1000 if not given) and wherever the scan leaves a
//     partition. It may have few rows or none, and has a continuation (core/rest/SERVICE.md §5).
//     Each partition that has rows in the range therefore takes max(1, ceil(matches in it / top))
//     responses. This is an upper bound: on a small table, one response of the service often covers
//     several partitions.
//   * The service's limit of 5 s per response is not modelled.
//   * There is at least one response, also for an empty table or a contradiction.
//   * Each request is billed as one transaction, so transactions equal round trips.
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
  std::vector<KeyRange> ranges;     // of the plan, regardless of query.from
  std::uint64_t rows_read = 0;      // all rows tested
  std::uint64_t rows_returned = 0;  // matching rows in all pages
  std::uint64_t bytes_read = 0;     // packed bytes of the rows tested
  PlanKind service_kind = PlanKind::table;
  std::uint64_t service_round_trips = 1;
  std::uint64_t service_transactions = 1;
  std::vector<ExplainWarning> warnings;
};

// Returns the plan, the counts and the warnings of a query. REQUIRES: as execute().
std::variant<Explain, PartsNeeded> explain(const TableIndex& index, const Query& query);

}  // namespace entitable
