// Packs rows under their shapes and reads packed rows (layout: row_layout.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/index/row_layout.h"
#include "core/index/schema.h"
#include "core/model/entity.h"

namespace entitable {

static_assert(shapes_max < 0xFFFF, "a row keeps its shape id in two bytes");

// Packs a row into `out`, which is overwritten. The base of the row (row_layout.h) is out.data() +
// row_key.size(). REQUIRES: `interned` is the result of Schema::intern(properties); check_entity()
// accepts the row.
void pack_row(const Schema::Interned& interned, std::string_view row_key, Ticks timestamp,
              std::span<const PropertyView> properties, std::string& out);

// A view of a packed row; cheap to copy. Valid as long as the TableIndex or Cursor that returned it
// exists and is not changed.
class RowView {
 public:
  RowView(const char* base, const Shape& shape, std::string_view partition)
      : base_(base), shape_(&shape), partition_(partition) {}

  const Shape& shape() const { return *shape_; }
  std::string_view partition() const { return partition_; }
  std::string_view row_key() const { return row_layout::row_key(base_); }
  KeyView key() const { return {partition_, row_key()}; }
  Ticks timestamp() const { return row_layout::load<Ticks>(base_ + row_layout::timestamp_at); }

  // Returns the value of shape().columns()[column]. REQUIRES: !shape().is_generic().
  ValueView value(std::uint32_t column) const { return value(shape_->columns()[column]); }
  // REQUIRES: `column` is one of shape().columns().
  ValueView value(const Column& column) const;

  // Access by slot (Column::slot). REQUIRES: the shape has a column of this slot and type; T is
  // std::int64_t (DateTime, Int64), double, std::int32_t or std::uint8_t (Boolean).
  template <typename T>
  T fixed_value(std::uint32_t slot) const {
    return row_layout::load<T>(base_ + slot);
  }
  const char* value_address(std::uint32_t slot) const { return base_ + slot; }
  std::string_view guid(std::uint32_t slot) const { return {base_ + slot, 16}; }
  std::string_view text(std::uint32_t slot) const { return row_layout::text(base_, slot); }

  // Returns the value of a custom property, or nothing if the row lacks it. For rows of any shape.
  std::optional<ValueView> find(std::string_view name) const;
  // Calls visit(name, value) for every custom property in canonical order (generic shape: names in
  // byte order).
  template <typename Visit>
  void for_each_property(Visit visit) const;
  Entity materialize() const;
  // Copies the row to `bytes`, which must have space for packed_bytes(), and returns a view of the
  // copy. The view still points to the partition key of this row.
  RowView copy_to(char* bytes) const;
  std::size_t packed_bytes() const { return row_layout::packed_bytes(base_); }

 private:
  const char* base_;
  const Shape* shape_;
  std::string_view partition_;
};

// Reads the property list of a generic row.
class GenericPropertyReader {
 public:
  explicit GenericPropertyReader(std::string_view list)
      : at_(list.data() + 2), left_(row_layout::load<std::uint16_t>(list.data())) {}
  bool done() const { return left_ == 0; }
  PropertyView next();  // REQUIRES: !done()

 private:
  const char* at_;
  std::uint32_t left_;
};

// ---- Inline -------------------------------------------------------------------------------------

inline ValueView RowView::value(const Column& column) const {
  switch (column.type) {
    case EdmType::string:
      return ValueView::of_string(text(column.slot));
    case EdmType::binary:
      return ValueView::of_binary(text(column.slot));
    case EdmType::boolean:
      return ValueView::of_boolean(fixed_value<std::uint8_t>(column.slot) != 0);
    case EdmType::date_time:
      return ValueView::of_date_time(fixed_value<std::int64_t>(column.slot));
    case EdmType::float64:
      return ValueView::of_double(fixed_value<double>(column.slot));
    case EdmType::guid:
      return ValueView::of_guid(guid(column.slot));
    case EdmType::int32:
      return ValueView::of_int32(fixed_value<std::int32_t>(column.slot));
    case EdmType::int64:
      return ValueView::of_int64(fixed_value<std::int64_t>(column.slot));
  }
  check_failed("a column has a type", __FILE__, __LINE__);
}

inline RowView RowView::copy_to(char* bytes) const {
  const std::string_view packed = row_layout::packed(base_);
  std::memcpy(bytes, packed.data(), packed.size());
  return {bytes + row_layout::row_key_bytes(base_), *shape_, partition_};
}

template <typename Visit>
void RowView::for_each_property(Visit visit) const {
  if (shape_->is_generic()) {
    for (GenericPropertyReader list(text(row_layout::columns_at)); !list.done();) {
      const PropertyView property = list.next();
      visit(property.name, property.value);
    }
    return;
  }
  for (const Column& column : shape_->columns()) visit(column.name, value(column));
}

}  // namespace entitable
