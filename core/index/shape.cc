#include "core/index/shape.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/base/check.h"
#include "core/base/utf8.h"
#include "core/index/row_layout.h"

namespace entitable {

namespace {

// Returns the bytes that a column takes in the fixed part of a row.
std::uint32_t slot_bytes(EdmType type) {
  switch (type) {
    case EdmType::string:
    case EdmType::binary:
    case EdmType::int32:
      return 4;
    case EdmType::date_time:
    case EdmType::float64:
    case EdmType::int64:
      return 8;
    case EdmType::guid:
      return 16;
    case EdmType::boolean:
      return 1;
  }
  check_failed("a column has a type", __FILE__, __LINE__);
}

// Returns the group of a column in the order of slots: texts, 8-byte types, Guid, Int32, Boolean.
std::uint32_t slot_group(EdmType type) {
  if (type == EdmType::string || type == EdmType::binary) return 0;
  const std::uint32_t bytes = slot_bytes(type);
  return bytes == 8 ? 1 : bytes == 16 ? 2 : bytes == 4 ? 3 : 4;
}

// Assigns a slot to every column; returns the bytes before the first text.
std::uint32_t assign_slots(std::vector<Column>& columns) {
  std::uint32_t at = row_layout::columns_at;
  for (std::uint32_t group = 0; group <= 4; ++group) {
    for (Column& column : columns) {
      if (slot_group(column.type) != group) continue;
      column.slot = at;
      at += slot_bytes(column.type);
    }
  }
  return at;
}

template <typename T>
void make_room(std::vector<T>& list) {  // for one more element
  if (list.size() == list.capacity()) list.reserve(std::max<std::size_t>(4, 2 * list.size()));
}

}  // namespace

std::optional<std::uint32_t> Shape::find(std::string_view name) const {
  if (buckets_.empty()) return std::nullopt;
  const std::size_t mask = buckets_.size() - 1;
  for (std::size_t i = std::hash<std::string_view>()(name) & mask;; i = (i + 1) & mask) {
    const std::uint32_t entry = buckets_[i];
    if (entry == 0) return std::nullopt;
    if (same_text(columns_[entry - 1].name, name)) return entry - 1;
  }
}

Schema::Schema() {
  auto generic = std::make_unique<Shape>(*this);
  generic->fixed_bytes_ = row_layout::columns_at + 4;  // one hidden text, the property list
  shapes_.push_back(generic.get());
  own_shapes_.push_back(std::move(generic));
}

Schema::Schema(const Ref<Schema>& base)
    : base_(base),
      lookup_base_(base.get()),
      layers_(base->layers_ + 1),
      name_count_(base->name_count_),
      columns_total_(base->columns_total_),
      memory_(base->memory_),
      hints_issued_(base->hints_issued_) {
  shapes_.reserve(base->shapes_.size() + 4);
  shapes_ = base->shapes_;  // assignment keeps the reserved capacity
  if (layers_ <= layers_max) return;
  for (const Schema* layer = lookup_base_; layer != nullptr; layer = layer->lookup_base_) {
    name_ids_.insert(layer->name_ids_.begin(), layer->name_ids_.end());
    shape_ids_.insert(layer->shape_ids_.begin(), layer->shape_ids_.end());
  }
  lookup_base_ = nullptr;
  layers_ = 1;
}

// Destroys the layers in a loop. Recursion could overflow the stack, because there may be many.
Schema::~Schema() {
  Ref<Schema> base = std::move(base_);
  while (base.unique()) {
    Ref<Schema> next = std::move(base->base_);
    base = std::move(next);
  }
}

std::size_t Schema::cache_index(std::span<const PropertyView> properties) const {
  std::size_t spread = properties.size();
  for (const PropertyView& property : properties) spread += property.name.size();
  return spread % shape_cache_.size();
}

ShapeHint Schema::find_hint(std::span<const PropertyView> properties) const {
  const CachedShape& cached = shape_cache_[cache_index(properties)];
  return cached.shape != nullptr && matches(cached, properties) ? cached.id : 0;
}

std::string* Schema::encoded_definition(ShapeHint shape_hint) const {
  const CachedShape& cached = shape_cache_[shape_hint % shape_cache_.size()];
  return shape_hint != 0 && cached.id == shape_hint ? &cached.encoded_definition : nullptr;
}

Schema::Interned Schema::intern(std::span<const PropertyView> properties, ShapeHint shape_hint) {
  if (shape_hint != 0) {
    const CachedShape& cached = shape_cache_[shape_hint % shape_cache_.size()];
    if (cached.id == shape_hint) {
      ENTITABLE_DCHECK(matches(cached, properties));
      last_cached_ = &cached;
      return {cached.shape, cached.order};
    }
  }
  const std::size_t at = cache_index(properties);
  CachedShape& cached = shape_cache_[at];
  if (cached.shape == nullptr || !matches(cached, properties)) {
    cached.shape = nullptr;  // stays null if memory runs out below
    cached.id = 0;
    cached.encoded_definition.clear();
    const Shape& shape = find_or_add(properties);
    cached.order.resize(properties.size());
    if (shape.is_generic()) {
      std::iota(cached.order.begin(), cached.order.end(), std::uint16_t{0});
      std::sort(cached.order.begin(), cached.order.end(), [&](std::uint16_t a, std::uint16_t b) {
        return properties[a].name < properties[b].name;
      });
    } else {
      std::transform(members_.begin(), members_.end(), cached.order.begin(),
                     [](const Member& member) { return member.position; });
    }
    store_property_list(properties, cached);
    cached.shape = &shape;
    // The id modulo the cache size is the index in the cache.
    cached.id = ++hints_issued_ * shape_cache_.size() + at;
  }
  last_cached_ = &cached;
  return {cached.shape, cached.order};
}

const Shape& Schema::intern(const std::vector<Property>& properties) {
  std::vector<PropertyView>& views = scratch_.properties;
  views.clear();
  for (const Property& property : properties) {
    views.push_back({property.name, property.value.view()});
  }
  return *intern(std::span<const PropertyView>(views)).shape;
}

bool Schema::interns_without_growth(std::span<const PropertyView> properties) {
  if (find_hint(properties) != 0) return true;
  return !has_room(properties.size()) || find(properties, false) != nullptr;
}

bool Schema::matches(const CachedShape& cached, std::span<const PropertyView> properties) {
  if (cached.shape->is_generic() || cached.property_list.size() != properties.size()) return false;
  if (properties.empty()) return true;
  const char* const start = properties.front().name.data();
  const char* next = start;
  const CachedShape::ListedProperty* property_list = cached.property_list.data();
  for (const auto& [name, value] : properties) {
    if (name.data() != next) return matches_columns(cached, properties);
    if (property_list->type != value.type() || property_list->name_bytes != name.size())
      return false;
    next += property_list++->name_bytes;
  }
  return same_text(cached.names, {start, cached.names.size()});
}

bool Schema::matches_columns(const CachedShape& cached, std::span<const PropertyView> properties) {
  const std::vector<Column>& columns = cached.shape->columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const PropertyView& property = properties[cached.order[i]];
    if (columns[i].type != property.value.type() || !same_text(columns[i].name, property.name)) {
      return false;
    }
  }
  return true;
}

