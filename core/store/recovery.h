// Opens a store: reads the manifest, then applies the commits of the segments with
// Catalog::apply(), as live writes do. Parts are not loaded. Changes to their rows are collected in
// overlays (core/index/overlay.h), so the time to open a store depends on the size of the segments
// and not on how many parts they change.
//
// Damaged data is never read silently. A file that fails its checks is reported as Damage and
// ignored: a damaged manifest leaves the store empty, a damaged part leaves its key range empty,
// and a damaged or missing segment ends the replay before it. A store with damage opens read-only.
//
// Changes that no part holds stay in memory. A recovery with a limit for them stops applying
// segments above it, and only checks the rest of the log. When a checkpoint has stored the changes,
// another recovery resumes after the last segment that was applied.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/log/manifest_codec.h"
#include "core/log/segment.h"
#include "core/store/call_window.h"
#include "core/store/candidate.h"
#include "core/store/claim_history.h"
#include "core/store/log_history.h"
#include "core/store/stored_parts.h"

namespace entitable {

struct PartInfo {
  PartId id;
  std::uint64_t bytes;  // packed bytes of its rows, about the size of the file
};

// A position in the log: the number of the next segment, and the epoch of the segment before it.
struct LogPosition {
  std::uint64_t next_sequence = 1;
  std::uint64_t epoch = 1;
};

class Recovery {
 public:
  struct Content {
    StoreVersion version;
    CallWindow window;
    StoredParts parts;
    ClaimHistory claims;
    LogHistory history;
  };

  // Starts with the content of the manifest, which is absent if the store had no checkpoint yet.
  // `changes_max`: about how much memory changes that no part holds may take, in bytes; 0: no
  // limit. Damage of this and later files is added to `damage`, which must outlive this object. The
  // only error is FormatTooNew.
  static Result<Recovery> begin(std::optional<std::string_view> manifest, std::uint64_t changes_max,
                                std::vector<Damage>& damage);
  // Starts with the content at the position `at` of a log that ends at `end`.
  static Recovery resume(Content content, LogPosition at, LogPosition end,
                         std::uint64_t changes_max, std::vector<Damage>& damage);

  std::vector<PartInfo> parts() const;
  const Manifest& manifest() const { return content_.parts.manifest(); }
  // Loads a part; `bytes` is absent if the file is missing. Damage is recorded, and the part is
  // then loaded without rows. Does nothing if the part is already loaded. The only error is
  // FormatTooNew.
  Result<void> load_part(PartId id, std::optional<std::string_view> bytes);
  // Applies the commits of a segment, or only checks the segment if changes take too much memory.
  // If the segment is damaged, records the damage; all later segments are then ignored. The only
  // error is FormatTooNew. REQUIRES: segments are passed in ascending order.
  Result<void> replay(std::uint64_t sequence, std::string_view bytes);

  // The results, once all segments were replayed.
  StoreVersion& version() { return content_.version; }
  CallWindow& window() { return content_.window; }
  StoredParts& stored_parts() { return content_.parts; }
  ClaimHistory& claims() { return content_.claims; }
  LogHistory& history() { return content_.history; }
  std::uint64_t next_sequence() const { return applied_.next_sequence; }
  std::uint64_t epoch() const { return applied_.epoch; }
  // The size of the segments that were applied.
  std::uint64_t segment_bytes() const { return segment_bytes_; }
  // The end of the log if it has segments that were not applied.
  std::optional<LogPosition> unapplied_end() const {
    if (applied_.next_sequence == end_.next_sequence) return std::nullopt;
    return end_;
  }

 private:
  Recovery(std::uint64_t changes_max, std::vector<Damage>& damage)
      : damage_(&damage), changes_max_(changes_max) {}
  void restore_tables();
  Table& restore_table(const ManifestTable& table);
  std::string apply(Segment segment, std::uint64_t bytes);
  void measure(std::uint64_t applied_bytes);
  Result<void> end_replay(std::string file, std::string message);
  void report(std::string file, std::string message);
  std::string apply(Commit commit);
  void note_dropped_table(const DropTable& drop, std::uint64_t commit);
  void restore_calls();
  void remember(ClientCall call, std::uint64_t commit);

  std::vector<Damage>* damage_;
  std::uint64_t changes_max_;
  Content content_;
  bool replaying_ = true;
  bool is_full_ = false;  // segments are not applied any more
  std::uint64_t unmeasured_bytes_ = 0;
  LogPosition applied_;
  LogPosition checked_;  // of the segments passed to replay()
  LogPosition end_;      // of the log, as far as it is known
  std::uint64_t segment_bytes_ = 0;
};

}  // namespace entitable
