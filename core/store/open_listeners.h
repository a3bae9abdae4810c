// The listeners of a store, once the first was opened: records the changes that they cover.
#pragma once

#include <cstdint>
#include <memory>

#include "core/live/listeners.h"
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

 private:
  class CommitRecorder;

  Listeners listeners_;
};

}  // namespace entitable
