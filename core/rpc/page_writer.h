// A page of rows as a reply block (LAYOUT.md): shapes once, then per row its payloads, all text in
// one area.
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

// Keeps its memory from page to page, and nothing that a reply depends on.
class PageWriter {
 public:
  // Replaces what `out` holds. `select` as normalize_select() gives it; empty: everything. `table`
  // only makes the shapes' hints differ from table to table. REQUIRES: the rows are of one version
  // of one table, which is held.
  void write(ResponseBuffer& out, std::string_view table, std::span<const RowView> rows,
             const std::vector<std::string>& select, const std::optional<Continuation>& next);

 private:
  struct MaxSize {
    std::size_t words = 0;
    std::size_t text = 0;
  };
  MaxSize find_shapes(std::span<const RowView> rows);
  void write_row(ResponseWriter& writer, RowView row, const WireShape& shape);
  void write_generic_row(ResponseWriter& writer, const RowView& row, const WireShape& shape);
  void write_system_column(ResponseCursor& out, const RowView& row, std::uint8_t type);

  WireShapes shapes_;
  std::vector<const WireShape*> shape_of_;     // per row of the page
  std::optional<std::string_view> partition_;  // of the row before
  TimestampFormatter times_;
};

}  // namespace entitable::rpc
