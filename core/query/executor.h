// Runs queries against one version of a table: one bounded page at a time, or one row.
//
// Rows are not copied: they are views into the version, which the result keeps alive. Later writes
// do not change a result.
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

struct PinnedRow {
  TableIndex pin;
  RowView row;
};

// Returns the row with this key, or ResourceNotFound. The key may be one that cannot be stored.
std::variant<PinnedRow, Error, PartsNeeded> get_row(const TableIndex& index, const KeyView& key);

// Returns the rows of `keys`, in order. Stops before the first key whose row does not exist or is
// not in memory, or when the page is full.
Page get_rows_until_missing(const TableIndex& index, std::span<const KeyView> keys);

// Returns the matching rows at or after query.from, in key order, at most query.top of them. If the
// query is descending: those before query.from, in reverse order (descending.h). If
// query.top is 0, returns an empty page without a continuation and reads nothing. A page of large
// rows ends early, at limits::page_bytes_max. REQUIRES: query.top <= limits::page_rows_max;
// query.filter outlives the call.
std::variant<Page, PartsNeeded> execute(const TableIndex& index, const Query& query,
                                        OnUnloaded on_unloaded = OnUnloaded::return_parts_needed);

// Where a full page of execute_plan() ends.
enum class PageEnd : std::uint8_t {
  before_next_row,  // before the next matching row, which is searched for, as far as it may be
  after_last_row,   // after the last row: nothing more is read, and there may be no more rows
};

// Does the same with a given plan instead of make_plan(query.filter). REQUIRES: the plan reads and
// tests the rows as make_plan(query.filter) would, apart from rows that the caller does not want;
// query.top > 0; the query is not descending.
// `rows_tested_max`: the page ends, perhaps without rows, after about this number of rows was
// tested, and has a continuation. Each range of the plan counts as a row. Not 0.
std::variant<Page, PartsNeeded> execute_plan(const TableIndex& index, const Query& query,
                                             const Plan& plan, OnUnloaded on_unloaded,
                                             PageEnd page_end = PageEnd::before_next_row,
                                             std::uint64_t rows_tested_max = UINT64_MAX);

// Executes the query as the model of the real service does (explain.h): scans one contiguous range
// row by row. A page ends where the scan leaves a partition, even if the page is empty, and has a
// continuation if the range has more rows. All pages together have the same rows as those of
// execute(), and their number is the number of round trips that explain() reports. REQUIRES: as
// execute().
std::variant<Page, PartsNeeded> execute_as_service(const TableIndex& index, const Query& query);

}  // namespace entitable
