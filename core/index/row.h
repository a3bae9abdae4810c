// One packed row under its shape.
//
// A row's bytes, little-endian, unaligned; offsets count from its *base*, so the key, which comes
// first, has negative ones, and every slot of a shape is a constant:
//
//   -k    k      row key
//    0    i64    timestamp, ticks
//    8    u16    shape id
//   10    u16    k, bytes of the row key
//   12    u32    end of the row
//   16    u32 ×  String and Binary columns, in canonical order: start of the text
//    .    8 ×    DateTime, Double, Int64 columns, in canonical order
//    .    16 ×   Guid columns
//    .    4 ×    Int32 columns
//    .    1 ×    Boolean columns
//    f           texts, the last column's first, to the end of the row          (f =
//    Shape::fixed_bytes)
//
// A text ends where the one before it in canonical order starts, the first one at the end of the
// row: both bounds are the u32 in the column's slot and the one just below it. Example {a: Int32 7,
// b: String "xy", c: String "z"}, RowKey "r1", under columns a, b, c:
//
//   -2 "r1" | 0 timestamp | 8 shape | 10 u16 2 | 12 u32 31 | 16 u32 29 (b) | 20 u32 28 (c) | 24 i32
//   7 (a) | 28 "z" "xy"
//
// A row of the generic shape has one hidden text at slot 16, its property list, sorted by name
// (bytes):
//
//   list      u16 count, property ×
//   property  u8 Edm type, u16 bytes of the name, u32 bytes of the value, name, value
//   value     String, Binary, Guid: their bytes; DateTime, Double, Int64: 8; Int32: 4; Boolean: 1
//
// Partition keys are not in the row: a leaf keeps each once.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/index/shape.h"
#include "core/model/entity.h"

namespace entitable {

namespace row_layout {

inline constexpr std::uint32_t timestamp_at = 0;
inline constexpr std::uint32_t shape_at = 8;
inline constexpr std::uint32_t key_bytes_at = 10;
inline constexpr std::uint32_t end_at = 12;
inline constexpr std::uint32_t columns_at = 16;

static_assert(shapes_max < 0xFFFF, "a row keeps its shape id in two bytes");

template <typename T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// Of a row given by its base.
inline std::uint32_t key_bytes(const char* base) {
  return load<std::uint16_t>(base + key_bytes_at);
}
inline std::string_view key(const char* base) {
  const std::uint32_t bytes = key_bytes(base);
  return {base - bytes, bytes};
}
inline std::uint32_t end(const char* base) {
  return load<std::uint32_t>(base + end_at);
}
inline std::uint32_t packed_bytes(const char* base) {
  return key_bytes(base) + end(base);
}
inline std::string_view packed(const char* base) {
  return {base - key_bytes(base), packed_bytes(base)};
}
inline ShapeId shape_id(const char* base) {
  return load<std::uint16_t>(base + shape_at);
}
inline std::string_view text(const char* base, std::uint32_t slot) {
  const std::uint32_t start = load<std::uint32_t>(base + slot);
  return {base + start, load<std::uint32_t>(base + slot - 4) - start};
}

}  // namespace row_layout

// Replaces `out` by the packed row; its base is out.data() + row_key.size(). `interned` is what the
// schema said of `properties`. REQUIRES: the row is storable (check_entity).
void pack_row(const Schema::Interned& interned, std::string_view row_key, Ticks timestamp,
              std::span<const PropertyView> properties, std::string& out);

// A row inside a leaf: three pointers, cheap to copy. Valid as long as a copy of the index that it
// came from (TableIndex, Cursor) is held, and that very copy is not changed.
class RowView {
 public:
  RowView(const char* base, const Shape& shape, std::string_view partition)
      : base_(base), shape_(&shape), partition_(partition) {}

  const Shape& shape() const { return *shape_; }
  std::string_view partition() const { return partition_; }
  std::string_view row() const { return row_layout::key(base_); }
  KeyView key() const { return {partition_, row()}; }
  Ticks timestamp() const { return row_layout::load<Ticks>(base_ + row_layout::timestamp_at); }

  // The value of shape().columns()[column]. REQUIRES: !shape().is_generic().
  ValueView value(std::uint32_t column) const { return value(shape_->columns()[column]); }
  // REQUIRES: `column` is one of shape().columns().
  ValueView value(const Column& column) const;

  // For code bound to a shape, without looking at the column again. REQUIRES: a column of this slot
  // and type: T is std::int64_t (DateTime, Int64), double, std::int32_t or std::uint8_t (Boolean).
  template <typename T>
  T fixed(std::uint32_t slot) const {
    return row_layout::load<T>(base_ + slot);
  }
  std::string_view guid(std::uint32_t slot) const { return {base_ + slot, 16}; }
  std::string_view text(std::uint32_t slot) const { return row_layout::text(base_, slot); }

  // By name, on any shape; the three system properties are not looked up here.
  std::optional<ValueView> find(std::string_view name) const;
  // Calls visit(name, value) for every custom property, canonical order (generic shape: order of
  // names by bytes).
  template <typename Visit>
  void for_each_property(Visit visit) const;
  Entity materialize() const;
  std::size_t packed_bytes() const { return row_layout::packed_bytes(base_); }

 private:
  const char* base_;
  const Shape* shape_;
  std::string_view partition_;
};

// Reads the property list of a generic row.
class GenericProperties {
 public:
  explicit GenericProperties(std::string_view list)
      : at_(list.data() + 2), left_(row_layout::load<std::uint16_t>(list.data())) {}
  bool done() const { return left_ == 0; }
  PropertyView next();  // REQUIRES: !done()

 private:
  const char* at_;
  std::uint32_t left_;
};

// ---- Inline
// ----------------------------------------------------------------------------------------------------

inline ValueView RowView::value(const Column& column) const {
  switch (column.type) {
    case EdmType::string:
      return ValueView::of_string(text(column.slot));
    case EdmType::binary:
      return ValueView::of_binary(text(column.slot));
    case EdmType::boolean:
      return ValueView::of_boolean(fixed<std::uint8_t>(column.slot) != 0);
    case EdmType::date_time:
      return ValueView::of_date_time(fixed<std::int64_t>(column.slot));
    case EdmType::float64:
      return ValueView::of_double(fixed<double>(column.slot));
    case EdmType::guid:
      return ValueView::of_guid(guid(column.slot));
    case EdmType::int32:
      return ValueView::of_int32(fixed<std::int32_t>(column.slot));
    case EdmType::int64:
      return ValueView::of_int64(fixed<std::int64_t>(column.slot));
  }
  check_failed("a column has a type", __FILE__, __LINE__);
}

template <typename Visit>
void RowView::for_each_property(Visit visit) const {
  if (shape_->is_generic()) {
    for (GenericProperties list(text(row_layout::columns_at)); !list.done();) {
      const PropertyView property = list.next();
      visit(property.name, property.value);
    }
    return;
  }
  for (const Column& column : shape_->columns()) visit(column.name, value(column));
}

}  // namespace entitable