void Schema::store_property_list(std::span<const PropertyView> properties, CachedShape& cached) {
  cached.property_list.clear();
  cached.names.clear();
  for (const PropertyView& property : properties) {
    cached.property_list.push_back(
        {property.value.type(), static_cast<std::uint32_t>(property.name.size())});
    cached.names.append(property.name);
  }
}

bool Schema::has_room(std::size_t more_columns) const {
  return shapes_.size() <= shapes_max && columns_total_ + more_columns <= shape_columns_max;
}

const Shape& Schema::find_or_add(std::span<const PropertyView> properties) {
  const bool room = has_room(properties.size());
  if (const Shape* known = find(properties, room)) return *known;
  return room ? add_shape() : shape(generic_shape_id);
}

// Returns the shape, or null if it is unknown. Leaves the sorted set in members_ and its key in
// shape_key_, unless a name is new and may not be added.
const Shape* Schema::find(std::span<const PropertyView> properties, bool may_add) {
  members_.clear();
  for (std::size_t i = 0; i < properties.size(); ++i) {
    if (!add_member(properties[i], static_cast<std::uint16_t>(i), may_add)) return nullptr;
  }
  std::sort(members_.begin(), members_.end(),
            [](const Member& a, const Member& b) { return a.id < b.id; });

  shape_key_.clear();
  for (const Member& member : members_) {
    const std::uint32_t code = member.id << 4 | static_cast<std::uint32_t>(member.type);
    shape_key_.append(reinterpret_cast<const char*>(&code), sizeof(code));
  }
  const ShapeId* known = find_shape_id();
  return known == nullptr ? nullptr : &shape(*known);
}

