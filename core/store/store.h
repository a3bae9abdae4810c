// The store: the one facade that the REST and the RPC entry points use. Every change of state goes
// through stage(), publish() and apply(Commit). README.md in this folder describes the sequences of
// calls: writing, opening, checkpoints, snapshots, restores and versions. Snapshots, restores and
// versions are classes of their own, which work on a store: snapshot_export.h, restore.h,
// versions.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/model/commit.h"
#include "core/model/feed_position.h"
#include "core/query/count.h"
#include "core/query/executor.h"
#include "core/query/explain.h"
#include "core/query/partition_keys.h"
#include "core/store/checkpoint.h"
#include "core/store/log_history.h"
#include "core/store/recovery.h"
#include "core/store/write_requests.h"

namespace entitable {

// ---- Writing ------------------------------------------------------------------------------------

struct StageResult {
  std::vector<WriteResult> results;  // one per request, in order
  std::vector<PartId> parts_needed;  // not empty: nothing was staged, load all of these first
  bool changes = false;              // false: no request wrote; nothing to store or publish
};

struct SealedSegment {
  std::uint64_t sequence;  // the file's number
  std::string bytes;
};

// ---- Reading ------------------------------------------------------------------------------------

struct TableStats {
  std::string name;
  std::uint64_t rows;
  std::uint64_t bytes;  // packed bytes of rows
};

struct StoreStats {
  std::vector<TableStats> tables;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t last_commit = 0;
  std::uint64_t pending_commits = 0;  // published, not yet stored
  std::uint64_t pending_bytes = 0;
  std::uint64_t next_sequence = 1;
  std::uint64_t epoch = 1;  // number of owners the log has had, including this one
  std::uint64_t segments_since_checkpoint = 0;
  std::uint64_t segment_bytes_since_checkpoint = 0;
  // What covered segments that are kept for durable readers take in storage, about.
  std::uint64_t history_bytes = 0;
};

struct TablePage {
  std::vector<std::string> names;
  std::optional<std::string> next;  // where the next page starts
};

// ---- Files --------------------------------------------------------------------------------------

struct FinishedCheckpoint {
  std::string manifest;
  std::uint64_t first_live_sequence;  // segments with a smaller sequence are covered
  std::uint64_t first_kept_sequence;  // segments with a smaller sequence are not needed any more
  std::vector<PartId> obsolete_parts;
};

// An interim manifest of a checkpoint. It covers no segments.
struct InterimCheckpoint {
  std::string manifest;
  std::optional<CheckpointPart> extra_part;  // must be stored first
  std::vector<PartId> obsolete_parts;
};

struct StoreState;

class Store {
 public:
  static constexpr std::size_t no_limit = static_cast<std::size_t>(-1);

