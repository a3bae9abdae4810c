// A host for the store without a browser: files in memory, stored whole or not at all. It may crash
// between any two steps, and tests may damage what it holds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/log/file_names.h"
#include "core/store/store.h"

namespace entitable::test {

class Disk {
 public:
  std::optional<std::string> manifest;
  std::map<PartId, std::string> parts;
  std::map<std::uint64_t, std::string> segments;

  // Opens a store from what is here, as a host does.
  Result<Store> open() const {
    Store store;
    const auto parts_needed =
        manifest.has_value() ? store.recover(*manifest) : store.recover(std::nullopt);
    if (!parts_needed.ok()) return parts_needed.error();
    for (const PartInfo& info : *parts_needed) {
      const auto at = parts.find(info.id);
      if (at == parts.end()) continue;
      if (const auto loaded = store.load_part(info.id, at->second); !loaded.ok())
        return loaded.error();
    }
    for (const auto& [sequence, bytes] : segments) {
      if (sequence < store.first_live_sequence()) continue;
      if (const auto replayed = store.replay(sequence, bytes); !replayed.ok())
        return replayed.error();
    }
    store.recovered();
    return store;
  }

  // Stores everything that is pending, a staged candidate included.
  void store_pending(Store& store) {
    if (auto segment = store.seal()) {
      segments[segment->sequence] = std::move(segment->bytes);
      store.stored(segment->sequence);
    }
  }

  // Makes the store the owner of the log; gives the number of the segment that says so.
  std::uint64_t claim(Store& store) {
    SealedSegment segment = store.claim();
    segments[segment.sequence] = std::move(segment.bytes);
    store.stored(segment.sequence);
    return segment.sequence;
  }

  // One whole checkpoint. `stop_after`: crash after that many files were written (the store is then
  // to be reopened).
  bool checkpoint(Store& store, std::size_t stop_after = SIZE_MAX) {
    return !store.begin_checkpoint() || write_checkpoint(store, stop_after);
  }

  // The same of one that has begun.
  bool write_checkpoint(Store& store, std::size_t stop_after = SIZE_MAX) {
    std::size_t written = 0;
    while (auto part = store.next_checkpoint_part()) {
      if (written++ == stop_after) return false;
      parts[part->id] = std::move(part->bytes);
    }
    if (written == stop_after) return false;
    CheckpointEnd end = store.finish_checkpoint();
    manifest = std::move(end.manifest);
    segments.erase(segments.begin(), segments.lower_bound(end.segments_below));
    for (const PartId id : end.obsolete_parts) parts.erase(id);
    store.checkpoint_committed();
    return true;
  }
};

}  // namespace entitable::test
