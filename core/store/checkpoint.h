// A checkpoint in slices: the dirty key ranges of a pinned version become parts, one at a time, and
// a manifest ties them to the parts that are still good.
//
// The version is a copy (a few pointers), so writes go on meanwhile and are not in it. A part is
// clean if every leaf it was written from is still in the tree, and nothing in the log lies over
// it; leaves know their part and how many there were (core/index). Runs of dirty leaves are cut
// into parts of about part_bytes_target.
//
// Crash safety: parts are new files under new ids; only the manifest, committed last, makes them
// count and the old ones obsolete.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/log/manifest_codec.h"
#include "core/store/call_window.h"
#include "core/store/writer.h"

namespace entitable {

// What a first read waits for, and what one change costs a checkpoint; IndexedDB charges a record
// 0.3 ms.
inline constexpr std::uint64_t part_bytes_target = 250'000;

struct CheckpointPart {
  PartId id;
  std::string bytes;
};

class Checkpoint {
 public:
  // Pins `version`. `previous` lists the stored parts it may keep; `first_live_sequence` is the
  // first segment that a reader of the manifest must still replay. REQUIRES: the version has no
  // overlaid parts.
  Checkpoint(const Version& version, const CallWindow& window, const Manifest& previous,
             std::uint64_t first_live_sequence, std::uint64_t epoch);

  // The next part to store, or nothing when all are given out.
  std::optional<CheckpointPart> next_part();
  // REQUIRES: next_part() gave nothing. The manifest, and the parts that it no longer names.
  const Manifest& manifest() const { return manifest_; }
  Manifest take_manifest() { return std::move(manifest_); }  // as the last call
  const std::vector<PartId>& obsolete_parts() const { return obsolete_; }
  // The manifest is stored: leaves of the pinned version that are still in use remember their new
  // parts.
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
