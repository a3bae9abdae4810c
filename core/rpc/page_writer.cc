#include "core/rpc/page_writer.h"

#include "core/base/check.h"
#include "core/rpc/cell_payload.h"
#include "core/rpc/unchecked_response_writer.h"

namespace entitable::rpc {
namespace {

constexpr std::size_t counts_and_next = 4;  // words of a page before its shapes

// Returns an upper bound for any selection, because no name can be selected twice.
std::size_t row_text_max(const RowView& row, const WireShape& shape) {
  return shape.extra_row_text_max + row.packed_bytes() + row.partition().size();
}

// A value in a packed row, with the accessors of ValueView.
struct PackedValue {
  const RowView& row;
  std::uint32_t slot;

  std::string_view string() const { return row.text(slot); }
  std::string_view binary() const { return row.text(slot); }
  std::string_view guid_bytes() const { return row.guid(slot); }
  std::uint8_t boolean() const { return row.fixed_value<std::uint8_t>(slot); }
  Ticks date_time() const { return row.fixed_value<std::int64_t>(slot); }
  std::int32_t int32() const { return row.fixed_value<std::int32_t>(slot); }
  std::int64_t bits() const { return row.fixed_value<std::int64_t>(slot); }
};

}  // namespace

void PageWriter::write(ResponseBuffer& out, std::string_view table, std::span<const RowView> rows,
                       const std::vector<std::string>& select,
                       const std::optional<Continuation>& next) {
  const MaxSize max_size = begin(table, rows, select);
  ResponseWriter writer(out, ResponseKind::page, counts_and_next + max_size.words);
  write_rows(writer, rows, max_size, next);
  writer.finish();
}

void PageWriter::write_watch_page(ResponseBuffer& out, std::string_view table,
                                  std::span<const RowView> rows, const WatchProgress& progress) {
  constexpr std::size_t progress_words = 2 + 3;
  const MaxSize max_size = begin(table, rows, {});
  ResponseWriter writer(out, ResponseKind::watch_page,
                        counts_and_next + max_size.words + progress_words);
  write_rows(writer, rows, max_size, std::nullopt);
  writer.word(static_cast<std::uint32_t>(progress.rows_read));
  writer.word(progress.complete ? 1 : 0);
  writer.two_words(progress.sequence);
  writer.finish();
}

PageWriter::MaxSize PageWriter::begin(std::string_view table, std::span<const RowView> rows,
                                      const std::vector<std::string>& select) {
  partition_.reset();
  shape_of_.clear();
  if (rows.empty()) return {};
  shapes_.begin_page(table, select);
  return find_shapes(rows);
}

void PageWriter::write_rows(ResponseWriter& writer, std::span<const RowView> rows,
                            const MaxSize& max_size, const std::optional<Continuation>& next) {
  const std::size_t shapes = rows.empty() ? 0 : shapes_.size();
  // A selection may need only little text of large rows, so the area then grows as it is filled.
  if (shapes != 0 && shapes_.selected_names().empty()) writer.reserve_text(max_size.text);
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
  max_size.words += shapes_.word_count();
  return max_size;
}

[[gnu::always_inline]] inline void PageWriter::write_system_column(UncheckedResponseWriter& out,
                                                                   const RowView& row,
                                                                   std::uint8_t type) {
  switch (type) {
    case column_etag:
      return out.ascii(times_.etag(row.timestamp()));
    case column_timestamp:
      return out.ascii(times_.timestamp(row.timestamp()));
    case column_row:
      return out.text(row.row_key());
    default:
      if (partition_ == row.partition()) return out.word(none);
      partition_ = row.partition();
      return out.text(row.partition());
  }
}

// The cursor and the row are copies. They can stay in registers as long as no call takes their
// address.
void PageWriter::write_row(ResponseWriter& writer, RowView row, const WireShape& shape) {
  UncheckedResponseWriter out =
      writer.open_unchecked_writer(shape.row_words_max, row_text_max(row, shape));
  out.word(shape.page_index);
  const auto system = [&](std::uint8_t type) __attribute__((always_inline)) {
    write_system_column(out, row, type);
  };
  for (const WireColumn& column : shape.columns) {
    write_payload(out, column.type, PackedValue{row, column.slot}, system);
  }
  writer.commit_unchecked_writer(out);
}

void PageWriter::write_generic_row(ResponseWriter& writer, const RowView& row,
                                   const WireShape& shape) {
  UncheckedResponseWriter out =
      writer.open_unchecked_writer(shape.row_words_max, row_text_max(row, shape));
  out.word(shape.page_index);
  const bool selects_all = shapes_.selected_names().empty();
  const auto write_value = [&out](const ValueView& value) {
    write_payload(out, static_cast<std::uint8_t>(value.type()), value, [](std::uint8_t) {});
  };
  for (const WireColumn& column : shape.columns) {
    if (column.type >= column_etag) {
      write_system_column(out, row, column.type);
    } else if (column.type != column_null && !selects_all) {
      const std::optional<ValueView> value = row.find(column.name);
      ENTITABLE_CHECK(value.has_value());
      write_value(*value);
    }
  }
  if (selects_all) {
    row.for_each_property(
        [&write_value](std::string_view, const ValueView& value) { write_value(value); });
  }
  writer.commit_unchecked_writer(out);
}

}  // namespace entitable::rpc
