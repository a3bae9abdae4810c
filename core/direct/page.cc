#include "core/direct/page.h"

#include "core/base/check.h"
#include "core/direct/block_cursor.h"

namespace entitable::direct {
namespace {

// An upper bound, whatever was selected: no name is selected twice.
std::size_t row_text_max(const RowView& row, const WireShape& shape) {
  return shape.row_text_more + row.packed_bytes() + row.partition().size();
}

[[gnu::always_inline]] inline void write_date_time(BlockCursor& out, Ticks ticks) {
  const Ticks since_epoch = ticks - ticks_at_unix_epoch;
  Ticks milliseconds = since_epoch / ticks_per_millisecond;
  Ticks rest = since_epoch - milliseconds * ticks_per_millisecond;
  if (rest < 0) {
    --milliseconds;
    rest += ticks_per_millisecond;
  }
  out.float64(static_cast<double>(milliseconds));
  out.word(static_cast<std::uint32_t>(rest));
}

// Lower case, hyphenated, as model/guid.h prints it.
[[gnu::always_inline]] inline void write_guid(BlockCursor& out, std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  char* to = out.ascii_room(guid_units);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *to++ = '-';
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    *to++ = digits[byte >> 4];
    *to++ = digits[byte & 15];
  }
}

void write_value(BlockCursor& out, const ValueView& value) {
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
  partition_.reset();
  shape_of_.clear();
  Room room;
  if (!rows.empty()) {
    shapes_.begin(table, select);
    room = find_shapes(rows);
  }
  constexpr std::size_t counts_and_next = 4;
  const std::size_t shapes = rows.empty() ? 0 : shapes_.size();
  BlockWriter block(out, ReplyKind::page, counts_and_next + room.words);
  // A selection may take little of rows that are big: then the area grows as it is filled.
  if (select.empty()) block.expect_text(room.text);
  block.word(static_cast<std::uint32_t>(rows.size()));
  block.word(static_cast<std::uint32_t>(shapes));
  if (next.has_value()) {
    block.text(next->next.partition);
    block.text(next->next.row);
  } else {
    block.word(none);
    block.word(none);
  }
  if (shapes != 0) shapes_.write(block);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].shape().is_generic()) {
      write_generic_row(block, rows[i], *shape_of_[i]);
    } else {
      write_row(block, rows[i], *shape_of_[i]);
    }
  }
  block.finish();
}

// Of all rows; gives the room that these and their shapes take at most.
PageWriter::Room PageWriter::find_shapes(std::span<const RowView> rows) {
  Room room;
  const Shape* last = nullptr;  // of the row before, unless it was a generic one
  for (const RowView& row : rows) {
    const bool same = &row.shape() == last;
    const WireShape& shape = same ? *shape_of_.back() : shapes_.of(row);
    if (!same) last = row.shape().is_generic() ? nullptr : &row.shape();
    shape_of_.push_back(&shape);
    room.words += shape.row_words_max;
    room.text += row_text_max(row, shape);
  }
  room.words += shapes_.words();
  return room;
}

[[gnu::always_inline]] inline void PageWriter::write_system(BlockCursor& out, const RowView& row,
                                                            std::uint8_t type) {
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

// The cursor and the row are copies that can stay in registers, as long as no call takes their
// address.
void PageWriter::write_row(BlockWriter& block, RowView row, const WireShape& shape) {
  BlockCursor out = block.lend_cursor(shape.row_words_max, row_text_max(row, shape));
  out.word(shape.place);
  for (const WireColumn& column : shape.columns) {
    switch (column.type) {
      case column_null:
        break;
      case static_cast<std::uint8_t>(EdmType::string):
        out.text(row.text(column.slot));
        break;
      case static_cast<std::uint8_t>(EdmType::binary):
        out.binary(row.text(column.slot));
        break;
      case static_cast<std::uint8_t>(EdmType::boolean):
        out.word(row.fixed<std::uint8_t>(column.slot));
        break;
      case static_cast<std::uint8_t>(EdmType::date_time):
        write_date_time(out, row.fixed<std::int64_t>(column.slot));
        break;
      case static_cast<std::uint8_t>(EdmType::float64):
      case static_cast<std::uint8_t>(EdmType::int64):
        out.two_words(row.fixed<std::uint64_t>(column.slot));
        break;
      case static_cast<std::uint8_t>(EdmType::guid):
        write_guid(out, row.guid(column.slot));
        break;
      case static_cast<std::uint8_t>(EdmType::int32):
        out.word(row.fixed<std::uint32_t>(column.slot));
        break;
      default:
        write_system(out, row, column.type);
    }
  }
  block.take_back(out);
}

void PageWriter::write_generic_row(BlockWriter& block, const RowView& row, const WireShape& shape) {
  BlockCursor out = block.lend_cursor(shape.row_words_max, row_text_max(row, shape));
  out.word(shape.place);
  const bool everything = shapes_.select().empty();
  for (const WireColumn& column : shape.columns) {
    if (column.type >= column_etag) {
      write_system(out, row, column.type);
    } else if (column.type != column_null && !everything) {
      const std::optional<ValueView> value = row.find(column.name);
      ENTITABLE_CHECK(value.has_value());
      write_value(out, *value);
    }
  }
  if (everything) {
    row.for_each_property(
        [&out](std::string_view, const ValueView& value) { write_value(out, value); });
  }
  block.take_back(out);
}

}  // namespace entitable::direct
