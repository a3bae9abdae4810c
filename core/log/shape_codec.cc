#include "core/log/shape_codec.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/base/utf8.h"
#include "core/log/field_codec.h"
#include "core/model/limits.h"
#include "core/model/property_name.h"

namespace entitable {
namespace {

constexpr std::size_t property_bytes_min = 3;  // type, length, one character

// Returns value_size() of a value of this type, without the content of a String or Binary.
std::size_t value_bytes_without_text(EdmType type) {
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
  return 0;
}

const char* check_name(std::string_view name) {
  if (!is_wtf8(name)) return "the name of a property is not valid text";
  if (is_system_property(name) || !check_property_name(name).ok()) {
    return "the name of a property is not allowed";
  }
  return nullptr;
}

bool has_duplicates(const std::vector<ShapeProperty>& properties,
                    std::vector<std::string_view>& names) {
  names.clear();
  for (const ShapeProperty& property : properties) names.push_back(property.name);
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

// Writes a definition to reserved memory and returns the end of what it wrote. This must be fast,
// because every commit of one row contains a definition. Calls on_name(i, at) with the position of
// each property name.
template <typename OnName>
char* put_definition_with(char* at, std::span<const PropertyView> properties, OnName on_name) {
  at = put_varint(at, properties.size());
  for (std::size_t i = 0; i < properties.size(); ++i) {
    const auto& [name, value] = properties[i];
    *at++ = static_cast<char>(value.type());
    at = put_varint(at, name.size());
    on_name(i, at);
    std::memcpy(at, name.data(), name.size());
    at += name.size();
  }
  return at;
}

}  // namespace

std::size_t definition_bytes_max(std::span<const PropertyView> properties) {
  constexpr std::size_t length_bytes_max = 3;  // length of a name, which has at most 765 bytes
  std::size_t bytes = length_bytes_max;
  for (const PropertyView& property : properties) {
    bytes += 1 + length_bytes_max + property.name.size();
  }
  return bytes;
}

char* put_definition(char* at, std::span<const PropertyView> properties) {
  return put_definition_with(at, properties, [](std::size_t, const char*) {});
}

void append_definition(std::span<const PropertyView> properties, std::string& out) {
  append_and_overwrite(out, definition_bytes_max(properties),
                       [&](char* at) { return put_definition(at, properties); });
}

ShapeNumbers::Numbered ShapeNumbers::number_of(std::string_view definition) {
  if (count_ == 0) {
    first_ = definition;
    return {++count_, true};
  }
  if (definition == first_) return {1, false};
  scratch_ = definition;
  const auto [at, is_new] = others_.try_emplace(scratch_, count_ + 1);
  if (is_new) ++count_;
  return {at->second, is_new};
}

bool RowShapeNumbers::is_last(std::span<const PropertyView> properties) const {
  if (last_number_ == 0 || properties.size() != last_.size()) return false;
  for (std::size_t i = 0; i < properties.size(); ++i) {
    const Member& member = last_[i];
    const std::string_view name(definition_.data() + member.name_at, member.name_bytes);
    if (properties[i].value.type() != member.type || !same_text(properties[i].name, name)) {
      return false;
    }
  }
  return true;
}

ShapeNumbers::Numbered RowShapeNumbers::number_of(std::span<const PropertyView> properties) {
  if (is_last(properties)) return {last_number_, false};
  define(properties);
  const ShapeNumbers::Numbered shape = numbers_.number_of(definition_);
  last_number_ = shape.number;
  return shape;
}

void RowShapeNumbers::define(std::span<const PropertyView> properties) {
  definition_.clear();
  last_.resize(properties.size());
  append_and_overwrite(definition_, definition_bytes_max(properties), [&](char* at) {
    return put_definition_with(at, properties, [&](std::size_t i, const char* name) {
      const auto name_at = static_cast<std::size_t>(name - definition_.data());
      last_[i] = {name_at, properties[i].name.size(), properties[i].value.type()};
    });
  });
}

const char* ShapeDictionary::read_definition(ByteReader& reader) {
  const std::size_t count = reader.count(property_bytes_min);
  if (!reader.ok()) return "the shape of a row is truncated";
  if (count > limits::custom_properties_max) return "a shape has too many properties";
  DecodedShape shape;
  shape.properties.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<EdmType> type = edm_from_number(reader.u8());
    const std::string_view name = reader.bytes();
    if (!reader.ok()) return "the shape of a row is truncated";
    if (!type) return "a property has an unknown type";
    if (const char* bad = check_name(name)) return bad;
    shape.properties.push_back({name, *type});
    shape.entity_size += 8 + 2 * utf16_length(name) + value_bytes_without_text(*type);
  }
  if (has_duplicates(shape.properties, names_)) return "a shape has a property twice";
  shapes_.push_back(std::move(shape));
  return nullptr;
}

const char* ShapeDictionary::read_shape(ByteReader& reader, std::uint64_t& number) {
  number = reader.varint();
  if (!reader.ok()) return "the shape of a row is truncated";
  if (number > shapes_.size()) return "a row has an undefined shape";
  if (number > 0) return nullptr;
  number = shapes_.size() + 1;
  return read_definition(reader);
}

}  // namespace entitable
