// Opens a store: reads the manifest, then applies the segments with the same apply(Commit) as live
// writes. Parts stay unloaded. Changes that segments make to their rows wait in an overlay
// (core/index/overlay.h), so opening takes time proportional to the log, however scattered its
// changes are.
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
#include "core/store/stored_part.h"
#include "core/store/writer.h"

namespace entitable {

struct PartInfo {
  PartId id;
  std::uint64_t bytes;  // packed bytes of its rows, about the size of the file
};

class Recovery {
 public:
  // Begins the recovery. A store that is new or has had no checkpoint has no manifest. The only
  // error is FormatTooNew.
  static Result<Recovery> begin(std::optional<std::string_view> manifest,
                                std::vector<Damage>& damage);

  std::vector<PartInfo> parts() const;
  std::uint64_t first_live_sequence() const { return manifest_.first_live_sequence; }
  // Loads a part; `bytes` is absent if the file is missing. Damage is recorded and leaves the
  // part's range empty. The only error is FormatTooNew. Does nothing if the part is already loaded.
  Result<void> load_part(PartId id, std::optional<std::string_view> bytes);
  // Applies a segment. Damage is recorded, and later segments are ignored. The only error is
  // FormatTooNew.
  Result<void> replay(std::uint64_t sequence, std::string_view bytes);

  // The results.
  Version& version() { return version_; }
  CallWindow& window() { return window_; }
  Manifest& manifest() { return manifest_; }
  std::uint64_t next_sequence() const { return next_sequence_; }
  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t segment_bytes() const { return segment_bytes_; }

 private:
  explicit Recovery(std::vector<Damage>& damage) : damage_(&damage) {}
  void restore_tables();
  Result<void> end_replay(std::string file, std::string message);
  void report(std::string file, std::string message);
  std::string apply(Commit commit);
  void remember(ClientCall call);

  std::vector<Damage>* damage_;
  Manifest manifest_;
  Version version_;
  CallWindow window_;
  bool replaying_ = true;
  std::uint64_t next_sequence_ = 1;
  std::uint64_t epoch_ = 1;
  std::uint64_t segment_bytes_ = 0;
};

}  // namespace entitable
