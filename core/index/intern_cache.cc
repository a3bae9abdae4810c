#include "core/index/intern_cache.h"

#include "core/base/utf8.h"

namespace entitable {

const InternCache::Entry* InternCache::find(std::span<const PropertyView> properties) const {
  const Entry& entry = entries_[position_of(properties)];
  return entry.shape != nullptr && entry.matches(properties) ? &entry : nullptr;
}

InternCache::Entry& InternCache::evict(std::span<const PropertyView> properties) {
  Entry& entry = entries_[position_of(properties)];
  entry.shape = nullptr;
  entry.hint = 0;
  entry.encoded_definition.clear();
  return entry;
}

void InternCache::fill(Entry& entry, std::span<const PropertyView> properties, const Shape& shape) {
  entry.property_list.clear();
  entry.names.clear();
  for (const PropertyView& property : properties) {
    entry.property_list.push_back(
        {property.value.type(), static_cast<std::uint32_t>(property.name.size())});
    entry.names.append(property.name);
  }
  entry.shape = &shape;
  // The hint modulo the number of entries is the entry's position.
  entry.hint =
      ++hints_issued_ * entries_.size() + static_cast<std::size_t>(&entry - entries_.data());
}

std::size_t InternCache::position_of(std::span<const PropertyView> properties) const {
  std::size_t spread = properties.size();
  for (const PropertyView& property : properties) spread += property.name.size();
  return spread % entries_.size();
}

bool InternCache::Entry::matches(std::span<const PropertyView> properties) const {
  if (shape->is_generic() || property_list.size() != properties.size()) return false;
  if (properties.empty()) return true;
  const char* const start = properties.front().name.data();
  const char* next = start;
  const ListedProperty* listed = property_list.data();
  for (const auto& [name, value] : properties) {
    if (name.data() != next) return matches_columns(properties);
    if (listed->type != value.type() || listed->name_bytes != name.size()) return false;
    next += listed++->name_bytes;
  }
  return same_text(names, {start, names.size()});
}

bool InternCache::Entry::matches_columns(std::span<const PropertyView> properties) const {
  const std::vector<Column>& columns = shape->columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const PropertyView& property = properties[order[i]];
    if (columns[i].type != property.value.type() || !same_text(columns[i].name, property.name)) {
      return false;
    }
  }
  return true;
}

}  // namespace entitable
