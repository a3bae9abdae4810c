// Everything that listens to a store: watches (live queries) and readers of the change feed. Also
// the changes that were published and not taken yet.
//
// Without listeners, nothing is recorded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "core/live/change.h"
#include "core/live/delta.h"
#include "core/live/feed_selection.h"
#include "core/live/watches.h"

namespace entitable {

// What listeners have to know. The rows stay valid as long as this object.
struct TakenChanges {
  // One for each commit that has a change of a row or table that a listener covers, oldest first.
  ChangeBatches batches{};
  // At most one for each watch. They lead from the version of the previous call to the published
  // one, whatever happened in between.
  std::vector<WatchDelta> deltas{};
  ListedRows rows{};               // the rows of the deltas
  std::vector<TableIndex> pins{};  // own the rows that are not copies; must not be changed
};

class Listeners {
 public:
  // The rows of a table in the published version, or null: by id, by folded name.
  struct Published {
    std::function<const TableIndex*(TableId)> by_id;
    std::function<const TableIndex*(std::string_view)> by_name;
    FeedPosition position;  // of the last commit
  };

  bool any() const { return !watches_.empty() || !feeds_.empty(); }
  // Returns whether changes of the row, or of the table, must be recorded. `table`: a folded name.
  bool covers(std::string_view table, const KeyView& key) const;

  Watches& watches() { return watches_; }
  bool close_watch(WatchId id);  // returns whether the watch was open
  FeedId open_feed(FeedQuery query);
  bool close_feed(FeedId id);                  // returns whether the feed was open
  const FeedSelection* feed(FeedId id) const;  // null if the feed is not open

  WatchId last_watch() const { return watches_.last_id(); }
  // Adds the changes of commits that are now published, in this epoch. `recorded_for`: last_watch()
  // when recording began. Changes were not recorded for watches that were opened later, so these
  // are reset. Allocates nothing.
  void publish(RecordedChanges&& changes, WatchId recorded_for, std::uint64_t epoch);
  // Must be called when the published version changes otherwise. Allocates nothing.
  void mark_changes_unknown(CommitOrigin origin) {
    unknown_origin_ = origin;
    recorded_.drop();
  }
  // The changes of published commits that were not taken yet.
  const RecordedChanges& recorded() const { return recorded_; }
  std::uint64_t memory_bytes() const { return recorded_.memory_bytes(); }
  // Sets how much memory they may take, in bytes.
  void set_recorded_bytes_max(std::uint64_t bytes) { recorded_.set_bytes_max(bytes); }
  bool has_changes() const {
    return !recorded_.empty() || unknown_origin_.has_value() || watches_to_reset_.has_value();
  }

  // Returns what was published since the last call. If it throws std::bad_alloc, the next result
  // resets all watches and has one batch of `unknown`. So does this result if the changes took too
  // much memory, or rows that have changed are not in memory any more, or were not recorded while
  // no listener covered them.
  TakenChanges take(const Published& published);

 private:
  void forget_if_unused();
  TakenChanges take_recorded(const Published& published);
  TakenChanges take_unknown(const FeedPosition& position);
  void drop_uncovered(ChangeBatches& batches) const;
  bool find_rows_after(TakenChanges& taken, std::vector<RowChange*>& changes,
                       const Published& published) const;
  void match(const TakenChanges& taken, const std::vector<RowChange*>& changes,
             Watches::DeltaBuilder& builder);

  Watches watches_;
  std::map<FeedId, FeedSelection> feeds_;
  FeedId last_feed_ = 0;
  RecordedChanges recorded_;
  std::optional<CommitOrigin> unknown_origin_;
  std::optional<WatchIds> watches_to_reset_;  // whose changes were not recorded
};

}  // namespace entitable
