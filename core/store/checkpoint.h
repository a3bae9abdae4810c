// Writes a checkpoint in steps. The changed key ranges of a version become new parts, one part per
// step. A new manifest lists the new parts and the parts that are still clean.
//
// The checkpoint keeps a copy of the version (a few pointers): the pinned version. Later writes do
// not change the copy. A part is clean if the tree still has all leaves that the part was written
// from or loaded into, unchanged, and the part has no overlay (core/index/overlay.h). All other
// leaves are dirty. Adjacent dirty leaves are divided into parts of about part_bytes_target.
//
// Crash safety: new parts are new files with new ids. The manifest is stored last; only then do the
// new parts become valid and the old ones obsolete.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/log/manifest_codec.h"
#include "core/store/call_window.h"
#include "core/store/candidate.h"

namespace entitable {

// The size of a part in bytes. A read must load at least one whole part, and a change makes a
// checkpoint rewrite a whole part, so parts should be small. They should not be smaller than this,
// because IndexedDB has a fixed cost per record.
inline constexpr std::uint64_t part_bytes_target = 250'000;

struct CheckpointPart {
  PartId id;
  std::string bytes;
};

class Checkpoint {
 public:
  // Pins `version`. `previous` lists the stored parts. `first_live_sequence` is the first segment
  // that recovery must still replay after this checkpoint. REQUIRES: no part of the version has an
  // overlay while its rows are unloaded.
  Checkpoint(const StoreVersion& version, const CallWindow& window, const Manifest& previous,
             std::uint64_t first_live_sequence, std::uint64_t epoch);

  // Returns the next part to store, or nothing when all were returned.
  std::optional<CheckpointPart> next_part();
  // manifest() and obsolete_parts() are complete once next_part() has returned nothing. An obsolete
  // part is one that the previous manifest lists and the new one does not.
  const Manifest& manifest() const { return manifest_; }
  // Moves the manifest out. REQUIRES: this is the last call.
  Manifest take_manifest() { return std::move(manifest_); }
  const std::vector<PartId>& obsolete_parts() const { return obsolete_; }
  // Must be called when the manifest is stored. Stores the ids of the new parts in the leaves of
  // the pinned version, which other versions share where they are unchanged.
  void mark_stored();

 private:
  struct Job {             // one part to write
    std::size_t table;     // position in manifest_.tables
    std::size_t position;  // in that table's parts
    KeyRange range;
  };

  class StoredParts;

  void plan_table(const Table& table, const StoredParts& stored);
  static std::size_t clean_run(const std::vector<LeafInfo>& leaves, std::size_t first,
                               const StoredParts& stored);
  void collect_obsolete(const Manifest& previous);

  Catalog catalog_;
  Manifest manifest_;
  std::vector<Job> jobs_;
  std::size_t next_job_ = 0;
  std::vector<PartId> obsolete_;
};

}  // namespace entitable
