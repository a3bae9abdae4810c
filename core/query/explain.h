// What a query costs, here and on the real service.
//
// An Explanation runs the whole query, from query.from (if given) through all pages. It counts rows
// and does not collect them. If query.top is 0, it reads nothing. It reads part by part: parts that
// it has read may be unloaded. It may run on several versions, one after the other.
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
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/query/executor.h"
#include "core/query/explain_warnings.h"
#include "core/query/planner.h"
#include "core/query/query.h"
#include "core/query/response_counter.h"
#include "core/query/service_plan.h"

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

// A query whose costs are being counted.
class Explanation {
 public:
  // REQUIRES: query.top <= limits::page_rows_max.
  explicit Explanation(Query query);
  Explanation(const Explanation&) = delete;
  Explanation& operator=(const Explanation&) = delete;

  // Counts on from where the call before stopped. Returns the plan, the counts and the warnings, or
  // the parts that are needed next. REQUIRES: no call before returned an Explain.
  friend std::variant<Explain, PartsNeeded> explain(const TableIndex& index, Explanation& progress);

 private:
  void restart();
  std::vector<PartId> count_rows(const TableIndex& index);
  PartId count_partitions(const TableIndex& index);
  Explain result();

  const Query query_;
  const Plan plan_;
  ServicePlan service_;       // from query_.from on
  Ref<const Schema> schema_;  // of the versions that were read; keeps shapes_ alive

  // What was counted so far.
  std::optional<Continuation> next_row_;  // where count_rows() continues
  bool rows_counted_ = false;             // count_rows() is done
  std::uint64_t rows_read_ = 0;
  std::uint64_t bytes_read_ = 0;
  ResponseCounter responses_;
  std::vector<const Shape*> shapes_;
  bool shapes_complete_ = true;
  EntityKey next_partition_;      // where count_partitions() continues
  std::uint64_t partitions_ = 0;  // partitions that have rows in the range of the service's plan
  std::string last_partition_;    // the last of them
};

std::variant<Explain, PartsNeeded> explain(const TableIndex& index, Explanation& progress);

}  // namespace entitable
