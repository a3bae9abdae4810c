#include "core/model/entity.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/model/limits.h"
#include "core/model/property_name.h"

namespace entitable {
namespace {

// Up to this many names are compared in pairs. More names are sorted, because the number of pairs
// grows quadratically.
constexpr std::size_t compared_pairwise_max = 16;

bool has_duplicates(std::span<const PropertyView> properties) {
  if (properties.size() <= compared_pairwise_max) {
    for (std::size_t i = 1; i < properties.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (same_text(properties[i].name, properties[j].name)) return true;
      }
    }
    return false;
  }
  std::vector<std::string_view> names;
  names.reserve(properties.size());
  for (const PropertyView& property : properties) names.push_back(property.name);
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

}  // namespace

std::vector<PropertyView> property_views(const std::vector<Property>& properties) {
  std::vector<PropertyView> views;
  views.reserve(properties.size());
  for (const Property& property : properties) {
    views.push_back({property.name, property.value.view()});
  }
  return views;
}

std::vector<Property> owned_properties(std::span<const PropertyView> properties) {
  std::vector<Property> copies;
  copies.reserve(properties.size());
  for (const PropertyView& property : properties) {
    copies.push_back({std::string(property.name), Value(property.value)});
  }
  return copies;
}

bool same_names(std::span<const PropertyView> a, std::span<const PropertyView> b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const PropertyView& x, const PropertyView& y) { return same_text(x.name, y.name); });
}

bool same_names_and_types(std::span<const PropertyView> a, std::span<const PropertyView> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const PropertyView& x, const PropertyView& y) {
                      return x.value.type() == y.value.type() && same_text(x.name, y.name);
                    });
}

const Property* Entity::find_property(std::string_view name) const {
  for (const Property& property : properties) {
    if (property.name == name) return &property;
  }
  return nullptr;
}

std::size_t value_size(const ValueView& value) {
  switch (value.type()) {
    case EdmType::string:
      return 4 + 2 * utf16_length(value.string());
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

std::size_t entity_size(const KeyView& key, std::span<const PropertyView> properties) {
  std::size_t bytes = 4 + 2 * (utf16_length(key.partition) + utf16_length(key.row));
  for (const PropertyView& property : properties) {
    bytes += 8 + 2 * utf16_length(property.name) + value_size(property.value);
  }
  return bytes;
}

std::size_t entity_size(const Entity& entity) {
  return entity_size(entity.key.view(), property_views(entity.properties));
}

Result<void> check_properties(std::span<const PropertyView> properties) {
  for (const PropertyView& property : properties) {
    if (is_system_property(property.name)) return Error(ErrorCode::property_name_invalid);
    if (Result<void> name = check_property_name(property.name); !name.ok()) return name;
  }
  if (has_duplicates(properties)) return Error(ErrorCode::duplicate_properties);
  if (properties.size() > limits::custom_properties_max)
    return Error(ErrorCode::too_many_properties);
  return check_values(properties);
}

Result<void> check_properties(const std::vector<Property>& properties) {
  return check_properties(property_views(properties));
}

Result<void> check_values(std::span<const PropertyView> properties) {
  for (const PropertyView& property : properties) {
    if (is_trivially_valid(property.value)) continue;
    if (Result<void> value = check_value(property.value, property.name); !value.ok()) return value;
  }
  return {};
}

Result<void> check_entity(const Entity& entity) {
  if (Result<void> key = check_key(entity.key.view()); !key.ok()) return key;
  if (Result<void> properties = check_properties(entity.properties); !properties.ok()) {
    return properties;
  }
  if (entity_size(entity) > limits::entity_bytes_max) return Error(ErrorCode::entity_too_large);
  return {};
}

void merge_into(std::vector<PropertyView>& base, std::span<const PropertyView> update) {
  const auto kept = static_cast<std::ptrdiff_t>(base.size());
  for (const PropertyView& property : update) {
    const auto same = [&](const PropertyView& old) { return same_text(old.name, property.name); };
    const auto place = std::find_if(base.begin(), base.begin() + kept, same);
    if (place != base.begin() + kept) {
      *place = property;
    } else {
      base.push_back(property);
    }
  }
}

}  // namespace entitable
