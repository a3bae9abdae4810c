// A quick upper bound of entity_size(). The exact size counts UTF-16 units, so it is only computed
// near a limit. Internal to core/txn.
#pragma once

#include <cstddef>
#include <span>

#include "core/model/entity.h"

namespace entitable {

// Returns at least the size of the entity: each UTF-16 unit takes at least one byte of WTF-8, and
// no value of fixed size takes more than 8 bytes.
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
