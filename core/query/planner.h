// The planner turns a filter into a plan: key ranges that hold every row that can match, and the
// conditions to test on the rows of these ranges.
//
// The ranges hold all keys whose rows may match (key_analysis.h). An operand of the filter's
// top-level `and` is not tested if it holds for all keys of the ranges.
//
//   PartitionKey eq 'S' and (RowKey eq 'a' or RowKey eq 'b')   two points, nothing to test
//   PartitionKey eq 'S' and Age gt 30                          one partition, Age to test
//   not (PartitionKey eq 'S' or Age gt 30)                     below S and above S, all to test
//   PartitionKey gt 'b' and PartitionKey lt 'a'                nothing
//
// Running a plan returns the same rows in the same order as testing all rows of the table. The time
// of planning and the size of a plan are bounded. Beyond key_set_intervals_max ranges, neighbouring
// ranges are joined. Beyond key_analysis_intervals_max intervals, the analysis is approximate. In
// both cases the plan reads more rows and tests them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/filter/ast.h"
#include "core/index/key_range.h"

namespace entitable {

// From narrow to wide: a plan is as wide as its widest range.
enum class PlanKind : std::uint8_t {
  empty,      // no key can match
  point,      // single keys
  range,      // within partitions
  partition,  // a whole partition
  table,      // across partitions
};
std::string_view plan_kind_name(PlanKind kind);  // "empty", "point" and so on
PlanKind plan_kind_of(const KeyRange& range);

struct Plan {
  std::vector<KeyRange> ranges;  // ascending, disjoint, none empty, none touching the next
  PlanKind kind = PlanKind::empty;
  // Whether some condition must be tested on the rows of the ranges.
  bool residual = false;
  // implied[i]: node i of the filter holds for every row of the ranges, so a test may skip it.
  std::vector<char> implied;
};

Plan make_plan(const Filter& filter);

// Returns a plan as text, for tests and people. The first line has the kind, and how much of the
// filter is tested. Each further line is a range, in which 'x'+ is the successor of 'x'
// (core/model/key.h):
//
//   range, test rest
//     'S' 'a' .. 'S' 'b'+
std::string plan_text(const Plan& plan);

}  // namespace entitable
