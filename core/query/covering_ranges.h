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

// Returns ranges that hold all keys of a set. A segment with only some of the rows of several
// partitions is not one range of the index, which is ordered by partition. The range for such a
// segment holds additional keys.
CoveringRanges covering_ranges_of(const KeySet& set);

}  // namespace entitable
