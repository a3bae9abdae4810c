// The listeners of a store, once the first was opened: records the changes that they cover.
#pragma once

#include <cstddef>
#include <variant>

#include "core/live/listeners.h"
#include "core/log/pending_records.h"
#include "core/query/query.h"
#include "core/store/store_listeners.h"

namespace entitable {

class OpenListeners final : public StoreListeners {
 public:
  explicit OpenListeners(std::uint64_t memory_limit) { set_memory_limit(memory_limit); }

  Listeners& all() { return listeners_; }

  bool any() const override { return listeners_.any(); }
  std::unique_ptr<Recorder> make_recorder() const override;
  void publish(Recorder* recorder, std::uint64_t epoch) override;
  void mark_changes_unknown(CommitOrigin origin) override {
    listeners_.mark_changes_unknown(origin);
  }
  std::uint64_t memory_bytes() const override { return listeners_.memory_bytes(); }
  void set_memory_limit(std::uint64_t bytes) override {
    listeners_.set_recorded_bytes_max(recorded_bytes_max_for(bytes));
  }

  // Returns a recorder that has recorded all commits that are staged on `published`, for a listener
  // that was opened since. `records`: the commits, from the position `first` on. Or returns the
  // parts to load: an upsert that no listener covered has not needed the part of its row.
  std::variant<std::unique_ptr<Recorder>, PartsNeeded> record_staged(const PendingRecords& records,
                                                                     std::size_t first,
                                                                     Catalog published) const;

 private:
  class CommitRecorder;

  Listeners listeners_;
};

}  // namespace entitable
