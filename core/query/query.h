// A query and its answers as plain data.
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

// Part ids that must be loaded before a read can be answered (design: leaves may be absent).
struct NeedParts {
  std::vector<PartId> ids;
};

// Where a page starts: the first key that it may return. Unlike a stored key it may name an entity
// that is gone.
struct Continuation {
  EntityKey next;
  friend bool operator==(const Continuation&, const Continuation&) = default;
};

struct Query {
  Filter filter;
  // $select: names in the order asked for; empty: everything. PartitionKey, RowKey and Timestamp
  // are only given when named.
  std::vector<std::string> select;
  std::uint32_t top = 1000;  // 0..limits::page_rows_max, checked by the door
  std::optional<Continuation> from;
};

}  // namespace entitable
