// The dictionary of a table: its property names and its shapes (shape.h).
//
// Columns are in canonical order: the order in which the dictionary first saw the names. The order
// in which a client writes properties therefore never creates a new shape.
//
// The number of shapes per table is bounded (shapes_max, shape_columns_max). When the bound is
// reached, rows with new sets of properties get the generic shape and carry their own property
// list. Such rows are slower and larger, but correct.
//
// Invariants: shapes and the dictionary only grow; ids are dense from 0, and 0 is the generic
// shape. A shape interned by a write that is then discarded stays; the bound covers it.
//
// The dictionary decides the order of columns, which readers can observe. Versions that must not
// observe each other (forks) therefore do not grow the same dictionary. A fork gets a new Schema on
// top of the old one: it shares the old names and shapes under their ids and adds its own.
#pragma once

#include <cstdint>
#include <forward_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/check.h"
#include "core/base/refcounted.h"
#include "core/index/intern_cache.h"
#include "core/index/shape.h"
#include "core/model/commit.h"
#include "core/model/entity.h"

namespace entitable {

// Bounds per table: the number of shapes without the generic one, and the sum of their columns.
inline constexpr std::size_t shapes_max = 2048;
inline constexpr std::size_t shape_columns_max = 131'072;

// The property dictionary and the shapes of one table. All versions of the table share it, except
// forks.
class Schema : public RefCounted<Schema> {
 public:
  Schema();
  // Creates a schema on top of `base`. REQUIRES: nothing is added to `base` any more.
  explicit Schema(const Ref<Schema>& base);
  ~Schema();
  Schema(const Schema&) = delete;

  // A shape, and how its columns map to the properties that were interned.
  struct Interned {
    const Shape* shape;
    // order[column] is the position in `properties`; valid until the next intern().
    std::span<const std::uint16_t> order;
  };

  // Returns the shape for an entity's properties: an existing shape, a new one, or the generic
  // shape if the table has no space for another. The order of `properties` does not matter. For the
  // generic shape, `order` sorts the properties by the bytes of their names. A valid `shape_hint`
  // skips the comparison. REQUIRES: names are unique; a `shape_hint` other than 0 is the result of
  // shape_hint_of() for the same properties.
  Interned intern(std::span<const PropertyView> properties, ShapeHint shape_hint = 0);
  const Shape& intern(const std::vector<Property>& properties);
  // Returns the result of the last intern() again. REQUIRES: that call had the names and types of
  // `properties` in the same order.
  Interned last_interned(std::span<const PropertyView> properties) const {
    ENTITABLE_DCHECK(last_ != nullptr &&
                     (last_->shape->is_generic() || last_->matches(properties)));
    static_cast<void>(properties);
    return {last_->shape, last_->order};
  }
  // Returns whether intern() would add nothing.
  bool interns_without_growth(std::span<const PropertyView> properties);

  // Returns a hint other than 0 if properties with exactly these names and types, in this order,
  // were interned recently. The names then need no validation, because only valid names are
  // interned. With the hint, intern() of this schema, or of a schema on top of it, does not compare
  // the properties again.
  ShapeHint shape_hint_of(std::span<const PropertyView> properties) const {
    const InternCache::Entry* cached = cache_.find(properties);
    return cached == nullptr ? 0 : cached->hint;
  }
  // Returns the slot where the caller may cache the encoded definition of the hinted property list,
  // empty at first, or null if the hint is no longer cached.
  std::string* cached_definition(ShapeHint shape_hint) const {
    const InternCache::Entry* cached = cache_.find(shape_hint);
    return cached == nullptr ? nullptr : &cached->encoded_definition;
  }

  // REQUIRES: id < shape_count().
  const Shape& shape(ShapeId id) const { return *shapes_[id]; }
  std::size_t shape_count() const { return shapes_.size(); }  // including the generic shape
  std::size_t memory_bytes() const;                           // estimated

  // Reusable memory for packing one row at a time. The contents are unspecified between calls. The
  // next call releases the memory of a very large row.
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
  // A property of the set being looked up, by name id.
  struct Member {
    NameId id;
    std::string_view name;  // points into the dictionary
    EdmType type;
    std::uint16_t position;  // position in the interned list
  };
  // A schema on top of another looks up in the lower schema what its own maps do not have. Above
  // this number of layers it copies the maps instead.
  static constexpr std::uint32_t layers_max = 8;

  const InternCache::Entry& intern_uncached(std::span<const PropertyView> properties);
  bool can_add_shape(std::size_t columns) const;
  const Shape* find(std::span<const PropertyView> properties, bool may_add);
  const Shape& find_or_add(std::span<const PropertyView> properties);
  bool add_member(const PropertyView& property, std::uint16_t position, bool may_add);
  const ShapeId* find_shape_id() const;
  const Shape& add_shape();

  Ref<Schema> base_;                      // the schema below this one, or null
  const Schema* lookup_base_ = nullptr;   // next layer for lookups, or null
  std::uint32_t layers_ = 1;              // layers to look into, including this schema
  std::forward_list<std::string> names_;  // names added by this schema; they never move
  std::unordered_map<std::string_view, NameId> name_ids_;
  std::vector<std::unique_ptr<Shape>> own_shapes_;      // shapes added by this schema
  std::vector<const Shape*> shapes_;                    // all shapes, by ShapeId
  std::unordered_map<std::string, ShapeId> shape_ids_;  // by shape_key_
  NameId name_count_ = 0;                               // names of all layers
  std::size_t columns_total_ = 0;
  std::size_t memory_ = 0;
  InternCache cache_;
  const InternCache::Entry* last_ = nullptr;  // the last result of intern()
  std::vector<Member> members_;
  std::string shape_key_;
  Scratch scratch_;
};

}  // namespace entitable
