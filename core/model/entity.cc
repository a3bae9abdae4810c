#include "core/model/entity.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/model/limits.h"
#include "core/model/property_name.h"

namespace entitable {
namespace {

std::vector<const Property*> sorted_by_name(const std::vector<Property>& properties) {
  std::vector<const Property*> sorted;
  sorted.reserve(properties.size());
  for (const Property& property : properties) sorted.push_back(&property);
  std::sort(sorted.begin(), sorted.end(),
            [](const Property* a, const Property* b) { return a->name < b->name; });
  return sorted;
}

// Where `name` is or would be among properties sorted by name.
std::size_t place_of(const std::vector<const Property*>& sorted, std::string_view name) {
  const auto place = std::lower_bound(
      sorted.begin(), sorted.end(), name,
      [](const Property* property, std::string_view n) { return property->name < n; });
  return static_cast<std::size_t>(place - sorted.begin());
}

bool has_duplicates(const std::vector<Property>& properties) {
  const std::vector<const Property*> sorted = sorted_by_name(properties);
  const auto same = [](const Property* a, const Property* b) { return a->name == b->name; };
  return std::adjacent_find(sorted.begin(), sorted.end(), same) != sorted.end();
}

}  // namespace

const Property* Entity::find(std::string_view name) const {
  for (const Property& property : properties) {
    if (property.name == name) return &property;
  }
  return nullptr;
}

std::size_t value_bytes(const ValueView& value) {
  switch (value.type()) {
    case EdmType::string:
      return 4 + 2 * utf16_units(value.string());
    case EdmType::binary:
      return 4 + value.binary().size();
    case EdmType::date_time:
    case EdmType::int64:
    case EdmType::float64:
      return 8;
    case EdmType::guid:
      return 16;
    case EdmType::int32:
      return 4;
    case EdmType::boolean:
      return 1;
  }
  ENTITABLE_CHECK(false);
}

std::size_t entity_bytes(const Entity& entity) {
  std::size_t bytes = 4 + 2 * (utf16_units(entity.key.partition) + utf16_units(entity.key.row));
  for (const Property& property : entity.properties) {
    bytes += 8 + 2 * utf16_units(property.name) + value_bytes(property.value.view());
  }
  return bytes;
}

Result<void> check_properties(const std::vector<Property>& properties) {
  for (const Property& property : properties) {
    if (is_system_property(property.name)) return Error(Code::property_name_invalid);
    if (Result<void> name = check_property_name(property.name); !name.ok()) return name;
  }
  if (has_duplicates(properties)) return Error(Code::duplicate_properties);
  if (properties.size() > limits::custom_properties_max) return Error(Code::too_many_properties);
  for (const Property& property : properties) {
    if (Result<void> value = check_value(property.value.view(), property.name); !value.ok()) {
      return value;
    }
  }
  return {};
}

Result<void> check_entity(const Entity& entity) {
  if (Result<void> key = check_key(entity.key.view()); !key.ok()) return key;
  if (Result<void> properties = check_properties(entity.properties); !properties.ok()) {
    return properties;
  }
  if (entity_bytes(entity) > limits::entity_bytes_max) return Error(Code::entity_too_large);
  return {};
}

std::vector<Property> merge(const std::vector<Property>& base,
                            const std::vector<Property>& update) {
  std::vector<const Property*> updates = sorted_by_name(update);
  std::vector<bool> used(updates.size());
  std::vector<Property> merged;
  merged.reserve(base.size() + update.size());
  for (const Property& property : base) {
    const std::size_t place = place_of(updates, property.name);
    const bool updated = place < updates.size() && updates[place]->name == property.name;
    if (updated) used[place] = true;
    merged.push_back(updated ? *updates[place] : property);
  }
  for (const Property& property : update) {
    if (!used[place_of(updates, property.name)]) merged.push_back(property);
  }
  return merged;
}

}  // namespace entitable
