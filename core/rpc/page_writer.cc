#include "core/rpc/page_writer.h"

#include "core/base/check.h"
#include "core/rpc/response_cursor.h"

namespace entitable::rpc {
namespace {

// Returns an upper bound for any selection, because no name can be selected twice.
std::size_t row_text_max(const RowView& row, const WireShape& shape) {
  return shape.extra_row_text_max + row.packed_bytes() + row.partition().size();
}

[[gnu::always_inline]] inline void write_date_time(ResponseCursor& out, Ticks ticks) {
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

// Writes lower-case hexadecimal digits with hyphens, as model/guid.h does.
[[gnu::always_inline]] inline void write_guid(ResponseCursor& out, std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  char* to = out.allocate_ascii(guid_units);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *to++ = '-';
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    *to++ = digits[byte >> 4];
    *to++ = digits[byte & 15];
  }
}

void write_value(ResponseCursor& out, const ValueView& value) {
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

void PageWriter::write(ResponseBuffer& out, std::string_view table, std::span<const RowView> rows,
                       const std::vector<std::string>& select,
                       const std::optional<Continuation>& next) {
  partition_.reset();
  shape_of_.clear();
  MaxSize max_size;
  if (!rows.empty()) {
    shapes_.begin_page(table, select);
    max_size = find_shapes(rows);
  }
  constexpr std::size_t counts_and_next = 4;
  const std::size_t shapes = rows.empty() ? 0 : shapes_.size();
  ResponseWriter writer(out, ResponseKind::page, counts_and_next + max_size.words);
  // A selection may need only little text of large rows, so the area then grows as it is filled.
  if (select.empty()) writer.reserve_text(max_size.text);
  writer.word(static_cast<std::uint32_t>(rows.size()));
  writer.word(static_cast<std::uint32_t>(shapes));
  if (next.has_value()) {
    writer.text(next->next.partition);
    writer.text(next->next.row);
  } else {
    writer.word(none);
    writer.word(none);
  }
  if (shapes != 0) shapes_.write(writer);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].shape().is_generic()) {
      write_generic_row(writer, rows[i], *shape_of_[i]);
    } else {
      write_row(writer, rows[i], *shape_of_[i]);
    }
  }
  writer.finish();
}

// Finds the shape of each row. Returns the maximum size of the rows and their shapes.
PageWriter::MaxSize PageWriter::find_shapes(std::span<const RowView> rows) {
  MaxSize max_size;
  const Shape* last = nullptr;  // of the previous row; null if that shape is generic
  for (const RowView& row : rows) {
    const bool same = &row.shape() == last;
    const WireShape& shape = same ? *shape_of_.back() : shapes_.shape_of(row);
    if (!same) last = row.shape().is_generic() ? nullptr : &row.shape();
    shape_of_.push_back(&shape);
    max_size.words += shape.row_words_max;
    max_size.text += row_text_max(row, shape);
  }
  max_size.words += shapes_.words();
  return max_size;
}

[[gnu::always_inline]] inline void PageWriter::write_system_column(ResponseCursor& out,
                                                                   const RowView& row,
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

// The cursor and the row are copies. They can stay in registers as long as no call takes their
// address.
void PageWriter::write_row(ResponseWriter& writer, RowView row, const WireShape& shape) {
  ResponseCursor out = writer.open_cursor(shape.row_words_max, row_text_max(row, shape));
  out.word(shape.page_index);
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
        write_system_column(out, row, column.type);
    }
  }
  writer.commit_cursor(out);
}

void PageWriter::write_generic_row(ResponseWriter& writer, const RowView& row,
                                   const WireShape& shape) {
  ResponseCursor out = writer.open_cursor(shape.row_words_max, row_text_max(row, shape));
  out.word(shape.page_index);
  const bool selects_all = shapes_.select().empty();
  for (const WireColumn& column : shape.columns) {
    if (column.type >= column_etag) {
      write_system_column(out, row, column.type);
    } else if (column.type != column_null && !selects_all) {
      const std::optional<ValueView> value = row.find(column.name);
      ENTITABLE_CHECK(value.has_value());
      write_value(out, *value);
    }
  }
  if (selects_all) {
    row.for_each_property(
        [&out](std::string_view, const ValueView& value) { write_value(out, value); });
  }
  writer.commit_cursor(out);
}

}  // namespace entitable::rpc
