#include "core/direct/page.h"

#include <algorithm>
#include <array>

#include "core/base/check.h"
#include "core/query/projection.h"

namespace entitable::direct {
namespace {

constexpr std::size_t guid_units = 36;
constexpr std::size_t timestamp_text_bytes = 80;  // of a Timestamp and an ETag together

std::uint32_t mix(std::uint32_t hash, std::uint32_t value) {
  hash = (hash ^ value) * 0x85EB'CA6Bu;
  return hash ^ (hash >> 15);
}

std::uint32_t mix(std::uint32_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x0100'0193u;
  return mix(hash, static_cast<std::uint32_t>(text.size()));
}

// With the word that may align it.
std::size_t payload_words_max(std::uint8_t type) {
  switch (type) {
    case column_null:
    case static_cast<std::uint8_t>(EdmType::guid):
      return 0;
    case static_cast<std::uint8_t>(EdmType::float64):
    case static_cast<std::uint8_t>(EdmType::int64):
      return 3;
    case static_cast<std::uint8_t>(EdmType::date_time):
      return 4;
    default:
      return 1;
  }
}

void write_date_time(BlockWriter& out, Ticks ticks) {
  const Ticks since_epoch = ticks - ticks_at_unix_epoch;
  Ticks milliseconds = since_epoch / ticks_per_millisecond;
  Ticks rest = since_epoch % ticks_per_millisecond;
  if (rest < 0) {
    --milliseconds;
    rest += ticks_per_millisecond;
  }
  out.float64(static_cast<double>(milliseconds));
  out.word(static_cast<std::uint32_t>(rest));
}

// Lower case, hyphenated, as model/guid.h prints it.
void write_guid(BlockWriter& out, std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<char, guid_units> text;
  char* to = text.data();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *to++ = '-';
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    *to++ = digits[byte >> 4];
    *to++ = digits[byte & 15];
  }
  out.ascii_only({text.data(), text.size()});
}

void write_slot(BlockWriter& out, const RowView& row, EdmType type, std::uint32_t slot) {
  switch (type) {
    case EdmType::string:
      return out.text(row.text(slot));
    case EdmType::binary:
      return out.binary(row.text(slot));
    case EdmType::boolean:
      return out.word(row.fixed<std::uint8_t>(slot));
    case EdmType::date_time:
      return write_date_time(out, row.fixed<std::int64_t>(slot));
    case EdmType::float64:
    case EdmType::int64:
      return out.two_words(row.fixed<std::uint64_t>(slot));
    case EdmType::guid:
      return write_guid(out, row.guid(slot));
    case EdmType::int32:
      return out.word(row.fixed<std::uint32_t>(slot));
  }
}

void write_value(BlockWriter& out, const ValueView& value) {
  switch (value.type()) {
    case EdmType::string:
      return out.text(value.string());
    case EdmType::binary:
      return out.binary(value.binary());
    case EdmType::boolean:
      return out.word(value.boolean() ? 1 : 0);
    case EdmType::date_time:
      return write_date_time(out, value.date_time());
    case EdmType::float64:
      return out.float64(value.float64());
    case EdmType::guid:
      return write_guid(out, value.guid_bytes());
    case EdmType::int32:
      return out.word(static_cast<std::uint32_t>(value.int32()));
    case EdmType::int64:
      return out.two_words(static_cast<std::uint64_t>(value.int64()));
  }
}

}  // namespace

void PageWriter::write(ReplyBuffer& out, std::string_view table, std::span<const RowView> rows,
                       const std::vector<std::string>& select,
                       const std::optional<Continuation>& next) {
  forget_page();
  select_ = &select;
  seed_ = mix(0x811C'9DC5u, table);
  for (const std::string& name : select) seed_ = mix(seed_, name);

  std::size_t words = 4;
  std::size_t text = 0;
  for (const RowView& row : rows) {
    shape_at_.push_back(shape_of(row));
    const WireShape& shape = shapes_[shape_at_.back()];
    words += shape.row_words_max;
    text += shape.row_text_more + row.packed_bytes() + row.partition().size();
  }
  for (std::uint32_t i = 0; i < shape_count_; ++i) words += 3 + shapes_[i].columns.size();

  BlockWriter block(out, ReplyKind::page, words);
  // A selection may take little of rows that are big: then the area grows as it is filled.
  if (select.empty()) block.expect_text(text);
  block.word(static_cast<std::uint32_t>(rows.size()));
  block.word(shape_count_);
  if (next.has_value()) {
    block.text(next->next.partition);
    block.text(next->next.row);
  } else {
    block.word(none);
    block.word(none);
  }
  write_shapes(block);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    block.word(shape_at_[i]);
    write_row(block, rows[i], shapes_[shape_at_[i]]);
  }
  block.finish();
}

// Of the page before. One of thousands of generic rows leaves no memory behind.
void PageWriter::forget_page() {
  constexpr std::size_t shapes_kept = 64;
  for (std::uint32_t i = 0; i < shape_count_; ++i) {
    if (shapes_[i].source < by_shape_id_.size()) by_shape_id_[shapes_[i].source] = 0;
  }
  shape_count_ = 0;
  if (shapes_.size() > shapes_kept) shapes_.resize(shapes_kept);
  shape_at_.clear();
  partition_.reset();
}