const ShapeId* Schema::find_shape_id() const {
  for (const Schema* layer = this; layer != nullptr; layer = layer->lookup_base_) {
    const auto known = layer->shape_ids_.find(shape_key_);
    if (known != layer->shape_ids_.end()) return &known->second;
  }
  return nullptr;
}

bool Schema::add_member(const PropertyView& property, std::uint16_t position, bool may_add) {
  const EdmType type = property.value.type();
  for (const Schema* layer = this; layer != nullptr; layer = layer->lookup_base_) {
    const auto known = layer->name_ids_.find(property.name);
    if (known == layer->name_ids_.end()) continue;
    members_.push_back({known->second, known->first, type, position});
    return true;
  }
  if (!may_add) return false;
  const std::string& name = names_.emplace_front(property.name);
  name_ids_.emplace(name, name_count_);
  members_.push_back({name_count_++, name, type, position});
  memory_ += name.size() + sizeof(std::string) + 4 * sizeof(void*);
  return true;
}

// Adds a shape for members_ and shape_key_.
const Shape& Schema::add_shape() {
  auto added = std::make_unique<Shape>(*this);
  added->id_ = static_cast<ShapeId>(shapes_.size());
  added->columns_.reserve(members_.size());
  for (const Member& member : members_) {
    ENTITABLE_DCHECK(added->columns_.empty() || added->columns_.back().name != member.name);
    added->columns_.push_back({member.name, member.type, 0});
  }
  added->fixed_bytes_ = assign_slots(added->columns_);

  std::size_t buckets = 4;
  while (buckets < 2 * members_.size()) buckets *= 2;
  added->buckets_.assign(buckets, 0);
  for (std::size_t c = 0; c < added->columns_.size(); ++c) {
    std::size_t i = std::hash<std::string_view>()(added->columns_[c].name) & (buckets - 1);
    while (added->buckets_[i] != 0) i = (i + 1) & (buckets - 1);
    added->buckets_[i] = static_cast<std::uint16_t>(c + 1);
  }

  make_room(shapes_);
  make_room(own_shapes_);
  shape_ids_.emplace(shape_key_, added->id_);
  shapes_.push_back(added.get());  // has capacity, so no allocation can fail halfway
  own_shapes_.push_back(std::move(added));
  columns_total_ += members_.size();
  memory_ += sizeof(Shape) + members_.size() * (sizeof(Column) + 4) + buckets * 2 + 64;
  return *shapes_.back();
}

std::size_t Schema::memory_bytes() const {
  return sizeof(Schema) + memory_ + scratch_.row.capacity() +
         scratch_.properties.capacity() * sizeof(PropertyView);
}

}  // namespace entitable
