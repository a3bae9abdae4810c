// The state behind a Store. Internal to core/store: only Store and the classes that work on a store
// use it (snapshot_export.h, restore.h, versions.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/log/pending_records.h"
#include "core/store/call_window.h"
#include "core/store/candidate.h"
#include "core/store/catalog.h"
#include "core/store/checkpoint.h"
#include "core/store/claim_history.h"
#include "core/store/explanations.h"
#include "core/store/log_history.h"
#include "core/store/log_readers.h"
#include "core/store/memory_limit.h"
#include "core/store/recovery.h"
#include "core/store/restored_content.h"
#include "core/store/store_listeners.h"
#include "core/store/stored_parts.h"

namespace entitable {

struct StoreState {
  StoreVersion published;
  CallWindow window;
  Candidate::Scratch scratch;
  std::optional<Candidate> candidate;

  // The records of commits that no stored segment holds: published commits, then the candidate's.
  PendingRecords pending;
  std::uint64_t stored_commit = 0;   // the newest commit in a stored segment
  std::uint64_t sealed_through = 0;  // the newest commit in the last sealed segment
  struct Sealed {
    LogHistory::SegmentCommits commits;
    std::uint64_t bytes;
  };
  std::vector<Sealed> sealed;  // the segments that are sealed but not stored
  std::uint64_t next_sequence = 1;
  std::uint64_t epoch = 1;  // of the next segment
  // The epoch of positions in the change feed: `epoch`, once the log has it. If its claim was not
  // stored, for example because there was no space, the next owner of the log begins the same
  // epoch.
  std::uint64_t feed_epoch = 1;
  ClaimHistory claims;
  LogHistory history;
  LogReaders log_readers;
  FeedReadersByName readers;
  std::uint64_t readers_version = 0;                // rises with each change of `readers`
  std::uint64_t readers_version_stored = 0;         // of those in the manifest
  std::uint64_t readers_version_at_checkpoint = 0;  // of those in the checkpoint's manifest
  // The end of the log if it has segments that recovery has checked but not applied yet.
  std::optional<LogPosition> unapplied_end;

  StoredParts parts;                // in storage, with the manifest of the last checkpoint
  std::uint64_t segment_bytes = 0;  // size of all segments that the manifest does not cover
  std::optional<Checkpoint> checkpoint;
  std::uint64_t part_bytes = part_bytes_target;
  std::uint64_t segment_bytes_at_checkpoint = 0;
  std::vector<PartId> obsolete_parts;  // of the finished checkpoint; the host deletes them

  // The interim manifest of the open checkpoint while the host stores it.
  struct Interim {
    Manifest manifest;
    PartId extra_part = 0;  // 0: there is none
    std::vector<PartId> obsolete_parts;
  };
  std::unique_ptr<Interim> interim;  // null if there is none

  // The restored content while a checkpoint stores it in place of the published version.
  struct Replacement {
    StoreVersion version;
    CallWindow window;
    std::vector<PartId> parts;  // all parts of the version
  };
  std::optional<Replacement> replacement;
  RestoredContent* restored = nullptr;  // the content that a Restore holds, or null
  std::vector<Catalog*> snapshots;      // the versions of the open SnapshotExports
  // The memory that the checkpoint's version adds to that of the published version, as
  // unload_pinned_growth() has measured it last.
  std::uint64_t checkpoint_memory = 0;
  GrowthEstimate growth_estimate;  // of the checkpoint's version and the snapshots

  std::unique_ptr<StoreListeners> listeners;  // null until the first is opened

  Explanations explanations;         // those that wait for parts
  std::optional<Recovery> recovery;  // while opening
  std::uint64_t memory_limit = 0;    // 0: none
  // Whether writes unload the parts that they change (Candidate::collect_changes_in_overlays).
  bool collects_changes = false;
  std::uint64_t unloads_by_writes = 0;  // since the last enforce_memory_limit()
  // The parts that reads have needed since the last enforce_memory_limit(). Reads may wait for
  // them, so writes do not unload them.
  std::set<PartId> awaited_parts;
  double page_share = 1;    // see truncate_result_pages()
  bool as_service = false;  // see simulate_service_reads()
  std::vector<Damage> damage;

  struct KeptVersion {
    StoreVersion version;
    CallWindow window;
  };
  std::map<std::uint64_t, KeptVersion> kept;
  std::uint64_t last_kept = 0;
  bool has_unloaded_parts = false;  // true if the store has parts, so that some may be unloaded
  bool branched = false;            // shares nodes with other stores or kept versions

  // The manifest in force.
  const Manifest& manifest() const {
    return recovery.has_value() ? recovery->manifest() : parts.manifest();
  }

  // Starts a new branch, because other stores or kept versions share this store's nodes from now
  // on.
  void start_branch() {
    ENTITABLE_CHECK(!recovery.has_value() && !has_unloaded_parts && damage.empty() &&
                    !candidate.has_value() && !checkpoint.has_value());
    published.catalog.start_branch();
    branched = true;
  }

  // Begins a new epoch: commits after the published version have positions of their own in the
  // change feed, whatever commits earlier owners have published. Until the epoch is stored, they
  // have positions that no reader can continue, here or in the store of the next owner.
  void begin_epoch() {
    claims.add(epoch + 1, published.last_commit);
    ++epoch;
  }
  FeedPosition position() const { return {feed_epoch, published.last_commit}; }

