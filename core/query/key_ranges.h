// Converts sets of keys to ranges of the index. Internal to core/query.
#pragma once

#include <string_view>
#include <vector>

#include "core/index/key_range.h"
#include "core/query/key_set.h"

namespace entitable {

// Returns the range of the rows of one partition whose RowKey lies in the interval.
KeyRange range_in_partition(std::string_view partition, const KeyInterval& rows);

struct CoveringRanges {
  std::vector<KeyRange> ranges;  // ascending, disjoint, none empty, none touching the next
  bool exact = true;             // false: the ranges hold keys that are not in the set
};

// Returns ranges that cover a set. The ranges hold additional keys where several partitions have
// only some of their rows in the set: the index is ordered by partition, so such a set is no range.
CoveringRanges ranges_of(const KeySet& set);

}  // namespace entitable
