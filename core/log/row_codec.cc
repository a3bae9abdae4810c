#include "core/log/row_codec.h"

#include <cstddef>
#include <cstring>

#include "core/base/check.h"
#include "core/base/utf8.h"
#include "core/log/field_codec.h"
#include "core/model/limits.h"

namespace entitable {
namespace {

// ---- Writing: reserve the maximum size, then write with plain stores ----------------------------

constexpr std::size_t guid_bytes = 16;

std::size_t text_bytes_max(const ValueView& value) {
  return varint_bytes_max + value.bytes().size();
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

// ---- Reading: by pointer, because it takes most of the time of opening a store ------------------

struct ByteCursor {
  const char* at;
  const char* end;

  // Returns null if there are not `size` bytes left.
  const char* take(std::size_t size) {
    if (static_cast<std::size_t>(end - at) < size) return nullptr;
    const char* from = at;
    at += size;
    return from;
  }
  // Reads a length and that many bytes. Returns false if they are truncated or malformed.
  bool take_bytes(std::string_view& bytes) {
    if (at != end && static_cast<std::uint8_t>(*at) < 0x80) {
      const std::size_t size = static_cast<std::uint8_t>(*at++);
      const char* from = take(size);
      if (from == nullptr) return false;
      bytes = {from, size};
      return true;
    }
    ByteReader reader(std::string_view(at, static_cast<std::size_t>(end - at)));
    bytes = reader.bytes();
    at = end - reader.remaining();
    return reader.ok();
  }
};

template <typename Integer>
Integer load(const char* from) {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    value |= static_cast<Integer>(static_cast<std::uint8_t>(from[i])) << (8 * i);
  }
  return value;
}

const char* read_text(ByteCursor& cursor, EdmType type, ValueView& value) {
  std::string_view bytes;
  if (!cursor.take_bytes(bytes)) return field_truncated;
  value = type == EdmType::string ? ValueView::of_string(bytes) : ValueView::of_binary(bytes);
  if (type == EdmType::string && !is_valid_text(bytes)) return "a String is not valid text";
  // A UTF-16 unit takes at least one byte, so short byte strings cannot exceed the limit.
  if (bytes.size() <= limits::string_units_max || check_value(value, {}).ok()) return nullptr;
  return type == EdmType::string ? "a String is too long" : "a Binary is too long";
}

// Returns null, or why the value is bad.
const char* read_value(ByteCursor& cursor, EdmType type, ValueView& value) {
  const char* from = nullptr;
  switch (type) {
    case EdmType::string:
    case EdmType::binary:
      return read_text(cursor, type, value);
    case EdmType::boolean:
      if ((from = cursor.take(1)) == nullptr) return field_truncated;
      value = ValueView::of_boolean(*from != 0);
      return *from == 0 || *from == 1 ? nullptr : "a Boolean is neither true nor false";
    case EdmType::date_time:
      if ((from = cursor.take(8)) == nullptr) return field_truncated;
      value = ValueView::of_date_time(static_cast<Ticks>(load<std::uint64_t>(from)));
      return is_date_time_in_range(value.date_time()) ? nullptr : "a DateTime is out of range";
    case EdmType::float64:
      if ((from = cursor.take(8)) == nullptr) return field_truncated;
      value = ValueView::from_parts(type, static_cast<std::int64_t>(load<std::uint64_t>(from)), {});
      return nullptr;
    case EdmType::int64:
      if ((from = cursor.take(8)) == nullptr) return field_truncated;
      value = ValueView::of_int64(static_cast<std::int64_t>(load<std::uint64_t>(from)));
      return nullptr;
    case EdmType::guid:
      if ((from = cursor.take(guid_bytes)) == nullptr) return field_truncated;
      value = ValueView::of_guid({from, guid_bytes});
      return nullptr;
    case EdmType::int32:
      if ((from = cursor.take(4)) == nullptr) return field_truncated;
      value = ValueView::of_int32(static_cast<std::int32_t>(load<std::uint32_t>(from)));
      return nullptr;
  }
  check_failed("a property has a type", __FILE__, __LINE__);
}

bool has_text(EdmType type) {
  return type == EdmType::string || type == EdmType::binary;
}

std::size_t text_bytes(const ValueView& value) {
  return value.type() == EdmType::string   ? 2 * utf16_length(value.string())
         : value.type() == EdmType::binary ? value.binary().size()
                                           : 0;
}

// Returns whether the row exceeds entity_bytes_max. `bytes_bound` is an upper bound of the row's
// size, in which each byte of text counts as one UTF-16 unit. The exact size is only computed if
// this bound exceeds the limit.
bool is_too_large(std::size_t bytes_bound, std::size_t shape_bytes, const KeyView& key,
                  std::span<const PropertyView> properties) {
  if (bytes_bound <= limits::entity_bytes_max) return false;
  std::size_t bytes = 4 + 2 * (utf16_length(key.partition) + utf16_length(key.row)) + shape_bytes;
  for (const PropertyView& property : properties) bytes += text_bytes(property.value);
  return bytes > limits::entity_bytes_max;
}

}  // namespace

std::size_t values_bytes_max(std::span<const PropertyView> properties) {
  std::size_t bytes = 0;
  for (const PropertyView& property : properties) {
    bytes += property.value.type() == EdmType::guid ? guid_bytes : text_bytes_max(property.value);
  }
  return bytes;
}

char* put_values(char* at, std::span<const PropertyView> properties) {
  for (const PropertyView& property : properties) at = put_value(at, property.value);
  return at;
}

void append_values(std::span<const PropertyView> properties, std::string& out) {
  append_and_overwrite(out, values_bytes_max(properties),
                       [&](char* at) { return put_values(at, properties); });
}

const char* read_values(ByteReader& reader, const DecodedShape& shape, const KeyView& key,
                        std::span<PropertyView> out) {
  ENTITABLE_DCHECK(out.size() == shape.properties.size());
  if (!reader.ok()) return field_truncated;
  ByteReader ahead = reader;
  const std::string_view rest = ahead.raw(reader.remaining());
  ByteCursor cursor{rest.data(), rest.data() + rest.size()};
  std::size_t bytes_bound = 4 + 2 * (key.partition.size() + key.row.size()) + shape.entity_size;
  // Values are written directly into `out`, because copying them would take longer than reading
  // them.
  PropertyView* place = out.data();
  for (const ShapeProperty& property : shape.properties) {
    place->name = property.name;
    if (const char* bad = read_value(cursor, property.type, place->value)) return bad;
    if (has_text(property.type)) bytes_bound += 2 * place->value.bytes().size();
    ++place;
  }
  reader.raw(rest.size() - static_cast<std::size_t>(cursor.end - cursor.at));
  return is_too_large(bytes_bound, shape.entity_size, key, out) ? "the row is too large" : nullptr;
}

}  // namespace entitable
