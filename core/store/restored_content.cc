#include "core/store/restored_content.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/store/memory_limit.h"

namespace entitable {

void RestoredContent::add_part(ListedPart part) {
  if (!parts_.empty()) {
    ListedPart& before = parts_.rbegin()->second;
    if (before.table == part.table) before.range.upper = part.range.lower;
  }
  parts_.emplace(part.part.id, std::move(part));
}

Result<void> RestoredContent::load_part(PartId id, std::optional<std::string_view> bytes) {
  const ListedPart& listed = parts_.at(id);
  TableIndex& index = catalog_.mutable_table(listed.table)->index;
  if (!index.any_key_in_unloaded_part(id, listed.range).has_value()) return {};
  return load_stored_part(listed, bytes, {&index}, damage_);
}

void RestoredContent::unload_above(std::uint64_t bytes) {
  if (pending_) return;
  const std::uint64_t memory = memory_of(catalog_);
  baseline_ = std::min(baseline_, memory);
  if (memory - baseline_ <= bytes) return;
  unload_unused_parts_first({&catalog_}, std::numeric_limits<std::uint64_t>::max());
  baseline_ = memory_of(catalog_);
}

}  // namespace entitable
