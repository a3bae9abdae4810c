// A query, and the plain types of its results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/filter/ast.h"
#include "core/index/key_range.h"
#include "core/index/table_index.h"

namespace entitable {

// Parts (core/model/commit.h, PartId) that a call needs but that are not in memory. The caller must
// load the first of them and repeat the call. The call will probably need the others next, in this
// order; loading some of them early saves round trips.
struct PartsNeeded {
  std::vector<PartId> ids;
};

// Takes the place of a part that a call needs: the code that records writes of synced tables. The
// caller must load it and call SyncTables::enable(). Parts have greater numbers, so it is first.
inline constexpr PartId outbox_code = 0;

// What execute() does when it reaches rows that are not in memory.
enum class OnUnloaded {
  return_parts_needed,  // returns PartsNeeded
  end_page,  // ends the page there, with a continuation; if no row was read yet: PartsNeeded
};

// Where a page starts: the first key that the page may return, or if the query is descending, the
// key below which it continues. The key may be one that has no row.
struct Continuation {
  EntityKey next;
  friend bool operator==(const Continuation&, const Continuation&) = default;
};

// How many rows a call read and returned.
struct RowCounts {
  std::uint64_t read = 0;  // all rows tested
  std::uint64_t returned = 0;
  // The partition of the rows, if execute_as_service() read the page.
  std::optional<std::string> partition = {};
  friend bool operator==(const RowCounts&, const RowCounts&) = default;
};

struct Page {
  TableIndex pin;  // keeps the rows alive; must not be changed
  std::vector<RowView> rows;
  // The next matching row, if there is one. A page that ends with the last match has no
  // continuation, even when the page is full.
  std::optional<Continuation> next;
  std::uint64_t rows_read = 0;    // rows tested, matching or not, including the row of `next`
  std::uint64_t ranges_read = 0;  // ranges of the plan that were searched, by execute_plan()
  // the partition of the rows, if execute_as_service() returned the page
  std::optional<std::string> partition = {};
};

struct Query {
  Filter filter;
  // $select: property names in the order requested; empty: everything. PartitionKey, RowKey and
  // Timestamp are only returned when named.
  std::vector<std::string> select;
  std::uint32_t top = 1000;  // 0..limits::page_rows_max, checked by the entry points
  std::optional<Continuation> from;
  bool descending = false;  // returns the rows from the last to the first
};

}  // namespace entitable
