// A quick upper bound of entity_size(), so that the exact size, which counts UTF-16 units, is only
// worked out near a limit. Internal to core/txn.
#pragma once

#include <cstddef>
#include <span>

#include "core/model/entity.h"

namespace entitable {

// At least the size of the entity: a unit takes at least one byte of WTF-8, and no value without
// bytes of its own takes more than 8.
inline std::size_t entity_size_bound(const KeyView& key, std::span<const PropertyView> properties) {
  constexpr std::size_t property_overhead = 8;
  constexpr std::size_t fixed_value_max = 8;
  std::size_t bound = 4 + 2 * (key.partition.size() + key.row.size());
  for (const PropertyView& property : properties) {
    bound += property_overhead + 2 * property.name.size() + fixed_value_max +
             2 * property.value.bytes().size();
  }
  return bound;
}

}  // namespace entitable
