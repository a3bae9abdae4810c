#include "core/store/feed_readers.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "core/store/store_state.h"

namespace entitable {

const FeedReader* FeedReaders::find(std::string_view name) const {
  const auto at = state_.readers.find(name);
  return at == state_.readers.end() ? nullptr : &at->second;
}

bool FeedReaders::add(std::string_view name, const FeedPosition& from, Ticks now) {
  ENTITABLE_CHECK(state_.is_open());
  if (!is_feed_reader_name(name) || state_.readers.size() == readers_max) return false;
  if (!state_.readers.try_emplace(std::string(name), FeedReader{from, now}).second) return false;
  ++state_.readers_version;
  return true;
}

bool FeedReaders::acknowledge(std::string_view name, const FeedPosition& position, Ticks now) {
  const auto at = state_.readers.find(name);
  if (at == state_.readers.end()) return false;
  at->second = {std::max(at->second.acknowledged, position), now};
  ++state_.readers_version;
  return true;
}

bool FeedReaders::remove(std::string_view name) {
  const auto at = state_.readers.find(name);
  if (at == state_.readers.end()) return false;
  state_.readers.erase(at);
  ++state_.readers_version;
  return true;
}

}  // namespace entitable
