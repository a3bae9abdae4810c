// Live queries and the change feed of a store.
//
//   WatchId id = live.open_watch("people", query);
//   live.read_watch(id, 1000)                 the first page, and so on until it is complete
//   store.publish(); live.take_changes()      the deltas to apply to the rows that were read
//
// The listeners belong to the store; a LiveQueries object only refers to it, so it may be created
// for a single call. Listeners see what was published after they were opened.
//
// REQUIRES for all functions but take_changes(): the store is open. The host calls take_changes()
// soon after calls that may publish, roll back, restore or find damage; it may take the changes of
// several writes together. If it has not, or memory ran out in take_changes(), watches cannot be
// read until it has. The listeners of a store are not those of its forks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "core/live/listeners.h"
#include "core/query/executor.h"
#include "core/store/log_readers.h"
#include "core/store/store.h"

namespace entitable {

class OpenListeners;

// The next rows of a watch. They are exact for the position, which is that of the last commit.
struct WatchPage {
  Page page;      // page.next is not used
  bool complete;  // nothing is left to read
  FeedPosition position;
};

// Why a watch cannot be read now.
enum class WatchRefusal : std::uint8_t {
  closed,             // the watch is not open
  changes_not_taken,  // take_changes() must be called first
};

class LiveQueries {
 public:
  explicit LiveQueries(Store& store) : state_(store.state()) {}

  // Opens a watch. The table may not exist yet. If there is a candidate, whose changes were not
  // recorded for the watch, publishing it resets the watch. REQUIRES: the limit is not 0.
  WatchId open_watch(std::string_view table, WatchQuery query);
  bool close_watch(WatchId watch);            // returns whether the watch was open
  bool covers_all_keys(WatchId watch) const;  // Watch::covers_all_keys(); false: it is not open
  // Reads the next rows, at most `rows_max`, and none if the watch is complete. There may be none,
  // too, if many rows did not match (limits::watch_rows_tested_max): read on. While memory
  // exceeds its limit, ends at the first unloaded leaf, like Store::query(). Error: TableNotFound;
  // when the table is created, take_changes() resets the watch. REQUIRES: rows_max is from 1 to
  // limits::page_rows_max.
  std::variant<WatchPage, Error, PartsNeeded, WatchRefusal> read_watch(WatchId watch,
                                                                       std::uint32_t rows_max);

  // Opens a feed. Batches up to Store::last_commit() are not for it: they were published before,
  // and not taken yet. Returns nothing if there is a candidate, whose changes were not recorded for
  // the feed: the host repeats the call when the candidate was published or discarded.
  std::optional<FeedId> open_feed(FeedQuery query);
  bool close_feed(FeedId feed);  // returns whether the feed was open
  // The reader wants those changes of a batch that FeedSelection::accepts() accepts.
  const FeedSelection* feed(FeedId feed) const;  // null if the feed is not open

  // The feeds that read changes from the log. A host that serves them keeps this up to date.
  LogReaders& log_readers();

  // Returns what was published since the last call. Watches are reset, and feeds get one batch of
  // `unknown`, if the changes are not known: after a rollback, after a snapshot has replaced the
  // content, and after the rows of a damaged part were lost.
  TakenChanges take_changes();

 private:
  OpenListeners& open_listeners();  // creates them for the first listener
  Listeners* listeners() const;     // null if no listener was opened

  StoreState& state_;
};

}  // namespace entitable
