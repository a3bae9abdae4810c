// Writes a page of rows as a response message (LAYOUT.md): each shape once, then the values of each
// row.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/index/row.h"
#include "core/query/query.h"
#include "core/rpc/message.h"
#include "core/rpc/timestamp_formatter.h"
#include "core/rpc/wire_shapes.h"

namespace entitable::rpc {

// Reuses its memory for the next page. The content of a response does not depend on earlier pages.
class PageWriter {
 public:
  // Replaces the content of `out`. `select` is a result of normalize_select(); empty selects
  // everything. `table` only makes shape hints differ between tables. REQUIRES: all rows belong to
  // one version of one table, and the caller keeps that version alive.
  void write(ResponseBuffer& out, std::string_view table, std::span<const RowView> rows,
             const std::vector<std::string>& select, const std::optional<Continuation>& next);
  // As write(), for rows that were read from a watch. `rows_read`: how many; `rows` may be empty
  // nevertheless.
  struct WatchProgress {
    std::size_t rows_read;
    bool complete;
    std::uint64_t sequence;
  };
  void write_watch_page(ResponseBuffer& out, std::string_view table, std::span<const RowView> rows,
                        const WatchProgress& progress);

 private:
  struct MaxSize {
    std::size_t words = 0;
    std::size_t text = 0;
  };
  MaxSize begin(std::string_view table, std::span<const RowView> rows,
                const std::vector<std::string>& select);
  MaxSize find_shapes(std::span<const RowView> rows);
  void write_rows(ResponseWriter& writer, std::span<const RowView> rows, const MaxSize& max_size,
                  const std::optional<Continuation>& next);
  void write_row(ResponseWriter& writer, RowView row, const WireShape& shape);
  void write_generic_row(ResponseWriter& writer, const RowView& row, const WireShape& shape);
  void write_system_column(UncheckedResponseWriter& out, const RowView& row, std::uint8_t type);

  WireShapes shapes_;
  std::vector<const WireShape*> shape_of_;     // one per row of the page
  std::optional<std::string_view> partition_;  // PartitionKey of the previous row
  TimestampFormatter times_;
};

}  // namespace entitable::rpc
