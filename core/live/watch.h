// A live query, as the core keeps it: which rows its client has, and whether a change of a row
// matters to it. Only a query with a limit keeps keys of rows; all others keep no rows at all.
//
// The client reads the watch from its start, page by page, and applies deltas in between:
//
//     start ........... next ........... end of the query's ranges
//     | rows were read; | rows were not read; changes are ignored,
//     | changes make    | because reading will return them
//     | deltas          |
//
// A watch is *complete* if it has nothing left to read: it was read to the end, or as many rows as
// its limit were read. The client's rows are then those that the query returns. If a row leaves a
// full limit, the watch is incomplete until the row that follows was read. If a row enters it, the
// last row leaves, and reading would continue with that row.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/live/delta.h"
#include "core/live/range_tree.h"
#include "core/model/limits.h"
#include "core/query/bound_filter.h"
#include "core/query/executor.h"
#include "core/query/planner.h"

namespace entitable {

// There is no `select`: which properties the client gets does not decide which rows change.
struct WatchQuery {
  Filter filter{};
  std::optional<std::uint32_t> limit{};          // at least 1; nothing: all rows
  std::optional<EntityKey> from = std::nullopt;  // the first key that may be returned
};

class Watch {
 public:
  // Adds the ranges of the query's plan to `ranges`, and the destructor removes them. REQUIRES:
  // `ranges` outlives this object; limit is not 0.
  Watch(WatchId id, WatchQuery query, RangeTree& ranges);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  WatchId id() const { return id_; }
  bool is_complete() const { return next_ == nullptr || is_full(); }
  // Returns whether the watch's ranges hold all keys: every write to the table must be tested then.
  bool covers_all_keys() const;

  // Forgets which rows were read: the watch must be read again from its start. If this throws
  // std::bad_alloc, nothing has changed.
  void reset();
  // Returns what the change of a row means for the client: nothing if the client does not have to
  // know. `before` and `after`: null if there was or is no such row. REQUIRES: a range of the
  // watch, as it is in the tree, holds the key of the row.
  std::optional<DeltaKind> match(const RowView* before, const RowView* after);
  // Applies the rows of a delta to the keys that a limit keeps. Adds the rows that do not fit any
  // more to the delta, and to `rows`, the list that it refers to. REQUIRES: the delta's rows are
  // the results of match() since the last call.
  void finish(WatchDelta& delta, ListedRows& rows);
  // Reads the next rows, at most `rows_max`, and tests about `rows_tested_max` rows at most
  // (execute_plan()), so there may be no rows although the watch is not complete. An answer other
  // than PartsNeeded changes what was read: the client must add these rows. If this throws
  // std::bad_alloc, nothing has changed. REQUIRES: `index` has the changes passed to match().
  std::variant<Page, PartsNeeded> read(
      const TableIndex& index, std::uint32_t rows_max, OnUnloaded on_unloaded,
      std::uint64_t rows_tested_max = limits::watch_rows_tested_max);

 private:
  // What must be tested on rows in the ranges; many watches have no such conditions.
  struct Conditions {
    Filter filter;
    std::vector<char> implied;  // as in Plan
    // Absent until a row is tested, and after a reset: the shapes of another schema may have the
    // ids of those that are bound.
    std::optional<BoundFilterCache> filters{};
    Conditions(Filter filter_in, std::vector<char> implied_in)
        : filter(std::move(filter_in)), implied(std::move(implied_in)) {}
  };
  // The watch's ranges in the tree. An object of its own, so that they are removed, too, if the
  // constructor of the watch throws.
  struct Ranges {
    RangeTree& tree;
    Watch* watch;
    std::vector<const KeyRange*> list{};  // ascending
    Ranges(RangeTree& tree_in, Watch* watch_in) : tree(tree_in), watch(watch_in) {}
    ~Ranges();
    Ranges(const Ranges&) = delete;
    Ranges& operator=(const Ranges&) = delete;
    void add(const std::vector<KeyRange>& ranges);
  };
  struct Limit {
    std::uint32_t rows_max;
    std::vector<EntityKey> keys{};  // of the rows that the client has, in order
    std::uint32_t rows_left() const { return rows_max - static_cast<std::uint32_t>(keys.size()); }
  };

  bool is_full() const { return limit_ != nullptr && limit_->rows_left() == 0; }
  Plan plan_rest() const;
  void mark_read(const Page& page);
  bool matches(const RowView& row);
  void merge_into_keys(const WatchDelta& delta, const ListedRows& rows);
  void drop_last_keys(WatchDelta& delta, ListedRows& rows);

  WatchId id_;
  Ranges ranges_;
  std::unique_ptr<Conditions> conditions_;  // null: every row of the ranges matches
  std::unique_ptr<Limit> limit_;
  std::unique_ptr<EntityKey> next_;  // the first key that was not read; null: all were read
};

}  // namespace entitable
