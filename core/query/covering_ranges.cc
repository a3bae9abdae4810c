#include "core/query/covering_ranges.h"

#include <utility>

namespace entitable {
namespace {

// Returns the range from the segment's first row in its first partition to its last row in its last
// partition. The range holds more keys than the segment unless the segment has all rows of its
// partitions.
KeyRange range_over_partitions(const PartitionInterval& segment) {
  const KeyInterval& partitions = segment.partitions;
  KeyRange range;
  range.lower = EntityKey(partitions.lower.smallest_key_above(),
                          segment.rows.front().lower.smallest_key_above());
  if (partitions.upper.is_end()) return range;
  const KeyBound& last_row = segment.rows.back().upper;
  range.upper = partitions.upper.is_after() && !last_row.is_end()
                    ? EntityKey(partitions.upper.text(), last_row.smallest_key_above())
                    : EntityKey(partitions.upper.smallest_key_above(), "");
  return range;
}

void append(std::vector<KeyRange>& ranges, KeyRange range) {
  if (!ranges.empty() && ranges.back().upper == range.lower) {
    ranges.back().upper = std::move(range.upper);
  } else {
    ranges.push_back(std::move(range));
  }
}

bool has_all_rows(const PartitionInterval& segment) {
  return segment.rows.size() == 1 && segment.rows.front() == KeyInterval::all();
}

}  // namespace

KeyRange range_in_partition(std::string_view partition, const KeyInterval& rows) {
  KeyRange range;
  range.lower = EntityKey(partition, rows.lower.smallest_key_above());
  range.upper = rows.upper.is_end() ? EntityKey(successor(partition), "")
                                    : EntityKey(partition, rows.upper.smallest_key_above());
  return range;
}

CoveringRanges covering_ranges_of(const KeySet& set) {
  CoveringRanges covering;
  for (const PartitionInterval& segment : set) {
    if (segment.partitions.is_single()) {
      for (const KeyInterval& rows : segment.rows) {
        append(covering.ranges, range_in_partition(segment.partitions.upper.text(), rows));
      }
    } else {
      append(covering.ranges, range_over_partitions(segment));
      covering.exact = covering.exact && has_all_rows(segment);
    }
  }
  return covering;
}

}  // namespace entitable
