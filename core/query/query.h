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

// Parts that are not in memory (leaves may be absent). The first one must be loaded before the call
// is made again; the others are what it would meet next, in that order, so that loading some of
// them saves round trips.
struct PartsNeeded {
  std::vector<PartId> ids;
};

// What a page does where rows are absent.
enum class OnUnloaded {
  return_parts_needed,  // returns PartsNeeded
  end_page,             // ends there, with a continuation, if it has read any row before
};

// Where a page starts: the first key that it may return. Unlike a stored key it may name an entity
// that is gone.
struct Continuation {
  EntityKey next;
  friend bool operator==(const Continuation&, const Continuation&) = default;
};

// What answering took.
struct RowCounts {
  std::uint64_t read = 0;  // looked at
  std::uint64_t returned = 0;
  // Where those rows are, of a page that was read as the service reads (executor.h).
  std::optional<std::string> partition = {};
  friend bool operator==(const RowCounts&, const RowCounts&) = default;
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
