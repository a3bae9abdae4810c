// Shapes: what rows of a table have in common, stored once.
//
// A shape is the interned *set* of (property name, Edm type), in the canonical order of the table's
// property dictionary (the order in which names were first seen), so that the order of writing
// never makes a new shape. Names and types are kept once per shape; a row keeps only values, at
// offsets the shape knows. A $filter is bound once per shape; a page is decoded shape by shape.
//
// The number of shapes per table is bounded (shapes_max, shape_columns_max). Rows that come after
// it use the generic shape, whose rows carry their own list of properties; they are slower and
// larger but never wrong.
//
// Invariants: shapes and the dictionary only grow; a Shape never changes and never moves; ids are
// dense from 0, and 0 is the generic shape. A shape interned by a write that is then discarded
// stays: harmless, and bounded.
//
// What was seen first decides the order of columns, which readers see. So versions that must not
// see anything of each other (forks) don't grow one dictionary: each goes on in one of its own,
// which begins with all that is in the other, under the same ids, and shares it.
#pragma once

#include <array>
#include <cstdint>
#include <forward_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/check.h"
#include "core/base/refcounted.h"
#include "core/model/commit.h"
#include "core/model/entity.h"

namespace entitable {

using ShapeId = std::uint32_t;

inline constexpr ShapeId generic_shape_id = 0;

struct Column {
  std::string_view name;  // lives as long as the Schema
  EdmType type;
  std::uint32_t slot;  // where the row keeps it; row.h says how
};

// The bounds of one table: shapes, the generic one not counted, and the sum of their columns.
inline constexpr std::size_t shapes_max = 2048;
inline constexpr std::size_t shape_columns_max = 131'072;

class Schema;

class Shape {
 public:
  explicit Shape(const Schema& schema) : schema_(&schema) {}
  ShapeId id() const { return id_; }
  // Where it was interned; later ones may have begun with it.
  const Schema& schema() const { return *schema_; }
  // Canonical order. Empty and is_generic() for the generic shape.
  const std::vector<Column>& columns() const { return columns_; }
  bool is_generic() const { return id_ == generic_shape_id; }
  // Position in columns(), or nothing.
  std::optional<std::uint32_t> find(std::string_view name) const;
  // Bytes of a row before its first text, counted from the row's base (row.h).
  std::uint32_t fixed_bytes() const { return fixed_bytes_; }

 private:
  friend class Schema;
  const Schema* schema_;
  ShapeId id_ = generic_shape_id;
  std::uint32_t fixed_bytes_ = 0;
  std::vector<Column> columns_;
  std::vector<std::uint16_t> buckets_;  // open addressing by name: position + 1, or 0
};

// The property dictionary and the shapes of one table; shared by all versions of it that descend
// from each other.
class Schema : public RefCounted<Schema> {
 public:
  Schema();
  // Begins with all that `base` has. REQUIRES: nothing is added to `base` any more.
  explicit Schema(const Ref<Schema>& base);
  ~Schema();
  Schema(const Schema&) = delete;

  // A shape, and where its columns are found in the properties that it was interned from.
  struct Interned {
    const Shape* shape;
    std::span<const std::uint16_t>
        order;  // order[column] = position in `properties`; valid until the next intern()
  };

  // The shape of an entity's properties: an existing one, a new one, or the generic one when the
  // table has all the shapes it may have. Independent of the order of `properties`. REQUIRES: names
  // are unique. The generic shape's order is the order of names by bytes.
  Interned intern(std::span<const PropertyView> properties, ShapeHint shape_hint = 0);
  const Shape& intern(const std::vector<Property>& properties);
  // Returns the result of the last intern() again. REQUIRES: that call had the names and types of
  // `properties` in the same order.
  Interned last_interned(std::span<const PropertyView> properties) const {
    ENTITABLE_DCHECK(last_cached_ != nullptr &&
                     (last_cached_->shape->is_generic() || matches(*last_cached_, properties)));
    static_cast<void>(properties);
    return {last_cached_->shape, last_cached_->order};
  }
  // Whether intern() would add nothing.
  bool interns_without_growth(std::span<const PropertyView> properties);

