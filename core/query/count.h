// Counts the rows that match a query, without returning them.
//
// A filter of keys only needs no rows: the tree counts them. Any other filter is tested on each row
// of the plan's ranges.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "core/query/query.h"

namespace entitable {

struct MatchCount {
  std::uint64_t rows = 0;
  // Where the count goes on, if the rows from there on are not in memory.
  std::optional<Continuation> next;
  std::uint64_t rows_read = 0;
};

// Counts the matching rows at or after query.from, up to the first row that is not in memory.
// Returns PartsNeeded if that is the first row that it needs. Ignores query.top, query.select and
// query.descending. REQUIRES: query.filter outlives the call.
std::variant<MatchCount, PartsNeeded> count_matches(const TableIndex& index, const Query& query);

}  // namespace entitable
