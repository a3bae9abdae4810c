#include "core/query/partition_keys.h"

#include "core/index/cursor.h"

namespace entitable {

std::variant<PartitionKeys, PartsNeeded> list_partition_keys(const TableIndex& index,
                                                             std::string_view from,
                                                             std::uint32_t top) {
  PartitionKeys page;
  if (top == 0) return page;
  Cursor cursor(index, KeyRange{EntityKey(from, ""), std::nullopt});
  while (cursor.valid() && page.keys.size() < top) {
    page.keys.emplace_back(cursor.row().partition());
    cursor.seek(EntityKey(successor(page.keys.back()), "").view());
  }
  if (cursor.at_end()) return page;
  if (page.keys.empty()) return PartsNeeded{{cursor.part_needed()}};
  page.next = cursor.position().partition;
  return page;
}

}  // namespace entitable
