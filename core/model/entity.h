// An entity: key, properties and timestamp. This form owns its data; it is used at the module
// boundaries and in the log. The index stores packed rows instead (core/index/row.h).
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

// Returns whether both lists have the same names in the same order. Fast if the names of both lists
// are at the same addresses.
bool same_names(std::span<const PropertyView> a, std::span<const PropertyView> b);
// Returns whether both lists have the same names with the same types, in the same order.
bool same_names_and_types(std::span<const PropertyView> a, std::span<const PropertyView> b);

struct Entity {
  EntityKey key;
  Ticks timestamp = 0;               // 0: not stored yet
  std::vector<Property> properties;  // custom properties, in any order, with unique names

  const Property* find_property(std::string_view name) const;
  friend bool operator==(const Entity&, const Entity&) = default;
};

// Returns the size of an entity as the service bills it, in bytes:
//   4 + 2*(units(PK) + units(RK)) + sum over custom properties of 8 + 2*units(name) + value
//   value: String 4 + 2*units, Binary 4 + bytes, DateTime, Int64 and Double 8, Guid 16, Int32 4,
//   Boolean 1
std::size_t entity_size(const KeyView& key, std::span<const PropertyView> properties);
std::size_t entity_size(const Entity& entity);
std::size_t value_size(const ValueView& value);

// Checks the properties of a write, in this order: names (property_name.h), no duplicates
// (DuplicatePropertiesSpecified), at most 252 (TooManyProperties), each value within its limits.
// Does not check the key or the total size. The names PartitionKey, RowKey and Timestamp are
// PropertyNameInvalid, because the entry points have already removed these system properties.
Result<void> check_properties(std::span<const PropertyView> properties);
Result<void> check_properties(const std::vector<Property>& properties);
// Checks only the values, for properties whose names are already checked.
Result<void> check_values(std::span<const PropertyView> properties);

// Checks an entity to be stored, in this order: key (key.h), properties as above, total size
// (EntityTooLarge).
Result<void> check_entity(const Entity& entity);

// Merges: sets the properties of `update` (the type may change) and keeps all others of `base`. New
// properties are appended. REQUIRES: names are unique in each list.
void merge_into(std::vector<PropertyView>& base, std::span<const PropertyView> update);

}  // namespace entitable
