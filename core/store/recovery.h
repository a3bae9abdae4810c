// Opens a store: reads the manifest, then applies the commits of the segments with
// Catalog::apply(), as live writes do. Parts are not loaded. Changes to their rows are collected in
// overlays (core/index/overlay.h), so the time to open a store depends on the size of the segments
// and not on how many parts they change.
//
// Damaged data is never read silently. A file that fails its checks is reported as Damage and
// ignored: a damaged manifest leaves the store empty, a damaged part leaves its key range empty,
// and a damaged or missing segment ends the replay before it. A store with damage opens read-only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/log/manifest_codec.h"
#include "core/store/call_window.h"
#include "core/store/candidate.h"
#include "core/store/stored_parts.h"

namespace entitable {

struct PartInfo {
  PartId id;
  std::uint64_t bytes;  // packed bytes of its rows, about the size of the file
};

class Recovery {
 public:
  // Starts with the content of the manifest, which is absent if the store had no checkpoint yet.
  // Damage of this and later files is added to `damage`, which must outlive this object. The only
  // error is FormatTooNew.
  static Result<Recovery> begin(std::optional<std::string_view> manifest,
                                std::vector<Damage>& damage);

  std::vector<PartInfo> parts() const;
  std::uint64_t first_live_sequence() const { return parts_.manifest().first_live_sequence; }
  // Loads a part; `bytes` is absent if the file is missing. Damage is recorded, and the part is
  // then loaded without rows. Does nothing if the part is already loaded. The only error is
  // FormatTooNew.
  Result<void> load_part(PartId id, std::optional<std::string_view> bytes);
  // Applies the commits of a segment. If the segment is damaged, records the damage; all later
  // segments are then ignored. The only error is FormatTooNew. REQUIRES: segments are passed in
  // ascending order.
  Result<void> replay(std::uint64_t sequence, std::string_view bytes);

  // The results, once all segments were replayed.
  StoreVersion& version() { return version_; }
  CallWindow& window() { return window_; }
  StoredParts& stored_parts() { return parts_; }
  std::uint64_t next_sequence() const { return next_sequence_; }
  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t segment_bytes() const { return segment_bytes_; }

 private:
  explicit Recovery(std::vector<Damage>& damage) : damage_(&damage) {}
  void restore_tables();
  Result<void> end_replay(std::string file, std::string message);
  void report(std::string file, std::string message);
  std::string apply(Commit commit);
  void restore_calls();
  void remember(ClientCall call, std::uint64_t commit);

  std::vector<Damage>* damage_;
  StoredParts parts_;
  StoreVersion version_;
  CallWindow window_;
  bool replaying_ = true;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t epoch_ = 1;
  std::uint64_t segment_bytes_ = 0;
};

}  // namespace entitable
