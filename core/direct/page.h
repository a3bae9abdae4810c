// A page of rows as a reply block (LAYOUT.md): shapes once, then per row its payloads, all text in
// one area.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/direct/block.h"
#include "core/direct/timestamp_text.h"
#include "core/direct/wire_shapes.h"
#include "core/index/row.h"
#include "core/query/query.h"

namespace entitable::direct {

// Keeps its memory from page to page, and nothing that a reply depends on.
class PageWriter {
 public:
  // Replaces what `out` holds. `select` as normalize_select() gives it; empty: everything. `table`
  // only makes the shapes' hints differ from table to table. REQUIRES: the rows are of one version
  // of one table, which is held.
  void write(ReplyBuffer& out, std::string_view table, std::span<const RowView> rows,
             const std::vector<std::string>& select, const std::optional<Continuation>& next);

 private:
  struct Room {
    std::size_t words = 0;
    std::size_t text = 0;
  };
  Room find_shapes(std::span<const RowView> rows);
  void write_row(BlockWriter& block, RowView row, const WireShape& shape);
  void write_generic_row(BlockWriter& block, const RowView& row, const WireShape& shape);
  void write_system(BlockCursor& out, const RowView& row, std::uint8_t type);

  WireShapes shapes_;
  std::vector<const WireShape*> shape_of_;     // per row of the page
  std::optional<std::string_view> partition_;  // of the row before
  TimestampText times_;
};

}  // namespace entitable::direct
