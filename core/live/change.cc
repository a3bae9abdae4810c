#include "core/live/change.h"

#include <algorithm>

namespace entitable {

void RecordedChanges::append(ChangeBatches&& batches) {
  if (!known_) return;
  for (const ChangeBatch& batch : batches) {
    memory_bytes_ += batch.memory_bytes;
    dropped_bytes_ += batch.dropped_bytes;
  }
  batches_.splice(batches_.end(), batches);
  if (memory_bytes_ > bytes_max_) drop();
}

void RecordedChanges::append(RecordedChanges&& later) {
  if (!later.known_) drop();
  append(std::move(later.batches_));
}

void RecordedChanges::set_bytes_max(std::uint64_t bytes) {
  bytes_max_ = bytes;
  if (memory_bytes_ > bytes_max_) drop();
}

void RecordedChanges::set_epoch(std::uint64_t epoch) {
  for (ChangeBatch& batch : batches_) batch.position.epoch = epoch;
}

void RecordedChanges::drop() {
  batches_.clear();
  memory_bytes_ = 0;
  dropped_bytes_ = 0;
  known_ = false;
}

bool RecordedChanges::lists_rows_of(TableId table) const {
  return std::any_of(batches_.begin(), batches_.end(), [table](const ChangeBatch& batch) {
    return std::any_of(batch.rows.begin(), batch.rows.end(),
                       [table](const RowChange& change) { return change.table->id == table; });
  });
}

}  // namespace entitable
