// The values of one row, whose names and types its shape has.
//
//   values  = value*                             one per property of the shape
//   value   = bytes | u8 | u32 | u64 | raw[16]   String, Binary | Boolean | Int32 |
//                                                DateTime, Double, Int64 | Guid
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/log/shape_codec.h"
#include "core/model/key.h"

namespace entitable {

// Appends the values in the order of `properties`.
void append_values(std::span<const PropertyView> properties, std::string& out);
// The same by plain stores, where there is room for what they take at most.
std::size_t values_bytes_max(std::span<const PropertyView> properties);
char* put_values(char* at, std::span<const PropertyView> properties);

// Fills `out` with the row's properties, which look into the bytes being read. All values are
// within their limits, and the row with this key is at most entity_bytes_max. Null, or why the
// bytes are bad. REQUIRES: `out` is as long as the shape.
const char* read_values(ByteReader& reader, const DecodedShape& shape, const KeyView& key,
                        std::span<PropertyView> out);

}  // namespace entitable
