// A page of rows as a reply block (LAYOUT.md): shapes once, then per row its payloads, all text in
// one area.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/direct/block.h"
#include "core/direct/timestamp_text.h"
#include "core/index/row.h"
#include "core/query/query.h"

namespace entitable::direct {

// Column types of a page: 0, the numbers of EdmType, and these.
inline constexpr std::uint8_t column_null = 0;
inline constexpr std::uint8_t column_etag = 16;
inline constexpr std::uint8_t column_partition = 17;
inline constexpr std::uint8_t column_row = 18;
inline constexpr std::uint8_t column_timestamp = 19;

// Keeps its memory from page to page, and nothing that a reply depends on.
class PageWriter {
 public:
  // Replaces what `out` holds. `select` as normalize_select() gives it; empty: everything. `table`
  // only makes the shapes' hints differ from table to table. REQUIRES: the version that the rows
  // come from is held.
  void write(ReplyBuffer& out, std::string_view table, std::span<const RowView> rows,
             const std::vector<std::string>& select, const std::optional<Continuation>& next);

 private:
  struct WireColumn {
    std::uint8_t type;
    std::uint32_t slot;     // of the row's shape
    std::string_view name;  // none for system columns
  };
  // One shape of the block: what a row of one index shape gives under the selection.
  struct WireShape {
    std::vector<WireColumn> columns;
    ShapeId source;
    std::uint32_t hint;
    std::size_t row_words_max;  // its shape, and payloads with their alignment
    std::size_t row_text_more;  // text that is not in the row as it is
    void add(std::uint8_t type, std::string_view name = {}, std::uint32_t slot = 0);
  };

  void forget_page();
  std::uint32_t shape_of(const RowView& row);
  std::uint32_t add_shape(const RowView& row);
  void add_everything(WireShape& shape, const RowView& row) const;
  void add_selected(WireShape& shape, const RowView& row) const;
  void write_shapes(BlockWriter& out);
  void write_row(BlockWriter& out, const RowView& row, const WireShape& shape);
  void write_system(BlockWriter& out, const RowView& row, std::uint8_t type);

  // Of the page that is being written.
  const std::vector<std::string>* select_ = nullptr;
  std::uint32_t seed_ = 0;
  std::optional<std::string_view> partition_;  // of the row before
  std::uint32_t shape_count_ = 0;
  std::vector<WireShape> shapes_;  // those from shape_count_ on are memory to be used again
  std::vector<std::uint32_t>
      by_shape_id_;                      // position in shapes_ + 1, or 0; the generic is not in it
  std::vector<std::uint32_t> shape_at_;  // per row
  std::vector<std::uint32_t> column_words_;

  TimestampText times_;
};

}  // namespace entitable::direct
