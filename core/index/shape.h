// A shape: property names and types that rows of a table share, stored once.
//
// A shape is a *set* of (property name, Edm type), interned by a Schema (schema.h). A row stores
// only values, at offsets that its shape knows. A $filter is bound once per shape, and a page is
// decoded shape by shape.
//
// Invariants: a Shape never changes and never moves.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/model/edm.h"

namespace entitable {

using ShapeId = std::uint32_t;

inline constexpr ShapeId generic_shape_id = 0;

struct Column {
  std::string_view name;  // lives as long as the Schema
  EdmType type;
  std::uint32_t slot;  // offset of the value from the base of the row (row_layout.h)
};

class Schema;

class Shape {
 public:
  // Creates the generic shape.
  explicit Shape(const Schema& schema);
  // `columns` are in canonical order; the constructor assigns their slots.
  Shape(const Schema& schema, ShapeId id, std::vector<Column> columns);
  ShapeId id() const { return id_; }
  // The schema that interned it. Schemas on top of that schema use the same Shape.
  const Schema& schema() const { return *schema_; }
  // In canonical order (schema.h). Empty for the generic shape.
  const std::vector<Column>& columns() const { return columns_; }
  bool is_generic() const { return id_ == generic_shape_id; }
  // Returns the position of the property in columns(), or nothing.
  std::optional<std::uint32_t> find(std::string_view name) const;
  // Bytes of a row from its base to its first text (row_layout.h).
  std::uint32_t fixed_bytes() const { return fixed_bytes_; }
  std::size_t memory_bytes() const;  // estimated

 private:
  const Schema* schema_;
  ShapeId id_;
  std::uint32_t fixed_bytes_;
  std::vector<Column> columns_;
  std::vector<std::uint16_t> buckets_;  // hash table by name, open addressing: position + 1, or 0
};

}  // namespace entitable
