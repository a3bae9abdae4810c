// Sets of keys as ranges of the index. Internal to core/query.
#pragma once

#include <string_view>
#include <vector>

#include "core/index/key_range.h"
#include "core/query/key_set.h"

namespace entitable {

// The rows of one partition that lie in an interval.
KeyRange range_in_partition(std::string_view partition, const KeyInterval& rows);

struct CoveringRanges {
  std::vector<KeyRange> ranges;  // ascending, disjoint, none empty, none touching the next
  bool exact = true;             // false: they hold keys that are not in the set
};

// The ranges that hold a set. They hold more than the set where many partitions have only some of
// their rows in it: an index in order of partitions cannot say that in ranges.
CoveringRanges ranges_of(const KeySet& set);

}  // namespace entitable
