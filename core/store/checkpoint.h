// Writes a checkpoint in steps. The dirty key ranges of a pinned version become new parts, one at a
// time. A new manifest lists them together with the parts that are still clean.
//
// The pinned version is a copy (a few pointers). Writes continue meanwhile and are not part of it.
// A part is clean if every leaf that was written to it is still in the tree and the part has no
// overlay. Each leaf knows its part and the number of that part's leaves (core/index). Runs of
// dirty leaves are divided into parts of about part_bytes_target.
//
// Memory: the ranges are planned one by one, so only the rows of one new part need to be in memory.
// Once a part is stored, its leaves are clean and may be unloaded, long before the manifest is
// stored. A part with an overlay whose rows are unloaded is loaded into the pinned version, written
// with the overlay's changes, and may be unloaded again. Writes may unload parts in the live
// versions at any time, but only parts that are whole in the published version. The old part is
// therefore either clean in the pinned version, or has an overlay there and is replaced in the live
// versions.
//
// Crash safety: new parts are new files with new ids. The manifest is stored last; only then do the
// old parts become obsolete. Until then, recovery uses the old manifest and the log.
//
// If space is short, interim manifests make old parts obsolete earlier. An interim manifest is the
// manifest in force with new parts instead of the old parts of the same ranges. It covers no more
// of the log. Recovery therefore applies commits again to rows that already contain them. The
// result is the same: a commit holds whole rows, so the last commit decides. This has two
// conditions. The log must contain all commits of the pinned version. And tables are those of the
// manifest in force: the log creates, changes and drops tables, and can do so only once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/index/overlay.h"
#include "core/log/manifest_codec.h"
#include "core/store/call_window.h"
#include "core/store/candidate.h"
#include "core/store/stored_parts.h"

namespace entitable {

// A part is the unit that a first read loads and that a checkpoint rewrites after one change.
// Smaller parts cost more, because IndexedDB has a fixed cost per record.
inline constexpr std::uint64_t part_bytes_target = 250'000;

struct CheckpointPart {
  PartId id;
  std::string bytes;
};

struct CheckpointPartsEnd {};  // all parts were returned and are stored

// A manifest that may be stored before the checkpoint ends.
struct InterimManifest {
  Manifest manifest;
  // A part that must be stored before the manifest. It contains rows of an old part of which other
  // rows are in new parts.
  std::optional<CheckpointPart> extra_part;
};

using CheckpointStep = std::variant<CheckpointPart, PartsNeeded, CheckpointPartsEnd>;

class Checkpoint {
 public:
  // The log that the checkpoint covers.
  struct CoveredLog {
    std::uint64_t first_live_sequence;  // the first segment that recovery must still replay
    std::uint64_t epoch;
    const ManifestClaims& claims;
  };
  // Pins `version`. `previous` is the manifest in force. `part_bytes`: the size of parts, about.
  Checkpoint(const StoreVersion& version, const CallWindow& window, const Manifest& previous,
             const CoveredLog& log, std::uint64_t part_bytes);

  // Returns the next part to store, or the part whose rows must be loaded into tables() first.
  // `live`: the versions that are changed meanwhile. REQUIRES: part_pending() is false.
  CheckpointStep next_part(StoredParts& stored, const std::vector<Catalog*>& live);
  // Whether the host is storing the part that next_part() returned last.
  bool part_pending() const { return pending_.has_value(); }
  const ListedPart& pending_part() const { return pending_->stored; }
  // Records that the pending part is stored. Leaves of the pinned version that are still in use are
  // clean from now on. REQUIRES: part_pending().
  void mark_part_stored(const std::vector<Catalog*>& live);

  // Returns an interim manifest, or nothing if that needs too many rows of an old part now; the
  // next part may change that. REQUIRES: part_pending() is false; `stored` is as for next_part().
  std::optional<InterimManifest> interim_manifest(StoredParts& stored);

  // The new manifest. Complete once next_part() has returned CheckpointPartsEnd.
  const Manifest& manifest() const { return manifest_; }
  Manifest& manifest() { return manifest_; }
  // Moves the manifest out. REQUIRES: this is the last call.
  Manifest take_manifest() { return std::move(manifest_); }
  Catalog& tables() { return catalog_; }

 private:
  // A part whose rows a live version has not in memory. It is replaced there by the new parts that
  // are written from its rows.
  struct ReplacedPart {
    PartId id = 0;
    KeyRange range;
    Ref<Overlay> overlay;  // of the pinned version
    EntityKey next;        // where the part of `range` starts that is not planned yet
    std::vector<UnloadedPart> written;
  };
  // The leaves of the next part.
  struct Plan {
    KeyRange range;
    std::uint64_t rows = 0;
    bool replaces = false;       // the leaves belong to replaced_
    bool ends_replaced = false;  // these are the last leaves of replaced_
  };
  struct Pending {
    ListedPart stored;
    bool replaces = false;
    bool ends_replaced = false;
  };

  // The rows of a table from `from_` on, as an interim manifest lists them.
  struct RestOfTable {
    KeyRange extra;                   // rows for an extra part; may be empty()
    std::vector<ManifestPart> parts;  // the parts of the manifest in force after that
  };

  const Table& table() const { return *catalog_.tables()[table_]; }
  void begin_table();
  LeafIterator list_clean_parts(const StoredParts& stored);
  Plan plan_part(LeafIterator walk, const StoredParts& stored, const std::vector<Catalog*>& live);
  bool belongs_to_replaced(const LeafIterator& walk, const std::vector<Catalog*>& live);
  CheckpointPart write_part(const Plan& plan, StoredParts& stored);
  CheckpointPart write_rows(const KeyRange& range, StoredParts& stored, ManifestPart& part);
  std::optional<RestOfTable> find_rest_of_table(const ManifestTable& previous,
                                                const StoredParts& stored) const;
  void finish_replaced(const std::vector<Catalog*>& live);
  std::size_t clean_run(LeafIterator walk, const StoredParts& stored) const;

  Catalog catalog_;
  Manifest manifest_;
  std::uint64_t part_bytes_;
  std::size_t table_ = 0;          // position in catalog_.tables()
  bool in_table_ = false;          // manifest_ lists the table at `table_`
  std::optional<EntityKey> from_;  // where the next part of that table starts; nothing: at its end
  std::optional<ReplacedPart> replaced_;
  std::optional<Pending> pending_;
};

}  // namespace entitable
