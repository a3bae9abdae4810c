// The wire shapes of a page in its response message (LAYOUT.md). A wire shape is the list of
// columns that a response has for all rows of one shape of the index, after $select. Internal to
// core/rpc.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/index/row.h"
#include "core/rpc/cell_payload.h"
#include "core/rpc/message.h"

namespace entitable::rpc {

struct WireColumn {
  std::uint8_t type;      // cell_payload.h
  std::uint32_t slot;     // in the row's shape
  std::string_view name;  // empty for system columns
};

struct WireShape {
  static constexpr std::uint32_t not_in_page = 0xFFFF'FFFF;
  std::uint32_t page_index = not_in_page;
  std::vector<WireColumn> columns;
  std::size_t row_words_max = 1;   // the shape's index and the payloads with their alignment
  std::size_t extra_row_text_max;  // bytes of text that are formatted, not copied from the row
  // The shape's words in the message: hint, number of columns, length of all names in UTF-16 units,
  // then one word per column.
  std::vector<std::uint32_t> header_words;
  std::string names;

  explicit WireShape(std::uint32_t hint);
  void add_column(std::uint8_t type, std::string_view name = {}, std::uint32_t slot = 0);
};

// Builds the wire shapes of a page. Caches them while pages have the same table and selection; the
// shapes of generic rows are kept for one page only. A page does not depend on what is cached.
class WireShapes {
 public:
  // Begins a page, at first without shapes. `select` is a result of normalize_select(); empty
  // selects everything.
  void begin_page(std::string_view table, const std::vector<std::string>& select);
  // Returns the wire shape of a row of the page. The shape is valid until the next begin_page().
  const WireShape& shape_of(const RowView& row);
  const std::vector<std::string>& selected_names() const { return select_; }

  // The shapes of the page so far, in the order of their indexes.
  std::size_t size() const { return page_.size(); }
  std::size_t word_count() const;
  void write(ResponseWriter& out) const;

 private:
  WireShape& add_cached(const RowView& row);
  WireShape& add_generic(const RowView& row);
  void fill(WireShape& shape, const RowView& row) const;
  void fill_selected(WireShape& shape, const RowView& row) const;

  struct CachedShape {
    const Shape* index_shape = nullptr;
    Ref<const Schema> schema;  // keeps index_shape alive, so its address is not reused
    std::unique_ptr<WireShape> shape;
  };

  std::string table_;
  std::vector<std::string> select_;
  std::uint32_t seed_ = 0;           // of the hints
  std::vector<CachedShape> cached_;  // by shape id; without the generic shape
  std::size_t cached_count_ = 0;
  std::vector<std::unique_ptr<WireShape>> generic_;  // only of this page
  std::vector<WireShape*> page_;
};

}  // namespace entitable::rpc
