// How the real service would run a filter (core/rest/SERVICE.md §4.2).
#pragma once

#include "core/filter/ast.h"
#include "core/query/planner.h"

namespace entitable {

// The service looks only at top-level `and` conditions that compare PartitionKey or RowKey with a
// String by eq, gt, ge, lt or le, and reads one contiguous range; RowKey counts only if
// PartitionKey is fixed. Conditions that contradict each other read nothing. A PartitionKey that is
// bounded but not fixed counts as a table scan, yet reads only its bounds.
struct ServicePlan {
  PlanKind kind = PlanKind::table;
  KeyRange range;  // what it reads; of kind empty: nothing, and this means nothing
};
ServicePlan make_service_plan(const Filter& filter);

}  // namespace entitable
