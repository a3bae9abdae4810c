// The durable readers of a store's change feed. A reader has a name, and the position up to which
// it has acknowledged changes. Both are in the manifest, so a checkpoint stores them. Until then, a
// crash loses what has changed: a reader gets batches again that it has acknowledged, and a new
// reader is not known. A host that adds or removes a reader therefore writes a checkpoint before it
// answers.
//
// Covered segments are kept as history for these readers (log_history.h).
//
// REQUIRES for all functions: the store is open and outlives the object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/log/manifest_codec.h"
#include "core/model/date_time.h"
#include "core/store/store.h"

namespace entitable {

class FeedReaders {
 public:
  static constexpr std::size_t readers_max = 256;
  static constexpr Ticks renewal_interval = 3600 * 1'000 * ticks_per_millisecond;

  explicit FeedReaders(Store& store) : state_(store.state()) {}

  // Returns the reader, or null if there is none of this name.
  const FeedReader* find(std::string_view name) const;
  // Adds a reader, or returns false: there is one of this name already, there are readers_max
  // readers, the name is not valid (is_feed_reader_name), or the store has not reached the
  // position. `from`: the reader gets the changes after this position. A time that a manifest
  // cannot store is replaced by the nearest that it can.
  bool add(std::string_view name, const FeedPosition& from, Ticks now);
  // Records that the reader does not need the changes up to this position any more. Returns false
  // if there is no such reader, or the store has not reached the position. A position that is not
  // after the one that it has acknowledged only renews the time, and only once in renewal_interval:
  // calls may arrive late, and each change of the readers needs a checkpoint.
  bool acknowledge(std::string_view name, const FeedPosition& position, Ticks now);
  bool remove(std::string_view name);  // returns whether the reader existed
  bool are_stored() const;             // whether a checkpoint has stored all that has changed

 private:
  StoreState& state_;
};

}  // namespace entitable