  // Returns the first commit from which on the log and pending commits have all commits.
  std::uint64_t first_known_commit() const {
    const std::uint64_t last = published.last_commit;
    return history.first_commit(last, pending.count_through(last));
  }
  // Returns the first commit that these durable readers, or feeds that read the log, need; nothing
  // if none needs history.
  std::optional<std::uint64_t> first_commit_needed(const FeedReadersByName& durable,
                                                   const HistoryLimits& limits);
  // Moves durable readers past commits that the change feed does not show, at most up to `safe`: no
  // batch would move them. Otherwise the log would be kept for them, and they would fall behind,
  // while sync only changes what it remembers.
  void move_readers_up_to(std::uint64_t safe);
  // Returns the readers as a manifest may store them if a crash can lose the commits after `safe`.
  FeedReadersByName readers_up_to(std::uint64_t safe) const;

  // Returns whether the published version is the content of the whole log.
  bool is_open() const { return !recovery.has_value() && !unapplied_end.has_value(); }

  // Returns whether parts may be unloaded. Not while a candidate exists: it uses rows in memory.
  bool allows_unloading() const {
    return !candidate.has_value() && !recovery.has_value() && !branched;
  }
  // Returns the memory of the published version, what the checkpoint's version adds to it, and the
  // changes that listeners did not take.
  std::uint64_t memory() const { return memory_with(published.catalog); }
  // Returns the same for another version instead of the published one.
  std::uint64_t memory_with(const Catalog& catalog) const {
    return memory_of(catalog) + checkpoint_memory + memory_of_listeners();
  }
  std::uint64_t memory_of_listeners() const {
    return listeners == nullptr ? 0 : listeners->memory_bytes();
  }
  // Returns how much of `bytes`, a limit of memory(), is left for tables. At least 1: 0 is no
  // limit.
  std::uint64_t limit_for_tables(std::uint64_t bytes) const {
    return bytes - std::min(bytes - 1, memory_of_listeners());
  }
  // If that memory exceeds `bytes`, unloads parts until it is well below, though the published
  // version keeps half of what is left for tables.
  void unload_above(std::uint64_t bytes) {
    const std::uint64_t limit = limit_for_tables(bytes);
    unload_parts_above(limit - std::min(limit / 2, checkpoint_memory), versions());
  }
  // Opens a checkpoint of this version, which covers all segments that are stored.
  void open_checkpoint(const StoreVersion& version, const CallWindow& calls) {
    checkpoint.emplace(version, calls, parts.manifest(),
                       Checkpoint::CoveredLog{next_sequence, epoch, claims.claims()}, part_bytes);
    segment_bytes_at_checkpoint = segment_bytes;
  }
  void end_checkpoint() {
    checkpoint.reset();
    checkpoint_memory = 0;
    update_collecting();
  }
  // Returns whether so much of the limit is used that loading a part may require unloading others.
  // `catalog`: the published version, or the candidate while that takes its place.
  bool memory_is_short(const Catalog& catalog) const {
    return memory_limit != 0 && memory_with(catalog) > memory_limit / 2;
  }

  bool exceeds_memory_limit() const { return memory_limit != 0 && memory() > memory_limit; }

  // Updates collects_changes after memory was loaded, freed or limited. Writes begin to collect
  // changes only when memory is nearly full: if all parts in use fit, they stay in memory.
  void update_collecting() {
    const std::uint64_t used = memory();
    if (memory_limit == 0 || !has_unloaded_parts || branched || used < memory_limit / 2) {
      collects_changes = false;
    } else if (used > memory_limit / 16 * 15) {
      collects_changes = true;
    }
  }
  // Must be called after a version was published from which writes have unloaded parts.
  void count_unloads_by_writes(std::uint32_t count) {
    if (count == 0) return;
    unloads_by_writes += count;
    update_collecting();
  }
  // Records that a read needs these parts. Returns them.
  PartsNeeded await(PartsNeeded needed) {
    if (memory_limit != 0) awaited_parts.insert(needed.ids.begin(), needed.ids.end());
    return needed;
  }

  // Returns the versions that writes change.
  std::vector<Catalog*> writable_versions();
  // Returns all versions that are in use, the published one first.
  std::vector<Catalog*> versions();
  // Unloads the parts that were loaded only into the versions of a checkpoint or of snapshots, or
  // of a file that is being restored, once they take a share of the limit. Measures them only after
  // changes of a 32nd of the limit, so the cost per change does not depend on how often it is
  // called. REQUIRES: there is no candidate.
  void unload_pinned_growth();
  // Loads the part into those of the versions in which it is unloaded.
  Result<void> load_part(PartId id, std::optional<std::string_view> bytes,
                         const std::vector<Catalog*>& versions);
  Result<void> load_listed_part(PartId id, std::optional<std::string_view> bytes,
                                const std::vector<Catalog*>& versions);

  bool has_listeners() const { return listeners != nullptr && listeners->any(); }
  // Must be called when the published version changes otherwise than by a candidate.
  void mark_changes_unknown(CommitOrigin origin) {
    if (has_listeners()) listeners->mark_changes_unknown(origin);
  }
  // Publishes the candidate; without changes, its calls were not applied. REQUIRES:
  // window.reserve() was called with the candidate's calls.
  void publish(Candidate& made) {
    if (made.has_changes()) {
      const std::uint64_t commit = made.version().last_commit;
      for (ClientCall& call : made.calls()) window.add(std::move(call), commit);
      if (!made.dropped_tables().empty()) history.add_dropped(std::move(made.dropped_tables()));
      if (has_listeners()) listeners->publish(made.recorder(), feed_epoch);
    }
    published = std::move(made.version());
  }
  void discard() {
    candidate.reset();
    pending.drop_after(published.last_commit);
  }

  // Forgets the sealed segments that were not stored, so that their commits are sealed again.
  void forget_sealed_segments() {
    sealed_through = stored_commit;
    sealed.clear();
  }
  std::uint64_t next_sealed_sequence() const { return next_sequence + sealed.size(); }
};

}  // namespace entitable
