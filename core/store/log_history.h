// Which segments readers of the change feed can read. A checkpoint covers segments: the store does
// not need them any more. They are kept, as history, while a durable reader has not acknowledged
// their commits, within limits that the host gives with each checkpoint.
//
//     first kept segment         first live segment         next segment
//     | covered, kept as history | not covered              |
//
// Segments are counted in stretches that take about stretch_bytes in storage, so that a manifest
// does not list each segment. Only whole stretches are dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "core/log/manifest_codec.h"

namespace entitable {

// How much history a checkpoint keeps for durable readers.
struct HistoryLimits {
  std::uint64_t
      bytes;  // that segments take in storage (LogStretch::storage_bytes); 0: keep nothing
  Ticks age;  // of the last commit of a stretch
  Ticks now;
};
inline constexpr HistoryLimits no_history{0, 0, 0};

class LogHistory {
 public:
  static constexpr std::uint64_t stretch_bytes = 256 * 1024;

  LogHistory() = default;  // of a new log
  explicit LogHistory(const Manifest& manifest);

  struct SegmentCommits {
    std::uint64_t first = 0;  // 0: there are none
    std::uint64_t last = 0;
    Ticks last_timestamp = 0;
  };
  // Allocates memory for a number of segments, so that add_segment() does not allocate.
  void reserve_segments(std::size_t segments) { stretches_.reserve(stretches_.size() + segments); }
  // Adds the next segment of the log. If commits are missing before its first one, nothing before
  // it can be read further on.
  void add_segment(const SegmentCommits& commits, std::uint64_t bytes);
  // Adds tables that were dropped by later commits than those before. Allocates nothing.
  void add_dropped(std::list<DroppedTable>&& tables) { dropped_.splice(dropped_.end(), tables); }
  const std::list<DroppedTable>& dropped() const { return dropped_; }
  // Forgets all segments and dropped tables. For a store that has no log (core/store/README.md).
  void clear();

  // Must be called when a checkpoint begins: it covers the segments that were added so far.
  void end_stretch() { stretch_ended_ = true; }
  // Returns the history that a checkpoint keeps, if any. `manifest`: its new manifest.
  // `first_needed`: the first commit that a durable reader has not acknowledged; nothing: there are
  // no readers. Keeps the names of dropped tables to which commits in later segments refer, too.
  std::optional<ManifestHistory> history_to_keep(const Manifest& manifest,
                                                 std::optional<std::uint64_t> first_needed,
                                                 const HistoryLimits& limits) const;
  // Must be called when the manifest is stored. Allocates nothing, and keeps the memory that was
  // reserved.
  void mark_committed(const Manifest& manifest);

  // Returns the first commit from which on all commits up to `last_commit` can be read. `pending`:
  // how many of the last ones are not in the log yet.
  std::uint64_t first_commit(std::uint64_t last_commit, std::uint64_t pending) const;
  // Returns a segment at or before the one with this commit: reading may begin there.
  std::uint64_t segment_before(std::uint64_t commit) const;
  // Returns what the segments before this one that can be read take in storage.
  std::uint64_t bytes_before(std::uint64_t sequence) const;

 private:
  std::uint64_t first_sequence_ = 1;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t first_commit_ = 0;  // 0: no segment has commits
  std::uint64_t next_commit_ = 0;   // after the last segment with commits; 0: not known
  std::vector<LogStretch> stretches_;
  bool stretch_ended_ = false;
  std::list<DroppedTable> dropped_;  // in the order of their commits
};

}  // namespace entitable
