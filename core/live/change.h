// What a commit changed, as the change feed and live queries see it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/refcounted.h"
#include "core/index/table_index.h"
#include "core/live/row_copy.h"
#include "core/model/commit.h"
#include "core/model/feed_position.h"
#include "core/model/table_identity.h"

namespace entitable {

enum class ChangeOp : std::uint8_t { insert, update, remove };

// What a commit did to one row: the row before the commit compared with the row after it, whichever
// operations led to it.
struct RowChange {
  Ref<TableIdentity> table;
  EntityKey key;
  bool existed_before = false;
  bool exists_after = false;
  // The row before the commit, if it existed. Unknown if the change was read from the log.
  std::optional<RowCopy> before = std::nullopt;
  // The row after the commit, if it exists. Set when the changes are taken (Listeners::take()).
  std::optional<RowView> after = std::nullopt;

  ChangeOp op() const {
    if (!existed_before) return ChangeOp::insert;
    return exists_after ? ChangeOp::update : ChangeOp::remove;
  }
};

struct TableChange {
  Ref<TableIdentity> table;
  bool created;  // false: dropped
  // The rows of a dropped table, if changes of them are to be taken. They are not changes of their
  // own.
  std::optional<TableIndex> dropped = std::nullopt;
};

// The changes of one commit. `rows` are in the order in which the commit first wrote each row. Rows
// that the commit left as they were, absent, are not listed. Neither are rows of a table that the
// same commit dropped.
struct ChangeBatch {
  FeedPosition position{};  // of the commit; its epoch is set when it is published
  CommitOrigin origin = CommitOrigin::local;
  ClientId client{};         // that made the call; zeros: the commit has no call
  Ticks last_timestamp = 0;  // the newest timestamp issued, including this commit
  std::vector<RowChange> rows{};
  std::vector<TableChange> tables{};
  // The changes are not known, or too many to list: readers must read again what they need. `rows`
  // and `tables` are empty then.
  bool unknown = false;
  std::uint64_t memory_bytes = 0;   // estimated, of the recorded changes
  std::uint64_t dropped_bytes = 0;  // of the rows of dropped tables
};

// A list, because moving batches from one list to another allocates nothing.
using ChangeBatches = std::list<ChangeBatch>;

// The memory that recorded changes may take until they are taken, in bytes.
inline constexpr std::uint64_t recorded_bytes_max = 32 * 1'048'576;
// Returns the same for a store with a memory limit; 0: none. Even if the limit is small, a group of
// writes that replaces rows of 16 MiB stays below: that memory is freed soon, when the changes are
// taken. A group of deletes or merges may replace larger rows than it has itself, and then exceed
// the bound.
constexpr std::uint64_t recorded_bytes_max_for(std::uint64_t memory_limit) {
  constexpr std::uint64_t bytes_min = 17 * 1'048'576;
  if (memory_limit == 0) return recorded_bytes_max;
  return std::clamp(memory_limit / 8, bytes_min, recorded_bytes_max);
}

// Changes that were recorded and not taken yet. If they take too much memory, they are dropped, and
// from then on the changes are not known. The rows of dropped tables do not count for that: they
// were in memory before.
class RecordedChanges {
 public:
  explicit RecordedChanges(std::uint64_t bytes_max = recorded_bytes_max) : bytes_max_(bytes_max) {}

  // Moves batches to the end. Allocates nothing.
  void append(ChangeBatches&& batches);
  void append(RecordedChanges&& later);
  void drop();                          // frees the memory; the changes are not known
  void set_epoch(std::uint64_t epoch);  // of all positions
  // Forgets the changes: none are recorded, and that is known.
  void clear() { *this = RecordedChanges(bytes_max_); }
  ChangeBatches release() {
    ChangeBatches batches = std::move(batches_);
    clear();
    return batches;
  }
  void set_bytes_max(std::uint64_t bytes);

  bool empty() const { return batches_.empty() && known_; }
  bool known() const { return known_; }
  std::uint64_t memory_bytes() const { return memory_bytes_ + dropped_bytes_; }
  std::uint64_t bytes_max() const { return bytes_max_; }
  bool lists_rows_of(TableId table) const;

 private:
  std::uint64_t bytes_max_;
  ChangeBatches batches_;
  std::uint64_t memory_bytes_ = 0;   // without dropped tables
  std::uint64_t dropped_bytes_ = 0;  // of these
  bool known_ = true;
};

}  // namespace entitable
