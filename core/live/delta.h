// What a watch's client must do to the rows that it has read, so that they are again the rows that
// the watch's query returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/index/row.h"
#include "core/model/key.h"

namespace entitable {

using WatchId = std::uint32_t;

enum class DeltaKind : std::uint8_t {
  enter,   // a row to insert
  update,  // a row to replace
  leave,   // a key whose row is to be removed
};

// A row that deltas refer to. It is listed once for all watches that it concerns.
struct ListedRow {
  EntityKey key;               // if `row` is absent
  std::optional<RowView> row;  // the row after the changes, if it exists

  KeyView key_view() const { return row.has_value() ? row->key() : key.view(); }
};
using ListedRows = std::vector<ListedRow>;

struct DeltaRow {
  DeltaKind kind;
  std::uint32_t row;  // a position in the list of rows
};

// How many rows a delta may have. A watch of which more rows have changed is reset: reading it
// again costs about as much, and many watches may have so large deltas.
inline constexpr std::size_t delta_rows_max = 50'000;

// The rows are in ascending order of their keys, and no key occurs twice. A client that keeps its
// rows in key order finds their positions by binary search.
struct WatchDelta {
  WatchId watch;
  // The client must drop its rows and read the watch again from its start, instead of applying
  // `rows`, which is empty.
  bool reset = false;
  // False: the query may return more rows than the client has after this delta. It must read on
  // (Watch::read()) before it shows the result.
  bool complete = true;
  std::vector<DeltaRow> rows{};
};

}  // namespace entitable
