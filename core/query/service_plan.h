// How the real service would run a filter (core/rest/SERVICE.md §4.2).
#pragma once

#include "core/filter/ast.h"
#include "core/query/planner.h"

namespace entitable {

// The range that the service reads. It depends only on the operands of the filter's top-level `and`
// that compare PartitionKey or RowKey with a String by eq, gt, ge, lt or le. Conditions on RowKey
// count only if PartitionKey is fixed by eq. If conditions contradict each other, the service reads
// nothing. If PartitionKey is bounded but not fixed, the kind is `table`, although the service
// reads only the rows between the bounds.
struct ServicePlan {
  PlanKind kind = PlanKind::table;
  KeyRange range;  // what the service reads; unspecified if the kind is `empty`
};
ServicePlan make_service_plan(const Filter& filter);

}  // namespace entitable