// ---- Shapes -------------------------------------------------------------------------------------

void PageWriter::WireShape::add(std::uint8_t type, std::string_view name, std::uint32_t slot) {
  columns.push_back(WireColumn{type, slot, name});
  row_words_max += payload_words_max(type);
  if (type == static_cast<std::uint8_t>(EdmType::guid)) row_text_more += guid_units;
}

// Every generic row has a shape of its own.
std::uint32_t PageWriter::shape_of(const RowView& row) {
  if (row.shape().is_generic()) return add_shape(row);
  const ShapeId id = row.shape().id();
  if (id >= by_shape_id_.size()) by_shape_id_.resize(std::size_t{id} + 1);
  if (by_shape_id_[id] == 0) by_shape_id_[id] = add_shape(row) + 1;
  return by_shape_id_[id] - 1;
}

std::uint32_t PageWriter::add_shape(const RowView& row) {
  if (shape_count_ == shapes_.size()) shapes_.emplace_back();
  WireShape& shape = shapes_[shape_count_];
  shape.columns.clear();
  shape.source = row.shape().id();
  // 0 says that it is not worth keeping, as it is for a generic row.
  shape.hint = row.shape().is_generic() ? 0 : std::max(1u, mix(seed_, shape.source));
  shape.row_words_max = 1;
  shape.row_text_more = timestamp_text_bytes;
  shape.add(column_etag);
  if (select_->empty()) {
    add_everything(shape, row);
  } else {
    add_selected(shape, row);
  }
  return shape_count_++;
}

void PageWriter::add_everything(WireShape& shape, const RowView& row) const {
  for (const std::uint8_t type : {column_partition, column_row, column_timestamp}) shape.add(type);
  if (row.shape().is_generic()) {
    row.for_each_property([&shape](std::string_view name, const ValueView& value) {
      shape.add(static_cast<std::uint8_t>(value.type()), name);
    });
    return;
  }
  for (const Column& column : row.shape().columns()) {
    shape.add(static_cast<std::uint8_t>(column.type), column.name, column.slot);
  }
}

void PageWriter::add_selected(WireShape& shape, const RowView& row) const {
  const std::vector<SelectedProperty> properties = select_properties(*select_, row.shape());
  for (std::size_t i = 0; i < properties.size(); ++i) {
    const std::string& name = (*select_)[i];
    switch (properties[i].kind) {
      case SelectedKind::partition_key:
        shape.add(column_partition);
        break;
      case SelectedKind::row_key:
        shape.add(column_row);
        break;
      case SelectedKind::timestamp:
        shape.add(column_timestamp);
        break;
      case SelectedKind::column: {
        const Column& column = row.shape().columns()[properties[i].column];
        shape.add(static_cast<std::uint8_t>(column.type), name, column.slot);
        break;
      }
      case SelectedKind::by_name: {
        const std::optional<ValueView> value = row.find(name);
        shape.add(value.has_value() ? static_cast<std::uint8_t>(value->type()) : column_null, name);
        break;
      }
      case SelectedKind::missing:
        shape.add(column_null, name);
        break;
    }
  }
}

void PageWriter::write_shapes(BlockWriter& out) {
  for (std::uint32_t i = 0; i < shape_count_; ++i) {
    column_words_.clear();
    std::uint32_t names_units = 0;
    for (const WireColumn& column : shapes_[i].columns) {
      const std::uint32_t units = out.text_only(column.name);
      names_units += units;
      column_words_.push_back(units | static_cast<std::uint32_t>(column.type) << 24);
    }
    out.word(shapes_[i].hint);
    out.word(static_cast<std::uint32_t>(column_words_.size()));
    out.word(names_units);
    for (const std::uint32_t word : column_words_) out.word(word);
  }
}

// ---- Rows ---------------------------------------------------------------------------------------

void PageWriter::write_row(BlockWriter& out, const RowView& row, const WireShape& shape) {
  const bool generic = row.shape().is_generic();
  for (const WireColumn& column : shape.columns) {
    if (column.type >= column_etag) {
      write_system(out, row, column.type);
    } else if (column.type == column_null) {
      continue;
    } else if (!generic) {
      write_slot(out, row, static_cast<EdmType>(column.type), column.slot);
    } else if (!select_->empty()) {
      const std::optional<ValueView> value = row.find(column.name);
      ENTITABLE_CHECK(value.has_value());
      write_value(out, *value);
    }
  }
  if (generic && select_->empty()) {
    row.for_each_property(
        [&out](std::string_view, const ValueView& value) { write_value(out, value); });
  }
}

void PageWriter::write_system(BlockWriter& out, const RowView& row, std::uint8_t type) {
  switch (type) {
    case column_etag:
      return out.ascii(times_.etag(row.timestamp()));
    case column_timestamp:
      return out.ascii(times_.timestamp(row.timestamp()));
    case column_row:
      return out.text(row.row());
    default:
      if (partition_ == row.partition()) return out.word(none);
      partition_ = row.partition();
      return out.text(row.partition());
  }
}

}  // namespace entitable::direct
