#include "core/index/shape.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/base/check.h"
#include "core/base/utf8.h"
#include "core/index/row_layout.h"

namespace entitable {

namespace {

// Bytes of a column before the texts.
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

// Where a column stands among the slots of a row: texts, 8-byte kinds, Guid, Int32, Boolean.
std::uint32_t slot_group(EdmType type) {
  if (type == EdmType::string || type == EdmType::binary) return 0;
  const std::uint32_t bytes = slot_bytes(type);
  return bytes == 8 ? 1 : bytes == 16 ? 2 : bytes == 4 ? 3 : 4;
}

// Gives every column its slot; returns the bytes before the first text.
std::uint32_t lay_out(std::vector<Column>& columns) {
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
  shapes_.push_back(std::move(generic));
}

std::size_t Schema::hint_of(std::span<const PropertyView> properties) const {
  std::size_t spread = properties.size();
  for (const PropertyView& property : properties) spread += property.name.size();
  return spread % hints_.size();
}

Schema::Interned Schema::intern(std::span<const PropertyView> properties) {
  Hint& hint = hints_[hint_of(properties)];
  if (hint.shape == nullptr || !fits(hint, properties)) {
    hint.shape = nullptr;  // in case memory runs out half way
    const Shape& shape = find_or_add(properties);
    hint.order.resize(properties.size());
    if (shape.is_generic()) {
      std::iota(hint.order.begin(), hint.order.end(), std::uint16_t{0});
      std::sort(hint.order.begin(), hint.order.end(), [&](std::uint16_t a, std::uint16_t b) {
        return properties[a].name < properties[b].name;
      });
    } else {
      std::transform(members_.begin(), members_.end(), hint.order.begin(),
                     [](const Member& member) { return member.position; });
    }
    hint.shape = &shape;
  }
  return {hint.shape, hint.order};
}

const Shape& Schema::intern(const std::vector<Property>& properties) {
  std::vector<PropertyView>& views = scratch_.properties;
  views.clear();
  for (const Property& property : properties) {
    views.push_back({property.name, property.value.view()});
  }
  return *intern(std::span<const PropertyView>(views)).shape;
}

bool Schema::fits(const Hint& hint, std::span<const PropertyView> properties) {
  const std::vector<Column>& columns = hint.shape->columns();
  if (hint.shape->is_generic() || columns.size() != properties.size()) return false;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const PropertyView& property = properties[hint.order[i]];
    if (columns[i].type != property.value.type() || !same_text(columns[i].name, property.name)) {
      return false;
    }
  }
  return true;
}

// Leaves the set in members_, unless the answer is the generic shape.
const Shape& Schema::find_or_add(std::span<const PropertyView> properties) {
  const bool room =
      shapes_.size() <= shapes_max && columns_total_ + properties.size() <= shape_columns_max;
  members_.clear();
  for (std::size_t i = 0; i < properties.size(); ++i) {
    const std::optional<NameId> name = name_id(properties[i].name, room);
    if (!name) return shape(generic_shape_id);
    members_.push_back({*name, properties[i].value.type(), static_cast<std::uint16_t>(i)});
  }
  std::sort(members_.begin(), members_.end(),
            [](const Member& a, const Member& b) { return a.name < b.name; });

  set_.clear();
  for (const Member& member : members_) {
    const std::uint32_t code = member.name << 4 | static_cast<std::uint32_t>(member.type);
    set_.append(reinterpret_cast<const char*>(&code), sizeof(code));
  }
  const auto known = shape_ids_.find(set_);
  if (known != shape_ids_.end()) return shape(known->second);
  return room ? add_shape() : shape(generic_shape_id);
}

std::optional<Schema::NameId> Schema::name_id(std::string_view name, bool may_add) {
  const auto known = name_ids_.find(name);
  if (known != name_ids_.end()) return known->second;
  if (!may_add) return std::nullopt;
  const auto id = static_cast<NameId>(names_.size());
  names_.emplace_back(name);
  name_ids_.emplace(names_.back(), id);
  memory_ += name.size() + sizeof(std::string) + 4 * sizeof(void*);
  return id;
}

// The shape of members_ and set_.
const Shape& Schema::add_shape() {
  auto added = std::make_unique<Shape>(*this);
  added->id_ = static_cast<ShapeId>(shapes_.size());
  added->columns_.reserve(members_.size());
  for (const Member& member : members_) {
    ENTITABLE_DCHECK(added->columns_.empty() || added->columns_.back().name != names_[member.name]);
    added->columns_.push_back({names_[member.name], member.type, 0});
  }
  added->fixed_bytes_ = lay_out(added->columns_);

  std::size_t buckets = 4;
  while (buckets < 2 * members_.size()) buckets *= 2;
  added->buckets_.assign(buckets, 0);
  for (std::size_t c = 0; c < added->columns_.size(); ++c) {
    std::size_t i = std::hash<std::string_view>()(added->columns_[c].name) & (buckets - 1);
    while (added->buckets_[i] != 0) i = (i + 1) & (buckets - 1);
    added->buckets_[i] = static_cast<std::uint16_t>(c + 1);
  }

  if (shapes_.size() == shapes_.capacity()) shapes_.reserve(2 * shapes_.size());
  shape_ids_.emplace(set_, added->id_);
  shapes_.push_back(std::move(added));  // has room, so both know it or neither
  columns_total_ += members_.size();
  memory_ += sizeof(Shape) + members_.size() * (sizeof(Column) + 4) + buckets * 2 + 64;
  return *shapes_.back();
}

std::size_t Schema::memory_bytes() const {
  return sizeof(Schema) + memory_ + scratch_.row.capacity() +
         scratch_.properties.capacity() * sizeof(PropertyView);
}

}  // namespace entitable
