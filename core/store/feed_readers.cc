#include "core/store/feed_readers.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "core/log/field_codec.h"
#include "core/model/limits.h"
#include "core/store/store_state.h"

namespace entitable {
namespace {

// Returns whether a reader can have reached the position. A crash may have lost it, so its commit
// may be after the last one. A manifest with a greater number could not be read.
bool is_reached(const FeedPosition& position, const StoreState& state) {
  return position <= state.position() && position.commit <= counter_max;
}

// Returns the time as a manifest can store it.
Ticks storable(Ticks now) {
  return std::clamp(now, Ticks{0}, Ticks{limits::date_time_ticks_max});
}

}  // namespace

const FeedReader* FeedReaders::find(std::string_view name) const {
  const auto at = state_.readers.find(name);
  return at == state_.readers.end() ? nullptr : &at->second;
}

bool FeedReaders::add(std::string_view name, const FeedPosition& from, Ticks now) {
  ENTITABLE_CHECK(state_.is_open());
  if (!is_feed_reader_name(name) || state_.readers.size() >= readers_max) return false;
  if (!is_reached(from, state_)) return false;
  const FeedReader reader{from, storable(now)};
  if (!state_.readers.try_emplace(std::string(name), reader).second) return false;
  ++state_.readers_version;
  return true;
}

bool FeedReaders::acknowledge(std::string_view name, const FeedPosition& position, Ticks now) {
  const auto at = state_.readers.find(name);
  if (at == state_.readers.end() || !is_reached(position, state_)) return false;
  FeedReader& reader = at->second;
  const Ticks time = storable(now);
  const bool moves = position > reader.acknowledged;
  if (!moves && time - reader.acknowledged_at < renewal_interval) return true;
  reader = {std::max(reader.acknowledged, position), time};
  ++state_.readers_version;
  return true;
}

bool FeedReaders::are_stored() const {
  return state_.readers_version == state_.readers_version_stored;
}

bool FeedReaders::remove(std::string_view name) {
  const auto at = state_.readers.find(name);
  if (at == state_.readers.end()) return false;
  state_.readers.erase(at);
  ++state_.readers_version;
  return true;
}

}  // namespace entitable
