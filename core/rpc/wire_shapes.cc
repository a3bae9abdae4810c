#include "core/rpc/wire_shapes.h"

#include <algorithm>
#include <optional>

#include "core/base/utf8.h"
#include "core/query/projection.h"

namespace entitable::rpc {
namespace {

constexpr std::size_t timestamp_text_bytes = 80;  // of a Timestamp and an ETag together
constexpr std::size_t cached_max = 64;
constexpr std::size_t names_units_at = 2;  // position in header_words

std::uint32_t mix(std::uint32_t hash, std::uint32_t value) {
  hash = (hash ^ value) * 0x85EB'CA6Bu;
  return hash ^ (hash >> 15);
}

std::uint32_t mix(std::uint32_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x0100'0193u;
  return mix(hash, static_cast<std::uint32_t>(text.size()));
}

}  // namespace

// ---- WireShape ----------------------------------------------------------------------------------

WireShape::WireShape(std::uint32_t hint)
    : extra_row_text_max(timestamp_text_bytes), header_words({hint, 0, 0}) {}

void WireShape::add_column(std::uint8_t type, std::string_view name, std::uint32_t slot) {
  columns.push_back(WireColumn{type, slot, name});
  const PayloadSize size = payload_size(type);
  row_words_max += size.words_max;
  extra_row_text_max += size.text_bytes;
  const auto units = static_cast<std::uint32_t>(utf16_length(name));
  header_words.push_back(units | static_cast<std::uint32_t>(type) << 24);
  ++header_words[names_units_at - 1];
  header_words[names_units_at] += units;
  names.append(name);
}

// ---- WireShapes ---------------------------------------------------------------------------------

void WireShapes::begin_page(std::string_view table, const std::vector<std::string>& select) {
  for (WireShape* shape : page_) shape->page_index = WireShape::not_in_page;
  page_.clear();
  generic_.clear();
  const bool same = table_ == table && select_ == select;
  if (same && cached_count_ <= cached_max) return;
  cached_.clear();
  cached_count_ = 0;
  table_ = table;
  select_ = select;
  seed_ = mix(0x811C'9DC5u, table);
  for (const std::string& name : select) seed_ = mix(seed_, name);
}

const WireShape& WireShapes::shape_of(const RowView& row) {
  const ShapeId id = row.shape().id();
  const bool known = id < cached_.size() && cached_[id].index_shape == &row.shape();
  if (known && cached_[id].shape->page_index != WireShape::not_in_page) return *cached_[id].shape;
  WireShape& shape = known                      ? *cached_[id].shape
                     : row.shape().is_generic() ? add_generic(row)
                                                : add_cached(row);
  page_.push_back(&shape);  // may throw std::bad_alloc, so before the shape is changed
  shape.page_index = static_cast<std::uint32_t>(page_.size() - 1);
  return shape;
}

WireShape& WireShapes::add_cached(const RowView& row) {
  const ShapeId id = row.shape().id();
  if (id >= cached_.size()) cached_.resize(std::size_t{id} + 1);
  auto shape = std::make_unique<WireShape>(std::max(1u, mix(seed_, id)));
  fill(*shape, row);
  cached_[id] = {&row.shape(), Ref<const Schema>(&row.shape().schema()), std::move(shape)};
  ++cached_count_;
  return *cached_[id].shape;
}

// Each generic row gets its own shape, which is not cached.
WireShape& WireShapes::add_generic(const RowView& row) {
  WireShape& shape = *generic_.emplace_back(std::make_unique<WireShape>(0));
  fill(shape, row);
  return shape;
}

void WireShapes::fill(WireShape& shape, const RowView& row) const {
  shape.add_column(column_etag);
  if (!select_.empty()) return fill_selected(shape, row);
  for (const std::uint8_t type : {column_partition, column_row, column_timestamp})
    shape.add_column(type);
  if (row.shape().is_generic()) {
    row.for_each_property([&shape](std::string_view name, const ValueView& value) {
      shape.add_column(static_cast<std::uint8_t>(value.type()), name);
    });
    return;
  }
  for (const Column& column : row.shape().columns()) {
    shape.add_column(static_cast<std::uint8_t>(column.type), column.name, column.slot);
  }
}

void WireShapes::fill_selected(WireShape& shape, const RowView& row) const {
  const std::vector<PropertySource> properties = find_property_sources(select_, row.shape());
  for (std::size_t i = 0; i < properties.size(); ++i) {
    const std::string& name = select_[i];
    switch (properties[i].kind) {
      case PropertySourceKind::partition_key:
        shape.add_column(column_partition);
        break;
      case PropertySourceKind::row_key:
        shape.add_column(column_row);
        break;
      case PropertySourceKind::timestamp:
        shape.add_column(column_timestamp);
        break;
      case PropertySourceKind::column: {
        const Column& column = row.shape().columns()[properties[i].column];
        shape.add_column(static_cast<std::uint8_t>(column.type), name, column.slot);
        break;
      }
      case PropertySourceKind::by_name: {
        const std::optional<ValueView> value = row.find(name);
        shape.add_column(value.has_value() ? static_cast<std::uint8_t>(value->type()) : column_null,
                         name);
        break;
      }
      case PropertySourceKind::missing:
        shape.add_column(column_null, name);
        break;
    }
  }
}

std::size_t WireShapes::word_count() const {
  std::size_t words = 0;
  for (const WireShape* shape : page_) words += shape->header_words.size();
  return words;
}

void WireShapes::write(ResponseWriter& out) const {
  for (const WireShape* shape : page_) {
    out.append_words(shape->header_words);
    out.text_without_length(shape->names);
  }
}

}  // namespace entitable::rpc
