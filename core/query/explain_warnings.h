// The warnings of explain(): what is unusual or costly about a query. Internal to core/query.
//
//   Contradiction     no key can match
//   TableScan         the service reads across partitions, or the whole table
//   PartitionScan     the service reads a whole partition and tests most of the filter row by row
//   WiderOnService    this store reads less than the service would
//   TypeMismatch      a comparison with a literal of another type (core/rest/SERVICE.md §4.1)
//   UnknownProperty   none of the rows read has the property
//   ManyComparisons   more than the service documents
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/index/shape.h"
#include "core/query/planner.h"
#include "core/query/service_plan.h"

namespace entitable {

struct ExplainWarning {
  std::string code;     // stable, PascalCase: one of the above
  std::string message;  // what was found
  std::string help;     // what to do about it
};

struct ExplainWarningInput {
  const Filter& filter;
  const Plan& plan;
  const ServicePlan& service;
  std::uint64_t rows_read;
  // The shapes of the rows that were tested. If the list is not complete, there are no warnings
  // about properties.
  const std::vector<const Shape*>& shapes;
  bool shapes_complete;
};

std::vector<ExplainWarning> explain_warnings(const ExplainWarningInput& findings);

}  // namespace entitable