  Store();
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  // Opening. Reads the manifest and returns the parts it lists. Damage is collected in damage() and
  // makes the store read-only. Returns FormatTooNew if a newer release wrote the manifest. Without
  // a manifest the store is new. May be called again, which forgets everything read before.
  // `changes_max`: about how much memory the changes of segments may take, in bytes; 0: no limit.
  Result<std::vector<PartInfo>> begin_recovery(std::optional<std::string_view> manifest,
                                               std::uint64_t changes_max = 0);
  // Applies one segment. A gap, a bad checksum or an undecodable record is damage: neither that
  // record nor any later one is applied. Once the changes take more than `changes_max`, segments
  // are checked but not applied. REQUIRES: ascending sequences.
  Result<void> replay(std::uint64_t sequence, std::string_view bytes);
  void finish_recovery();
  // Returns the first segment of the log that was not applied, because memory was full. Until all
  // are applied, only claims, checkpoints, enforce_memory_limit() and resume_recovery() are
  // allowed.
  std::optional<std::uint64_t> first_unapplied_segment() const;
  // Continues after finish_recovery(): segments from first_unapplied_segment() on may be replayed,
  // at least one of which is applied. REQUIRES: there is such a segment; no checkpoint is open; the
  // store is not damaged.
  void resume_recovery(std::uint64_t changes_max);
  // Loads the rows of a part; allowed at any time. No bytes means that the file is missing. A part
  // that is no longer needed is ignored. Damage leaves the part's range empty; FormatTooNew changes
  // nothing.
  Result<void> load_part(PartId id, std::optional<std::string_view> bytes);
  // 0: no limit. While memory exceeds the limit, pages end at the first unloaded leaf, and
  // enforce_memory_limit() unloads parts until memory is well below the limit. Changes since the
  // last checkpoint always stay in memory. While memory is nearly full, writes unload the parts
  // that they change, except parts that get(), query() or explain() have needed since the last call
  // of enforce_memory_limit().
  void set_memory_limit(std::uint64_t bytes);
  void enforce_memory_limit();
  // If there is a limit, unloads parts until memory is below `bytes`. If a checkpoint's version
  // takes more than half of `bytes`, unloads only until the published version takes less than the
  // other half. Calls may still wait for parts that they need: writes do not unload these
  // afterwards either.
  void trim_memory_to(std::uint64_t bytes);
  // As in stats(). Rows that only the version of an open checkpoint has are included as of the last
  // enforce_memory_limit().
  std::uint64_t memory_bytes() const;
  // Returns whether so many changes were recorded for listeners that the host should take them
  // before the next write (LiveQueries::take_changes()).
  bool must_take_changes() const;
  // Returns how much of memory_bytes() no unloading can free: changes that no part holds. Includes
  // all rows that only the checkpoint's version has, even those of parts that were loaded for the
  // checkpoint and may be unloaded. Visits every leaf.
  std::uint64_t unsaved_memory() const;
  std::uint64_t last_commit() const;          // as in stats()
  FeedPosition position() const;              // of the last commit in the change feed
  FeedPosition stored_position() const;       // of the last published commit that is stored
  std::uint64_t first_live_sequence() const;  // the manifest covers all earlier segments
  // The manifest keeps the segments from this one to first_live_sequence() as history. These two
  // functions may be called from begin_recovery() on.
  std::uint64_t first_kept_sequence() const;
  // Returns whether a table is synced. Writes of it need SyncTables::enable() first (outbox_code).
  bool has_synced_tables() const;
  bool is_damaged() const;
  const std::vector<Damage>& damage() const;
  void report_damage(Damage damage);  // a file that the host could not find or read

  // Reading: the published version only.
  // Returns the row with this key. TableNotFound takes precedence over errors of the key, which
  // follows the rules of a key in an address (check_url_key).
  std::variant<PinnedRow, Error, PartsNeeded> get(std::string_view table, const KeyView& key) const;
  // Returns the rows of the leading keys, up to the first key whose row is missing or not loaded,
  // or until the page is full. get() of that key tells the reason.
  std::optional<Page> multi_get(std::string_view table, std::span<const KeyView> keys) const;
  std::variant<Page, Error, PartsNeeded> query(std::string_view table, const Query& query) const;
  // Counts the rows that match (core/query/count.h).
  std::variant<MatchCount, Error, PartsNeeded> count(std::string_view table,
                                                     const Query& query) const;
  // Lists the partition keys of a table (core/query/partition_keys.h).
  std::variant<PartitionKeys, Error, PartsNeeded> partition_keys(std::string_view table,
                                                                 std::string_view from,
                                                                 std::uint32_t top) const;
  // Counts part by part: a call that is repeated continues where the call with the same `key`
  // stopped, so the parts that it needed before may be unloaded. `key`: identifies
  // the query and its table's name, such as the request message.
  std::variant<Explain, Error, PartsNeeded> explain(std::string_view table, const Query& query,
                                                    std::string_view key) const;
  // Returns table names in the order of folded names. The filter may name only TableName (otherwise
  // InvalidInput). `from` is `next` of the previous page.
  Result<TablePage> tables(const Filter& filter, std::uint32_t top, std::string_view from) const;
  // Makes each page of rows or tables end after this share of its content, rounded up, with a
  // continuation, as if the service had run out of time. 0: pages are empty if there is anything to
  // return; 1: normal pages. Lets an application test how it follows continuations.
  void truncate_result_pages(double share);
  // Makes queries read as much as the real service would (execute_as_service), or turns that off.
  // REQUIRES: all parts are loaded and stay loaded.
  void simulate_service_reads(bool on);
  Result<std::vector<AccessPolicy>> table_acl(std::string_view table) const;
  const std::string& service_properties() const;
  StoreStats stats() const;
  // Returns the unloaded parts that make rows and bytes in stats() inexact. Segments or upserts
  // have changed rows of these parts, and only loading tells whether those rows existed before.
  std::vector<PartId> parts_with_inexact_counts() const;
  std::string verify() const;  // describes the first broken invariant; empty if all hold

