#include "core/log/row_codec.h"

#include <cstddef>
#include <cstring>

#include "core/base/check.h"
#include "core/base/utf8.h"
#include "core/log/field_codec.h"
#include "core/model/limits.h"

namespace entitable {
namespace {

// ---- Writing: one bound of the size, then plain stores ------------------------------------------

constexpr std::size_t varint_bytes_max = 10;
constexpr std::size_t guid_bytes = 16;

std::size_t value_room(const ValueView& value) {
  return varint_bytes_max + value.bytes().size();
}

template <typename Integer>
char* put_integer(char* at, Integer value) {
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    at[i] = static_cast<char>(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  return at + sizeof(Integer);
}

char* put_raw(char* at, std::string_view bytes) {
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  return at + bytes.size();
}

char* put_bytes(char* at, std::string_view bytes) {
  std::size_t length = bytes.size();
  for (; length >= 0x80; length >>= 7) *at++ = static_cast<char>(length | 0x80);
  *at++ = static_cast<char>(length);
  return put_raw(at, bytes);
}

char* put_value(char* at, const ValueView& value) {
  switch (value.type()) {
    case EdmType::string:
    case EdmType::binary:
      return put_bytes(at, value.bytes());
    case EdmType::boolean:
      *at = value.boolean() ? 1 : 0;
      return at + 1;
    case EdmType::date_time:
    case EdmType::float64:
    case EdmType::int64:
      return put_integer(at, static_cast<std::uint64_t>(value.bits()));
    case EdmType::guid:
      ENTITABLE_CHECK(value.guid_bytes().size() == guid_bytes);
      return put_raw(at, value.guid_bytes());
    case EdmType::int32:
      return put_integer(at, static_cast<std::uint32_t>(value.int32()));
  }
  check_failed("a value has a type", __FILE__, __LINE__);
}

// ---- Reading -----------------------------------------------------------------------------------

// The value, of which `reader` knows whether it was there. Null, or why it is bad.
const char* read_value(ByteReader& reader, EdmType type, ValueView& value) {
  switch (type) {
    case EdmType::string:
      value = ValueView::of_string(reader.bytes());
      if (!is_text(value.string())) return "a String is no text";
      return check_value(value, {}).ok() ? nullptr : "a String is too long";
    case EdmType::binary:
      value = ValueView::of_binary(reader.bytes());
      return check_value(value, {}).ok() ? nullptr : "a Binary is too long";
    case EdmType::boolean: {
      const std::uint8_t byte = reader.u8();
      value = ValueView::of_boolean(byte != 0);
      return byte <= 1 ? nullptr : "a Boolean is neither true nor false";
    }
    case EdmType::date_time:
      value = ValueView::of_date_time(static_cast<Ticks>(reader.u64()));
      if (!reader.ok() || check_value(value, {}).ok()) return nullptr;
      return "a DateTime is out of range";
    case EdmType::float64:
    case EdmType::int64:
      value = ValueView::from_parts(type, static_cast<std::int64_t>(reader.u64()), {});
      return nullptr;
    case EdmType::guid:
      value = ValueView::of_guid(reader.raw(guid_bytes));
      return nullptr;
    case EdmType::int32:
      value = ValueView::of_int32(static_cast<std::int32_t>(reader.u32()));
      return nullptr;
  }
  check_failed("a property has a type", __FILE__, __LINE__);
}

std::size_t text_bytes(const ValueView& value) {
  return value.type() == EdmType::string   ? 2 * utf16_units(value.string())
         : value.type() == EdmType::binary ? value.binary().size()
                                           : 0;
}

// `bytes_bound`: the size if every byte of a text were one unit. Counting units is needed only for
// rows near the limit.
bool is_too_large(std::size_t bytes_bound, std::size_t shape_bytes, const KeyView& key,
                  const std::vector<RowProperty>& properties) {
  if (bytes_bound <= limits::entity_bytes_max) return false;
  std::size_t bytes = 4 + 2 * (utf16_units(key.partition) + utf16_units(key.row)) + shape_bytes;
  for (const RowProperty& property : properties) bytes += text_bytes(property.value);
  return bytes > limits::entity_bytes_max;
}

}  // namespace

void append_values(std::span<const RowProperty> properties, std::string& out) {
  std::size_t room = 0;
  for (const RowProperty& property : properties) {
    room += property.value.type() == EdmType::guid ? guid_bytes : value_room(property.value);
  }
  const std::size_t start = out.size();
  out.resize(start + room);
  char* at = out.data() + start;
  for (const RowProperty& property : properties) at = put_value(at, property.value);
  out.resize(static_cast<std::size_t>(at - out.data()));
}

const char* read_values(ByteReader& reader, const LoggedShape& shape, const KeyView& key,
                        std::vector<RowProperty>& out) {
  out.clear();
  std::size_t bytes_bound = 4 + 2 * (key.partition.size() + key.row.size()) + shape.entity_bytes;
  for (const ShapeProperty& property : shape.properties) {
    ValueView value = ValueView::of_boolean(false);
    if (const char* bad = read_value(reader, property.type, value)) return bad;
    if (property.type == EdmType::string || property.type == EdmType::binary) {
      bytes_bound += 2 * value.bytes().size();
    }
    out.push_back({property.name, value});
  }
  if (!reader.ok()) return field_cut_short;
  return is_too_large(bytes_bound, shape.entity_bytes, key, out) ? "the row is too large" : nullptr;
}

std::vector<Property> owned(std::span<const RowProperty> properties) {
  std::vector<Property> copies;
  copies.reserve(properties.size());
  for (const RowProperty& property : properties) {
    copies.push_back({std::string(property.name), Value(property.value)});
  }
  return copies;
}

}  // namespace entitable
