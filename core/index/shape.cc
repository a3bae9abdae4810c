#include "core/index/shape.h"

#include <functional>
#include <utility>

#include "core/base/check.h"
#include "core/base/utf8.h"
#include "core/index/row_layout.h"

namespace entitable {
namespace {

// Returns the bytes that a column takes in the fixed part of a row.
std::uint32_t slot_bytes(EdmType type) {
  switch (type) {
    case EdmType::string:
    case EdmType::binary:
    case EdmType::int32:
      return 4;
    case EdmType::date_time:
    case EdmType::float64:
    case EdmType::int64:
      return 8;
    case EdmType::guid:
      return 16;
    case EdmType::boolean:
      return 1;
  }
  check_failed("a column has a type", __FILE__, __LINE__);
}

// Returns the group of a column in the order of slots: texts, 8-byte types, Guid, Int32, Boolean.
std::uint32_t slot_group(EdmType type) {
  if (type == EdmType::string || type == EdmType::binary) return 0;
  const std::uint32_t bytes = slot_bytes(type);
  return bytes == 8 ? 1 : bytes == 16 ? 2 : bytes == 4 ? 3 : 4;
}

// Assigns a slot to every column; returns the bytes before the first text.
std::uint32_t assign_slots(std::vector<Column>& columns) {
  std::uint32_t at = row_layout::columns_at;
  for (std::uint32_t group = 0; group <= 4; ++group) {
    for (Column& column : columns) {
      if (slot_group(column.type) != group) continue;
      column.slot = at;
      at += slot_bytes(column.type);
    }
  }
  return at;
}

}  // namespace

Shape::Shape(const Schema& schema)
    : schema_(&schema),
      id_(generic_shape_id),
      fixed_bytes_(row_layout::columns_at + 4) {}  // one hidden text, the property list

Shape::Shape(const Schema& schema, ShapeId id, std::vector<Column> columns)
    : schema_(&schema), id_(id), columns_(std::move(columns)) {
  fixed_bytes_ = assign_slots(columns_);
  std::size_t buckets = 4;
  while (buckets < 2 * columns_.size()) buckets *= 2;
  buckets_.assign(buckets, 0);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t i = std::hash<std::string_view>()(columns_[c].name) & (buckets - 1);
    while (buckets_[i] != 0) i = (i + 1) & (buckets - 1);
    buckets_[i] = static_cast<std::uint16_t>(c + 1);
  }
}

std::optional<std::uint32_t> Shape::find(std::string_view name) const {
  if (buckets_.empty()) return std::nullopt;
  const std::size_t mask = buckets_.size() - 1;
  for (std::size_t i = std::hash<std::string_view>()(name) & mask;; i = (i + 1) & mask) {
    const std::uint32_t entry = buckets_[i];
    if (entry == 0) return std::nullopt;
    if (same_text(columns_[entry - 1].name, name)) return entry - 1;
  }
}

std::size_t Shape::memory_bytes() const {
  return sizeof(Shape) + columns_.size() * sizeof(Column) +
         buckets_.size() * sizeof(buckets_.front());
}

}  // namespace entitable
