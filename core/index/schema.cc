#include "core/index/schema.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/check.h"

namespace entitable {

namespace {

template <typename T>
void reserve_one_more(std::vector<T>& list) {
  if (list.size() == list.capacity()) list.reserve(std::max<std::size_t>(4, 2 * list.size()));
}

}  // namespace

Schema::Schema() {
  auto generic = std::make_unique<Shape>(*this);
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
      cache_(base->cache_.hints_issued()) {
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

Schema::Interned Schema::intern(std::span<const PropertyView> properties, ShapeHint shape_hint) {
  const InternCache::Entry* entry = cache_.find(shape_hint);
  ENTITABLE_DCHECK(entry == nullptr || entry->matches(properties));
  if (entry == nullptr) entry = cache_.find(properties);
  if (entry == nullptr) entry = &intern_uncached(properties);
  last_ = entry;
  return {entry->shape, entry->order};
}

// If memory runs out, the cache entry stays empty.
const InternCache::Entry& Schema::intern_uncached(std::span<const PropertyView> properties) {
  InternCache::Entry& entry = cache_.evict(properties);
  const Shape& shape = find_or_add(properties);
  entry.order.resize(properties.size());
  if (shape.is_generic()) {
    std::iota(entry.order.begin(), entry.order.end(), std::uint16_t{0});
    std::sort(entry.order.begin(), entry.order.end(), [&](std::uint16_t a, std::uint16_t b) {
      return properties[a].name < properties[b].name;
    });
  } else {
    std::transform(members_.begin(), members_.end(), entry.order.begin(),
                   [](const Member& member) { return member.position; });
  }
  cache_.fill(entry, properties, shape);
  return entry;
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
  if (shape_hint_of(properties) != 0) return true;
  return !can_add_shape(properties.size()) || find(properties, false) != nullptr;
}

bool Schema::can_add_shape(std::size_t columns) const {
  return shapes_.size() <= shapes_max && columns_total_ + columns <= shape_columns_max;
}

const Shape& Schema::find_or_add(std::span<const PropertyView> properties) {
  const bool may_add = can_add_shape(properties.size());
  if (const Shape* known = find(properties, may_add)) return *known;
  return may_add ? add_shape() : shape(generic_shape_id);
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
  std::vector<Column> columns;
  columns.reserve(members_.size());
  for (const Member& member : members_) {
    ENTITABLE_DCHECK(columns.empty() || columns.back().name != member.name);
    columns.push_back({member.name, member.type, 0});
  }
  auto added =
      std::make_unique<Shape>(*this, static_cast<ShapeId>(shapes_.size()), std::move(columns));

  reserve_one_more(shapes_);
  reserve_one_more(own_shapes_);
  shape_ids_.emplace(shape_key_, added->id());
  shapes_.push_back(added.get());  // has capacity, so no allocation can fail halfway
  own_shapes_.push_back(std::move(added));
  columns_total_ += members_.size();
  memory_ += shapes_.back()->memory_bytes() + members_.size() * 4 + 64;
  return *shapes_.back();
}

std::size_t Schema::memory_bytes() const {
  return sizeof(Schema) + memory_ + scratch_.row.capacity() +
         scratch_.properties.capacity() * sizeof(PropertyView);
}

}  // namespace entitable
