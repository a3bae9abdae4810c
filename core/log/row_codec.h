// Encodes and decodes the values of one row. The names and types are in the row's shape
// (shape_codec.h).
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
// A faster form of append_values(), which writes to memory that the caller has reserved.
// values_bytes_max() returns the number of bytes to reserve; put_values() returns the end of what
// it wrote.
std::size_t values_bytes_max(std::span<const PropertyView> properties);
char* put_values(char* at, std::span<const PropertyView> properties);

// Reads the values of a row and fills `out` with the row's properties, which refer to the bytes
// being read. Checks the limits of every value, and that the row with this key has at most
// entity_bytes_max bytes. Returns null, or why the bytes are bad. REQUIRES: out.size() is the
// number of properties of the shape.
const char* read_values(ByteReader& reader, const DecodedShape& shape, const KeyView& key,
                        std::span<PropertyView> out);

}  // namespace entitable
