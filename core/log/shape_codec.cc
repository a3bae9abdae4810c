#include "core/log/shape_codec.h"

#include <algorithm>
#include <optional>

#include "core/base/utf8.h"
#include "core/model/limits.h"
#include "core/model/property_name.h"

namespace entitable {
namespace {

constexpr std::size_t property_bytes_min = 3;  // type, length, one character

void write_definition(std::span<const PropertyView> properties, std::string& out) {
  ByteWriter writer(out);
  writer.varint(properties.size());
  for (const PropertyView& property : properties) {
    writer.u8(static_cast<std::uint8_t>(property.value.type()));
    writer.bytes(property.name);
  }
}

// What value_bytes counts apart from the text of a String and the bytes of a Binary.
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
  if (!is_wtf8(name)) return "the name of a property is no text";
  if (is_system_property(name) || !check_property_name(name).ok()) {
    return "the name of a property is not allowed";
  }
  return nullptr;
}

bool has_twins(const std::vector<ShapeProperty>& properties, std::vector<std::string_view>& names) {
  names.clear();
  for (const ShapeProperty& property : properties) names.push_back(property.name);
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

}  // namespace

std::pair<ShapeNumbers::Map::const_iterator, bool> ShapeNumbers::find_or_add(
    const std::string& definition) {
  return numbers_.try_emplace(definition, static_cast<std::uint32_t>(numbers_.size() + 1));
}

ShapeNumbers::Numbered ShapeNumbers::number_of(std::string_view definition) {
  scratch_ = definition;
  const auto [at, is_new] = find_or_add(scratch_);
  return {at->second, is_new};
}

bool RowShapes::is_last(std::span<const PropertyView> properties) const {
  if (last_number_ == 0 || properties.size() != last_.size()) return false;
  for (std::size_t i = 0; i < properties.size(); ++i) {
    if (properties[i].value.type() != last_[i].type || properties[i].name != last_[i].name) {
      return false;
    }
  }
  return true;
}

ShapeNumbers::Numbered RowShapes::number_of(std::span<const PropertyView> properties) {
  if (is_last(properties)) return {last_number_, false};
  scratch_.clear();
  write_definition(properties, scratch_);
  const auto [at, is_new] = numbers_.find_or_add(scratch_);
  last_number_ = at->second;
  definition_ = at->first;
  // Names are taken from the definition, which stays; those of the row do not.
  last_.clear();
  ByteReader reader(definition_);
  for (std::uint64_t left = reader.varint(); left > 0; --left) {
    const EdmType type = *edm_from_number(reader.u8());
    last_.push_back({reader.bytes(), type});
  }
  return {last_number_, is_new};
}

const char* ShapeDictionary::read_definition(ByteReader& reader) {
  const std::size_t count = reader.count(property_bytes_min);
  if (!reader.ok()) return "the shape of a row is cut short";
  if (count > limits::custom_properties_max) return "a shape has too many properties";
  LoggedShape shape;
  shape.properties.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<EdmType> type = edm_from_number(reader.u8());
    const std::string_view name = reader.bytes();
    if (!reader.ok()) return "the shape of a row is cut short";
    if (!type) return "a property has an unknown type";
    if (const char* bad = check_name(name)) return bad;
    shape.properties.push_back({name, *type});
    shape.entity_bytes += 8 + 2 * utf16_units(name) + value_bytes_without_text(*type);
  }
  if (has_twins(shape.properties, names_)) return "a shape has a property twice";
  shapes_.push_back(std::move(shape));
  return nullptr;
}

const char* ShapeDictionary::read(ByteReader& reader, std::uint64_t& number) {
  number = reader.varint();
  if (!reader.ok()) return "the shape of a row is cut short";
  if (number > shapes_.size()) return "a row has a shape that is not there";
  if (number > 0) return nullptr;
  number = shapes_.size() + 1;
  return read_definition(reader);
}

}  // namespace entitable
