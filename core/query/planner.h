// A filter to a plan: the key ranges that hold every row it can match, and what is left to test in
// them.
//
// The ranges are the keys that may match (key_analysis.h); a top-level condition that already holds
// for all of them is not tested again.
//
//   PartitionKey eq 'S' and (RowKey eq 'a' or RowKey eq 'b')   two points, nothing to test
//   PartitionKey eq 'S' and Age gt 30                          one partition, Age to test
//   not (PartitionKey eq 'S' or Age gt 30)                     below S and above S, all to test
//   PartitionKey gt 'b' and PartitionKey lt 'a'                nothing
//
// The same rows in the same order as reading the whole table would give. Time and size are bounded:
// above key_set_intervals_max ranges neighbours are joined, and then tested; what an analysis of
// key_analysis_intervals_max pieces has not settled is read wholly, and tested.
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
PlanKind kind_of(const KeyRange& range);

struct Plan {
  std::vector<KeyRange> ranges;  // ascending, disjoint, none empty, none touching the next
  PlanKind kind = PlanKind::empty;
  // Whether rows of the ranges are to be tested at all.
  bool residual = false;
  // implied[i]: node i of the filter holds for every row of the ranges, so a test may skip it.
  std::vector<char> implied;
};

Plan make_plan(const Filter& filter);

// For tests and people. The kind and how much of the filter is left to test, then a line a range,
// in which 'x'+ is the successor of 'x':
//
//   range, test rest
//     'S' 'a' .. 'S' 'b'+
std::string to_text(const Plan& plan);

}  // namespace entitable
