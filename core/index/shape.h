// Shapes: what rows of a table have in common, stored once.
//
// A shape is the interned *set* of (property name, Edm type), in the canonical order of the table's property
// dictionary (the order in which names were first seen), so that the order of writing never makes a new shape.
// Names and types are kept once per shape; a row keeps only values, at offsets the shape knows. A $filter is
// bound once per shape; a page is decoded shape by shape.
//
// The number of shapes per table is bounded (shapes_max). Rows that come after it use the generic
// shape, whose rows carry their own list of properties; they are slower and larger but never wrong.
//
// Invariants: shapes and the dictionary only grow; a Shape never changes and never moves; ids are dense from 0.
// A shape interned by a write that is then discarded stays: harmless, and bounded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/refcounted.h"
#include "core/model/entity.h"

namespace entitable {

using ShapeId = std::uint32_t;

struct Column {
  std::string name;
  EdmType type;
  std::uint32_t slot;  // where the row keeps it; row.h says how
};

// The bound on shapes of one table, the generic one not counted.
inline constexpr std::size_t shapes_max = 2048;

class Shape {
 public:
  ShapeId id() const { return id_; }
  // Canonical order. Empty and is_generic() for the generic shape.
  const std::vector<Column>& columns() const { return columns_; }
  bool is_generic() const { return generic_; }
  // Position in columns(), or nothing.
  std::optional<std::uint32_t> find(std::string_view name) const;
  std::uint32_t fixed_bytes() const { return fixed_bytes_; }

 private:
  friend class Schema;
  ShapeId id_ = 0;
  bool generic_ = false;
  std::uint32_t fixed_bytes_ = 0;
  std::vector<Column> columns_;
};

// The property dictionary and the shapes of one table; shared by all versions of it.
class Schema : public RefCounted<Schema> {
 public:
  Schema();
  // The shape of an entity's properties: an existing one, a new one, or the generic one when the table has
  // shapes_max already. Independent of the order of `properties`.
  const Shape& intern(const std::vector<Property>& properties);
  const Shape& shape(ShapeId id) const;
  std::size_t shape_count() const;

 private:
  // dictionary, shapes, and the look-up from a set of (name, type) to its shape
};

}  // namespace entitable
