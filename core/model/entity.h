// An entity: key, properties, timestamp. The owning form, used at the edges and in the log;
// the index keeps packed rows instead.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/key.h"
#include "core/model/value.h"

namespace entitable {

struct Property {
  std::string name;
  Value value;
  friend bool operator==(const Property&, const Property&) = default;
};

// A property whose name and value are owned elsewhere.
struct PropertyView {
  std::string_view name;
  ValueView value;
  friend bool operator==(const PropertyView&, const PropertyView&) = default;
};

std::vector<PropertyView> property_views(const std::vector<Property>& properties);
std::vector<Property> owned_properties(std::span<const PropertyView> properties);

// Whether both have the same names in the same order. Quick where they come of one table of names.
bool same_names(std::span<const PropertyView> a, std::span<const PropertyView> b);
// The same with types.
bool same_names_and_types(std::span<const PropertyView> a, std::span<const PropertyView> b);

struct Entity {
  EntityKey key;
  Ticks timestamp = 0;               // 0: not stored yet
  std::vector<Property> properties;  // custom properties, in no particular order, names unique

  const Property* find(std::string_view name) const;
  friend bool operator==(const Entity&, const Entity&) = default;
};

// The size of the entity as the service bills it, in bytes:
//   4 + 2*(units(PK) + units(RK)) + sum over custom properties of 8 + 2*units(name) + value
//   value: String 4 + 2*units, Binary 4 + bytes, DateTime, Int64 and Double 8, Guid 16, Int32 4,
//   Boolean 1
std::size_t entity_size(const KeyView& key, std::span<const PropertyView> properties);
std::size_t entity_size(const Entity& entity);
std::size_t value_size(const ValueView& value);

// What a write may store, checked in this order: names (property_name.h), no duplicates
// (DuplicatePropertiesSpecified), at most 252 (TooManyProperties), each value within its limits.
// Does not look at the key or the total size. The doors take the system properties out before: one
// that is still here would hide the real one, so it is PropertyNameInvalid.
Result<void> check_properties(std::span<const PropertyView> properties);
Result<void> check_properties(const std::vector<Property>& properties);
// The last of it, for properties whose names have been checked already.
Result<void> check_values(std::span<const PropertyView> properties);

// What is stored, checked in this order: key (key.h), properties as above, total size
// (EntityTooLarge).
Result<void> check_entity(const Entity& entity);

// Merge: properties of `update` are set (the type may change), all others of `base` are kept.
// What is new stands at the end. REQUIRES: unique names in each. Replace needs no function: it is
// the update itself.
void merge_into(std::vector<PropertyView>& base, std::span<const PropertyView> update);

}  // namespace entitable