  // Not 0 if rows of just these names and types, in this order, were interned lately: then names
  // need no check, since nothing that is not storable is ever interned. It spares an intern() of
  // the same, by this schema or one that begins with it, to compare them once more.
  ShapeHint find_hint(std::span<const PropertyView> properties) const;
  // Returns the slot where the caller may cache the encoded definition of the hinted property list,
  // empty at first, or null if the hint is no longer cached.
  std::string* encoded_definition(ShapeHint shape_hint) const;

  // REQUIRES: id < shape_count().
  const Shape& shape(ShapeId id) const { return *shapes_[id]; }
  std::size_t shape_count() const { return shapes_.size(); }  // the generic one counted
  std::size_t memory_bytes() const;                           // as good as it knows

  // Memory for packing one row at a time; what is in it means nothing between calls. What a huge
  // row has left is given back at the next call.
  struct Scratch {
    std::vector<PropertyView> properties;
    std::string row;
  };
  Scratch& scratch() {
    if (scratch_.row.capacity() > scratch_bytes_max) std::string().swap(scratch_.row);
    return scratch_;
  }

 private:
  static constexpr std::size_t scratch_bytes_max = 64 * 1024;
  using NameId = std::uint32_t;
  // The answer for a set of properties seen lately, written in one order.
  struct CachedShape {
    const Shape* shape = nullptr;
    std::vector<std::uint16_t> order;
    // As they were given. Whoever reads names from a block has them side by side, and then they are
    // compared in one.
    struct ListedProperty {
      EdmType type;
      std::uint32_t name_bytes;
    };
    std::vector<ListedProperty> property_list;
    std::string names;
    ShapeHint id = 0;  // no other answer has it, here or in a schema that this one began with
    mutable std::string encoded_definition;
  };
  std::size_t cache_index(std::span<const PropertyView> properties) const;
  // A set of properties on its way to its shape, by name id.
  struct Member {
    NameId id;
    std::string_view name;  // as the dictionary keeps it
    EdmType type;
    std::uint16_t position;  // in what was given
  };
  // A schema that began with another is a layer on top of it, and what is in no map here is looked
  // up below. Beyond so many layers it takes copies of their maps instead.
  static constexpr std::uint32_t layers_max = 8;

  static bool matches(const CachedShape& cached, std::span<const PropertyView> properties);
  static bool matches_columns(const CachedShape& cached, std::span<const PropertyView> properties);
  static void store_property_list(std::span<const PropertyView> properties, CachedShape& cached);
  bool has_room(std::size_t more_columns) const;
  const Shape* find(std::span<const PropertyView> properties, bool may_add);
  const Shape& find_or_add(std::span<const PropertyView> properties);
  bool add_member(const PropertyView& property, std::uint16_t position, bool may_add);
  const ShapeId* find_shape_id() const;
  const Shape& add_shape();

  Ref<Schema> base_;                      // what it began with
  const Schema* lookup_base_ = nullptr;   // where to look up what is not in the maps here
  std::uint32_t layers_ = 1;              // to look into, this one included
  std::forward_list<std::string> names_;  // added here; never move
  std::unordered_map<std::string_view, NameId> name_ids_;
  std::vector<std::unique_ptr<Shape>> own_shapes_;      // here
  std::vector<const Shape*> shapes_;                    // all, by ShapeId
  std::unordered_map<std::string, ShapeId> shape_ids_;  // by the bytes of set_
  NameId name_count_ = 0;                               // of all
  std::size_t columns_total_ = 0;
  std::size_t memory_ = 0;
  std::array<CachedShape, 8> shape_cache_;
  ShapeHint hints_issued_ = 0;
  const CachedShape* last_cached_ = nullptr;  // that intern() gave last
  std::vector<Member> members_;
  std::string shape_key_;
  Scratch scratch_;
};

}  // namespace entitable
