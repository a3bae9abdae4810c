// Runs queries against one version of a table: one bounded page at a time, or one row.
//
// Nothing is copied: rows are views into the version, which the answer pins. Writes made meanwhile
// are not seen and do no harm.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/query/planner.h"
#include "core/query/query.h"

namespace entitable {

struct Page {
  TableIndex pin;  // keeps the rows alive; not to be changed
  std::vector<RowView> rows;
  // The next row that matches, if there is one: a page that ends with the last match has none, even
  // when it is full.
  std::optional<Continuation> next;
  std::uint64_t rows_read = 0;  // looked at, those that did not match and the look-ahead included
  std::optional<std::string> partition = {};  // that it is of, if execute_as_service() made it
};

struct RowResult {
  TableIndex pin;
  RowView row;
};

// ResourceNotFound if there is no such row. The key may be one that cannot be stored.
std::variant<RowResult, Error, PartsNeeded> get_row(const TableIndex& index, const KeyView& key);

// The rows of the first so many keys that all have one in memory, and that a page may hold.
Page get_rows(const TableIndex& index, std::span<const KeyView> keys);

// The rows at or after query.from that match, in key order, at most query.top of them. A `top` of 0
// is an empty page that reads nothing and has no continuation. A page of huge rows ends before
// `top`, at limits::page_bytes_max. REQUIRES: query.top <= limits::page_rows_max; query.filter
// outlives the call.
std::variant<Page, PartsNeeded> execute(const TableIndex& index, const Query& query,
                                        OnUnloaded on_unloaded = OnUnloaded::return_parts_needed);

// The same rows, page after page, but read as the model of the real service does (explain.h): row
// by row through its one contiguous range, and a page ends where it leaves a partition, be it
// empty, with a continuation if the range has rows behind it. A query takes as many pages as
// explain() counts round trips. REQUIRES: as execute().
std::variant<Page, PartsNeeded> execute_as_service(const TableIndex& index, const Query& query);

}  // namespace entitable