  // Writing.
  StageResult stage(const std::vector<WriteRequest>& requests, Ticks now);
  // Stages and publishes one request. If parts are needed, or std::bad_alloc is thrown, nothing has
  // changed. `memory` is a result whose memory may be reused.
  StageResult write(const WriteRequest& request, Ticks now, StageResult memory = {});
  // Returns the numbers of the client's newest published calls, at most
  // CallWindow::calls_per_client, in the order in which the calls were applied.
  std::vector<std::uint64_t> known_calls(const ClientId& client) const;
  // Returns the greatest commit that may have applied a call of a client that is no longer known
  // (CallWindow::dropped_through).
  std::uint64_t calls_dropped_through() const;
  void publish();
  void discard();
  // Returns a segment of the oldest unstored commits: as many as fit in `bytes_max`, but at least
  // one. Returns nothing if everything is stored.
  std::optional<SealedSegment> seal(std::size_t bytes_max = no_limit);
  // Returns the segment that follows the last sealed one, by the same rule. The host stores all of
  // these segments together.
  std::optional<SealedSegment> seal_next(std::size_t bytes_max);
  // Returns the segment that makes this store the log's owner. It holds a new epoch and no commits,
  // and its sequence is the one that the previous owner would use next. If it cannot be stored, the
  // next segment carries the new epoch and has the same effect. While there are unapplied segments,
  // the claim becomes the last of them. REQUIRES: nothing is pending.
  SealedSegment make_claim_segment();
  // Records that the host has stored the segments up to `sequence`, the last sealed one.
  void mark_stored(std::uint64_t sequence);

  // Sets the approximate size of the parts that later checkpoints write. The default is
  // part_bytes_target; tests set less, to have many parts of few rows.
  void set_part_bytes(std::uint64_t bytes);

  // Checkpoint. Returns false if there is nothing to store: no segment to cover, no change, and no
  // change of a durable reader.
  bool begin_checkpoint();
  // Returns about how many packed bytes of rows a checkpoint would write now. Visits every leaf.
  std::uint64_t estimate_checkpoint_bytes() const;
  // Returns the next part to store. A part that is needed must be passed to
  // load_part_for_checkpoint(). Calls mark_checkpoint_part_stored() for the part before.
  CheckpointStep next_checkpoint_part();
  // Records that the part that next_checkpoint_part() returned is stored. Until then no part can be
  // unloaded. May be called again.
  void mark_checkpoint_part_stored();
  // As load_part(). If memory is short, loads the rows only into the version that the checkpoint
  // writes.
  Result<void> load_part_for_checkpoint(PartId id, std::optional<std::string_view> bytes);
  // Returns a manifest that may be stored before the checkpoint ends, to make parts obsolete when
  // space is short. Returns nothing if that is not possible now, or frees no parts. REQUIRES:
  // mark_checkpoint_part_stored() was called for the part before. All stored segments must survive
  // a power failure before the manifest is stored.
  std::optional<InterimCheckpoint> interim_checkpoint();
  // Records that the manifest that interim_checkpoint() returned is stored. REQUIRES: nothing else
  // was called for the checkpoint since.
  void mark_interim_checkpoint_committed();
  // All parts are stored: returns the manifest to commit. `limits`: how much history is kept for
  // durable readers (feed_readers.h).
  FinishedCheckpoint finish_checkpoint(const HistoryLimits& limits);
  void mark_checkpoint_committed();  // the manifest is stored
  // Ends the checkpoint, if there is one; the manifest in force stays. Returns the parts that the
  // host may delete. The others are used further on.
  std::vector<PartId> abandon_checkpoint();

  // For the classes of core/store that work on a store.
  StoreState& state() { return *state_; }

 private:
  std::unique_ptr<StoreState> state_;
};

}  // namespace entitable
