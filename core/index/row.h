// One packed row under its shape. (The layout is drawn here, byte by byte, by whoever changes it.)
#pragma once

#include <string>
#include <string_view>

#include "core/index/shape.h"
#include "core/model/entity.h"

namespace entitable {

// A row inside a leaf. Valid as long as the version of the index that it came from is held.
class RowView {
 public:
  const Shape& shape() const;
  std::string_view partition() const;
  std::string_view row() const;
  KeyView key() const;
  Ticks timestamp() const;
  // The value of shape().columns()[column]. REQUIRES: !shape().is_generic().
  ValueView value(std::uint32_t column) const;
  // By name, on any shape; the three system properties are not looked up here.
  std::optional<ValueView> find(std::string_view name) const;
  // Calls visit(name, value) for every custom property, canonical order.
  template <typename Visit>
  void for_each_property(Visit visit) const;
  Entity materialize() const;
  std::size_t packed_bytes() const;
};

}  // namespace entitable
