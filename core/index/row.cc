#include "core/index/row.h"

#include "core/base/check.h"

namespace entitable {

namespace {

template <typename T>
void store(char* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

bool is_text(EdmType type) {
  return type == EdmType::string || type == EdmType::binary;
}

// Returns the bytes of a value in the property list of a generic row.
std::size_t listed_bytes(const ValueView& value) {
  switch (value.type()) {
    case EdmType::string:
    case EdmType::binary:
    case EdmType::guid:
      return value.bytes().size();
    case EdmType::date_time:
    case EdmType::float64:
    case EdmType::int64:
      return 8;
    case EdmType::int32:
      return 4;
    case EdmType::boolean:
      return 1;
  }
  check_failed("a value has a type", __FILE__, __LINE__);
}

// Stores a value other than a String or Binary.
void store_fixed(char* to, const ValueView& value) {
  switch (value.type()) {
    case EdmType::date_time:
    case EdmType::float64:
    case EdmType::int64:
      return store(to, value.bits());
    case EdmType::guid:
      std::memcpy(to, value.bytes().data(), 16);
      return;
    case EdmType::int32:
      return store(to, value.int32());
    case EdmType::boolean:
      return store(to, static_cast<std::uint8_t>(value.boolean()));
    case EdmType::string:
    case EdmType::binary:
      break;
  }
  check_failed("a fixed value", __FILE__, __LINE__);
}

std::size_t texts_bytes(const Schema::Interned& interned,
                        std::span<const PropertyView> properties) {
  std::size_t bytes = 0;
  if (interned.shape->is_generic()) {
    bytes = 2;
    for (const PropertyView& property : properties) {
      bytes += 7 + property.name.size() + listed_bytes(property.value);
    }
    return bytes;
  }
  for (const PropertyView& property : properties) {
    if (is_text(property.value.type())) bytes += property.value.bytes().size();
  }
  return bytes;
}

void store_columns(char* base, std::uint32_t end, const Schema::Interned& interned,
                   std::span<const PropertyView> properties) {
  const std::vector<Column>& columns = interned.shape->columns();
  std::uint32_t text_end = end;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ValueView& value = properties[interned.order[i]].value;
    char* const slot = base + columns[i].slot;
    if (!is_text(value.type())) {
      store_fixed(slot, value);
      continue;
    }
    const std::string_view text = value.bytes();
    text_end -= static_cast<std::uint32_t>(text.size());
    store(slot, text_end);
    if (!text.empty()) std::memcpy(base + text_end, text.data(), text.size());
  }
}

void store_list(char* at, const Schema::Interned& interned,
                std::span<const PropertyView> properties) {
  store(at, static_cast<std::uint16_t>(properties.size()));
  at += 2;
  for (const std::uint16_t position : interned.order) {
    const PropertyView& property = properties[position];
    const std::size_t value_bytes = listed_bytes(property.value);
    store(at, static_cast<std::uint8_t>(property.value.type()));
    store(at + 1, static_cast<std::uint16_t>(property.name.size()));
    store(at + 3, static_cast<std::uint32_t>(value_bytes));
    at += 7;
    std::memcpy(at, property.name.data(), property.name.size());
    at += property.name.size();
    if (is_text(property.value.type())) {
      if (value_bytes != 0) std::memcpy(at, property.value.bytes().data(), value_bytes);
    } else {
      store_fixed(at, property.value);
    }
    at += value_bytes;
  }
}

}  // namespace

void pack_row(const Schema::Interned& interned, std::string_view row_key, Ticks timestamp,
              std::span<const PropertyView> properties, std::string& out) {
  const std::uint32_t fixed = interned.shape->fixed_bytes();
  const auto end = static_cast<std::uint32_t>(fixed + texts_bytes(interned, properties));
  out.resize(row_key.size() + end);
  if (!row_key.empty()) std::memcpy(out.data(), row_key.data(), row_key.size());
  char* const base = out.data() + row_key.size();
  store(base + row_layout::timestamp_at, timestamp);
  store(base + row_layout::shape_at, static_cast<std::uint16_t>(interned.shape->id()));
  store(base + row_layout::key_bytes_at, static_cast<std::uint16_t>(row_key.size()));
  store(base + row_layout::end_at, end);
  if (interned.shape->is_generic()) {
    store(base + row_layout::columns_at, fixed);
    store_list(base + fixed, interned, properties);
  } else {
    store_columns(base, end, interned, properties);
  }
}

PropertyView GenericPropertyReader::next() {
  ENTITABLE_DCHECK(!done());
  const auto type = static_cast<EdmType>(*at_);
  const std::uint32_t name_bytes = row_layout::load<std::uint16_t>(at_ + 1);
  const std::uint32_t value_bytes = row_layout::load<std::uint32_t>(at_ + 3);
  const std::string_view name(at_ + 7, name_bytes);
  const char* const value = name.data() + name_bytes;
  at_ = value + value_bytes;
  --left_;
  switch (type) {
    case EdmType::string:
    case EdmType::binary:
    case EdmType::guid:
      return {name, ValueView::from_parts(type, 0, {value, value_bytes})};
    case EdmType::date_time:
    case EdmType::float64:
    case EdmType::int64:
      return {name, ValueView::from_parts(type, row_layout::load<std::int64_t>(value), {})};
    case EdmType::int32:
      return {name, ValueView::of_int32(row_layout::load<std::int32_t>(value))};
    case EdmType::boolean:
      return {name, ValueView::of_boolean(*value != 0)};
  }
  check_failed("a listed property has a type", __FILE__, __LINE__);
}

std::optional<ValueView> RowView::find(std::string_view name) const {
  if (!shape_->is_generic()) {
    const std::optional<std::uint32_t> column = shape_->find(name);
    if (!column) return std::nullopt;
    return value(*column);
  }
  for (GenericPropertyReader list(text(row_layout::columns_at)); !list.done();) {
    const PropertyView property = list.next();
    if (property.name == name) return property.value;
  }
  return std::nullopt;
}

Entity RowView::materialize() const {
  Entity entity;
  entity.key = EntityKey(partition_, row_key());
  entity.timestamp = timestamp();
  entity.properties.reserve(shape_->columns().size());
  for_each_property([&entity](std::string_view name, const ValueView& value) {
    entity.properties.push_back({std::string(name), Value(value)});
  });
  return entity;
}

}  // namespace entitable
