// Lists the partition keys of a table. Reads the first row of each partition and seeks past the
// others (a skip scan).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/query/query.h"

namespace entitable {

struct PartitionKeys {
  std::vector<std::string> keys;    // ascending
  std::optional<std::string> next;  // the first key that the next page may return
};

// Returns the keys of the partitions that have rows, at or after `from`, at most `top` of them. The
// page ends early where the next partition is not in memory, with `next`; if that is the first one,
// returns PartsNeeded.
std::variant<PartitionKeys, PartsNeeded> list_partition_keys(const TableIndex& index,
                                                             std::string_view from,
                                                             std::uint32_t top);

}  // namespace entitable
