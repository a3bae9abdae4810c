// Feeds that read the log at present: they were opened after a sequence, or did not keep up. While
// they do, checkpoints keep the log for them as they keep it for durable readers (feed_readers.h),
// but only for as long as they go on: a reader that has stopped for age_max is ignored.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/model/date_time.h"

namespace entitable {

class LogReaders {
 public:
  static constexpr Ticks age_max = 10 * 60 * 1'000 * ticks_per_millisecond;

  struct Id {
    std::uint32_t client;
    std::uint32_t feed;  // the client's number of the feed
    friend bool operator==(const Id&, const Id&) = default;
  };

  // The feed has read all commits up to this one.
  void set(const Id& id, std::uint64_t commit) {
    const auto at = find(id);
    if (at == readers_.end()) {
      readers_.push_back({id, commit, 0});
    } else if (at->commit != commit) {
      *at = {id, commit, 0};
    }
  }
  void erase(const Id& id) { erase_if_at(id, 0); }
  // Forgets the feed if it has read all commits up to this one.
  void erase_if_at(const Id& id, std::uint64_t commit) {
    const auto at = find(id);
    if (at == readers_.end() || at->commit < commit) return;
    *at = readers_.back();
    readers_.pop_back();
  }
  void erase_client(std::uint32_t client) {
    const auto is_of = [client](const Reader& reader) { return reader.id.client == client; };
    readers_.erase(std::remove_if(readers_.begin(), readers_.end(), is_of), readers_.end());
  }

  // Returns the first commit that a feed needs. The age of a reader is counted from the first call
  // on in which it is where it is.
  std::optional<std::uint64_t> first_needed(Ticks now) {
    std::optional<std::uint64_t> needed;
    for (Reader& reader : readers_) {
      if (reader.seen_at == 0) reader.seen_at = now;
      const std::uint64_t next = reader.commit + 1;
      if (now - reader.seen_at <= age_max && next < needed.value_or(UINT64_MAX)) needed = next;
    }
    return needed;
  }

 private:
  struct Reader {
    Id id;
    std::uint64_t commit;
    Ticks seen_at;  // by a checkpoint; 0: by none
  };

  std::vector<Reader>::iterator find(const Id& id) {
    return std::find_if(readers_.begin(), readers_.end(),
                        [&](const Reader& reader) { return reader.id == id; });
  }

  std::vector<Reader> readers_;  // few, in any order
};

}  // namespace entitable
