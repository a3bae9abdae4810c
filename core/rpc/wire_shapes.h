// The shapes of a page as they stand in its block (LAYOUT.md): what rows of one index shape give
// under a selection. Internal to core/rpc.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/index/row.h"
#include "core/rpc/message.h"

namespace entitable::rpc {

// Column types of a page: 0, the numbers of EdmType, and these.
inline constexpr std::uint8_t column_null = 0;
inline constexpr std::uint8_t column_etag = 16;
inline constexpr std::uint8_t column_partition = 17;
inline constexpr std::uint8_t column_row = 18;
inline constexpr std::uint8_t column_timestamp = 19;

inline constexpr std::size_t guid_units = 36;

struct WireColumn {
  std::uint8_t type;
  std::uint32_t slot;     // of the row's shape
  std::string_view name;  // none for system columns
};

struct WireShape {
  static constexpr std::uint32_t not_in_page = 0xFFFF'FFFF;
  std::uint32_t page_index = not_in_page;
  std::vector<WireColumn> columns;
  std::size_t row_words_max = 1;   // its place, and payloads with their alignment
  std::size_t extra_row_text_max;  // text that is not in the row as it is
  // The shape in the block: `head` is its words, of which names_units stands in [2].
  std::vector<std::uint32_t> header_words;
  std::string names;

  explicit WireShape(std::uint32_t hint);
  void add(std::uint8_t type, std::string_view name = {}, std::uint32_t slot = 0);
};

// Keeps shapes from page to page, as long as pages are of one table and one selection; the shapes
// of generic rows only for their page. What a page gets does not depend on what was kept.
class WireShapes {
 public:
  // A page without shapes. `select` as normalize_select() gives it; empty: everything.
  void begin_page(std::string_view table, const std::vector<std::string>& select);
  // The shape of a row of the page; valid until the next begin().
  const WireShape& shape_of(const RowView& row);
  const std::vector<std::string>& select() const { return select_; }

  // Those of the page so far, in the order of their places.
  std::size_t size() const { return page_.size(); }
  std::size_t words() const;
  void write(ResponseWriter& out) const;

 private:
  WireShape& add_cached(const RowView& row);
  WireShape& add_generic(const RowView& row);
  void fill(WireShape& shape, const RowView& row) const;
  void fill_selected(WireShape& shape, const RowView& row) const;

  struct CachedShape {
    const Shape* index_shape = nullptr;
    Ref<const Schema> schema;  // of that shape: held, so that no other shape can be in its place
    std::unique_ptr<WireShape> shape;
  };

  std::string table_;
  std::vector<std::string> select_;
  std::uint32_t seed_ = 0;           // of the hints
  std::vector<CachedShape> cached_;  // by shape id; not the generic one
  std::size_t cached_count_ = 0;
  std::vector<std::unique_ptr<WireShape>> generic_;  // of this page
  std::vector<WireShape*> page_;
};

}  // namespace entitable::rpc
