// A reader of the change feed: which changes it wants.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/index/key_range.h"
#include "core/live/change.h"
#include "core/query/bound_filter.h"

namespace entitable {

using FeedId = std::uint32_t;

struct FeedQuery {
  std::vector<std::string> tables{};  // in any spelling; empty: all tables
  KeyRange range{};
  Filter filter{};  // empty: all rows
};

class FeedSelection {
 public:
  explicit FeedSelection(FeedQuery query);

  // `table`: a folded name.
  bool covers_table(std::string_view table) const;
  bool covers(std::string_view table, const KeyView& key) const;
  // Returns whether the reader wants the change: the filter accepts the row before or after it, or
  // may accept the row before it, which is unknown. REQUIRES: `after` is set.
  bool accepts(const RowChange& change) const;
  bool accepts(const TableChange& change) const;

 private:
  FeedQuery query_;     // with folded names
  BoundFilter filter_;  // for rows of any shape, because each table has shapes of its own
};

}  // namespace entitable
