// The byte layout of a packed row.
//
// Numbers are little-endian and unaligned. Offsets count from the *base* of the row. The row key
// comes before the base, at negative offsets, so every slot of a shape is a constant:
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
//    f           texts, the last column's first, to the end of the row
//                (f = Shape::fixed_bytes)
//
// The canonical order of columns is defined in shape.h. Texts are stored in reverse order: a text
// ends where the text of the column before it starts, and the first column's text ends at the end
// of the row. The u32 in a column's slot is therefore the start of its text, and the u32 just
// before that slot is the end. Example: {a: Int32 7, b: String "xy", c: String "z"}, RowKey "r1",
// columns a, b, c:
//
//   -2 "r1" | 0 timestamp | 8 shape | 10 u16 2 | 12 u32 31 | 16 u32 29 (b) | 20 u32 28 (c) |
//   24 i32 7 (a) | 28 "z" "xy"
//
// A row of the generic shape has one hidden text at slot 16: its property list, sorted by the bytes
// of the names:
//
//   list      u16 count, property ×
//   property  u8 Edm type, u16 bytes of the name, u32 bytes of the value, name, value
//   value     String, Binary, Guid: their bytes; DateTime, Double, Int64: 8; Int32: 4; Boolean: 1
//
// The partition key is not in the row: a leaf stores each partition key once.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace entitable {

namespace row_layout {

inline constexpr std::uint32_t timestamp_at = 0;
inline constexpr std::uint32_t shape_at = 8;
inline constexpr std::uint32_t key_bytes_at = 10;
inline constexpr std::uint32_t end_at = 12;
inline constexpr std::uint32_t columns_at = 16;

template <typename T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

// Accessors of a row, given its base.
inline std::uint32_t row_key_bytes(const char* base) {
  return load<std::uint16_t>(base + key_bytes_at);
}
inline std::string_view row_key(const char* base) {
  const std::uint32_t bytes = row_key_bytes(base);
  return {base - bytes, bytes};
}
inline std::uint32_t end(const char* base) {
  return load<std::uint32_t>(base + end_at);
}
inline std::uint32_t packed_bytes(const char* base) {
  return row_key_bytes(base) + end(base);
}
inline std::string_view packed(const char* base) {
  return {base - row_key_bytes(base), packed_bytes(base)};
}
inline std::uint32_t shape_id(const char* base) {
  return load<std::uint16_t>(base + shape_at);
}
inline std::string_view text(const char* base, std::uint32_t slot) {
  const std::uint32_t start = load<std::uint32_t>(base + slot);
  return {base + start, load<std::uint32_t>(base + slot - 4) - start};
}

}  // namespace row_layout

}  // namespace entitable
