// A filter to a plan: the key ranges that hold every row it can match, and what is left to test in
// them.
//
// Each node of the tree is read as two sets of keys (key_set.h): those of rows that *may* match and
// those of rows that *must* match, whatever their properties. `and` intersects, `or` unites, `not`
// exchanges the two and takes complements; a comparison of PartitionKey or RowKey with a String is
// exact, one with any other type is a constant (spec §4.4), one of any other property may match
// everywhere and must match nowhere. The plan is the root's *may*; a condition that already holds
// for all of it is not tested again.
//
//   PartitionKey eq 'S' and (RowKey eq 'a' or RowKey eq 'b')   two points, nothing to test
//   PartitionKey eq 'S' and Age gt 30                          one partition, Age to test
//   not (PartitionKey eq 'S' or Age gt 30)                     below S and above S, all to test
//   PartitionKey gt 'b' and PartitionKey lt 'a'                nothing
//
// The same rows in the same order as reading the whole table would give. Time and size are bounded:
// above key_set_pieces_max ranges neighbours are joined, and then tested.
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
  std::vector<bool> implied;
};

Plan make_plan(const Filter& filter);

// How the real service would run it (spec §4.6): it looks only at top-level `and` conditions that
// compare PartitionKey or RowKey with a String by eq, gt, ge, lt or le, and reads one contiguous
// range.
struct ServicePlan {
  PlanKind kind = PlanKind::table;  // table also when PartitionKey is only bounded
  KeyRange range;                   // what it reads; meaningless if kind is empty
};
ServicePlan make_service_plan(const Filter& filter);

// "range residual\n  ('S','a') .. ('S','b')\n": for tests and people.
std::string to_text(const Plan& plan);

}  // namespace entitable
