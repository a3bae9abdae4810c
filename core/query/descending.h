// Reads a page of a descending query. Internal to core/query.
#pragma once

#include <variant>

#include "core/query/query.h"

namespace entitable {

// Returns the matching rows below query.from, from the last to the first, at most query.top of
// them. The page's continuation is the last row returned, or where an unloaded leaf ends.
// REQUIRES: as execute(), and query.top > 0.
std::variant<Page, PartsNeeded> read_page_backward(const TableIndex& index, const Query& query,
                                                   OnUnloaded on_unloaded);

}  // namespace entitable
