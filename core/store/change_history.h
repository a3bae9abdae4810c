// Reads changes back from the log, so that a reader of the change feed can continue after a commit
// that it has seen before.
//
//   ChangeHistory history(store, since);
//   for each stored segment from history.first_segment() on:
//     history.read_segment(sequence, bytes)
//   history.read_pending()
//
// After that, a feed that was opened before continues with the commits that are published later.
// With limits, stops early: another object then goes on after position().
//
// Positions of batches are not below `since`, even if its epoch is above that of the commits that
// follow it. Otherwise the reader would get them again and again.
//
// The log has the rows after each commit, and not those before it: `before` is always absent. It
// says of nearly all puts whether they inserted a row. A put of which it does not is an update: its
// row was not in memory, or an older release wrote the segment.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "core/base/result.h"
#include "core/live/change.h"
#include "core/log/segment.h"
#include "core/store/store.h"

namespace entitable {

// Changes that were read. The rows stay valid as long as this object.
struct PastChanges {
  ChangeBatches batches{};
  std::vector<TableIndex> pins{};  // own the rows; must not be changed
};

// How much is read at most. A commit is read whole, so it may exceed the bytes.
struct HistoryReadLimits {
  std::size_t batches = SIZE_MAX;
  std::size_t bytes = SIZE_MAX;  // of the rows after the commits, and of all keys
};

class ChangeHistory {
 public:
  // Reads the commits after `since`, as far as they are published now. Is truncated if the commit
  // at `since` was lost in a crash, or may have been: more owners have claimed the store since than
  // are known (claim_history.h). REQUIRES: the store is open and outlives this object.
  ChangeHistory(Store& store, const FeedPosition& since, const HistoryReadLimits& limits = {});

  // The first segment that the host has to pass, if this is not truncated. There may be none.
  std::uint64_t first_segment() const;
  // Returns the first position of which the changes can be read: for the error that a reader gets
  // whose changes cannot. It is above the position of a reader that has read this log.
  FeedPosition first_known() const;

  // The position up to which all changes were read.
  const FeedPosition& position() const { return progress_.position; }
  // Returns whether segments must be read before the commits that are not stored yet.
  bool needs_segment() const;
  // Returns whether everything is read that was published when this object was created.
  bool is_at_end() const { return !truncated_ && position().commit >= last_; }
  // Returns whether a limit is reached. Nothing more is returned.
  bool is_full() const { return progress_.is_full(); }

  // Returns the changes of a segment. The segment may be one that a manifest covers. Error:
  // corrupted or format_too_new, as decode_segment(). If this or read_pending() throws
  // std::bad_alloc, nothing was read, and the call may be repeated. REQUIRES: ascending sequences.
  Result<PastChanges> read_segment(std::uint64_t sequence, std::string_view bytes);
  // Does the same with a segment that was decoded. Takes no time for commits that were read before.
  PastChanges read_segment(const Segment& segment);
  // Returns the changes of commits that are not stored yet. Must be called last.
  PastChanges read_pending();
  // Returns whether commits after `since` are missing, or `since` is not a position of this log.
  // The reader must then read again what it needs, and continue at the store's present position.
  // Nothing more is returned.
  bool is_truncated() const { return truncated_; }

 private:
  struct KnownTable {
    Ref<TableIdentity> identity;
    TableIndex empty{};  // provides the schema in which rows are packed
  };

  struct Progress {
    FeedPosition position;
    HistoryReadLimits left;
    std::uint64_t last_shown;  // no commit after this one, up to the position, made a batch

    bool is_full() const { return left.batches == 0 || left.bytes == 0; }
    void count(const ChangeBatch& batch);
  };

  void read(const Commit& commit, std::uint64_t epoch, Progress& progress, PastChanges& changes);
  void remember_last_in_feed();
  bool is_known(const Mutation& mutation) const;
  void read_rows(const Commit& commit, ChangeBatch& batch, PastChanges& changes);
  void read_tables(const Commit& commit, ChangeBatch& batch);

  StoreState& state_;
  std::uint64_t epoch_min_;  // of `since`
  Progress progress_;
  std::uint64_t last_;  // the last commit to read
  bool truncated_ = false;
  // The last commit that was found to be missing, or to have a table whose name is not known.
  std::uint64_t last_unreadable_ = 0;
  std::map<TableId, KnownTable> tables_;
};

}  // namespace entitable
