// The recent results of Schema::intern(), found by property list or by ShapeHint. Internal to
// core/index.
//
// A result is cached for one list of properties in one order. A hit needs neither the dictionary
// nor a sort.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/index/shape.h"
#include "core/model/commit.h"
#include "core/model/entity.h"

namespace entitable {

class InternCache {
 public:
  struct Entry {
    // Returns whether this is the result for `properties`, with their names, types and order. Never
    // true for the generic shape. REQUIRES: shape != nullptr.
    bool matches(std::span<const PropertyView> properties) const;

    const Shape* shape = nullptr;  // null: the entry is empty
    // order[column] is the position in the property list.
    std::vector<std::uint16_t> order;
    // The property list. The names are joined in one text, so that names that are contiguous in a
    // request are compared at once.
    struct ListedProperty {
      EdmType type;
      std::uint32_t name_bytes;
    };
    std::vector<ListedProperty> property_list;
    std::string names;
    ShapeHint hint = 0;
    mutable std::string encoded_definition;

   private:
    bool matches_columns(std::span<const PropertyView> properties) const;
  };

  // `hints_issued`: of the cache of the schema below, whose hints must not mean anything here.
  explicit InternCache(ShapeHint hints_issued = 0) : hints_issued_(hints_issued) {}
  ShapeHint hints_issued() const { return hints_issued_; }

  // Returns the entry, or null if the result is not cached.
  const Entry* find(std::span<const PropertyView> properties) const;
  const Entry* find(ShapeHint shape_hint) const {
    const Entry& entry = entries_[shape_hint % entries_.size()];
    return shape_hint != 0 && entry.hint == shape_hint ? &entry : nullptr;
  }
  // Empties the entry that `properties` will use, and returns it.
  Entry& evict(std::span<const PropertyView> properties);
  // Stores a result in the entry that evict() returned for the same properties. The caller has set
  // `entry.order`.
  void fill(Entry& entry, std::span<const PropertyView> properties, const Shape& shape);

 private:
  std::size_t position_of(std::span<const PropertyView> properties) const;

  std::array<Entry, 8> entries_;
  ShapeHint hints_issued_;  // divided by the number of entries
};

}  // namespace entitable
