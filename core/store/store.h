// The store: one facade for both doors. Everything that changes state goes through stage, publish
// and apply(Commit).
//
// Life of a write (queue, stage, store, publish):
//
//   stage(requests, now)  each request in order on a candidate version, so that each sees what came
//                         before it; readers still see the published version. Answers are fixed
//                         here: ETags, timestamps, errors.
//   seal(), seal_next()   the bytes of segments: every commit not yet stored, in order. The host
//                         stores them, all or none.
//   publish()             the candidate becomes the published version. Allocates nothing, cannot
//                         fail.
//   write(request, now)   stage and publish in one, of one request. A single row is then written
//                         where it stands, unless somebody holds the version before.
//   mark_stored(sequence)      the host's word that the segments up to that one are stored.
//   discard()             drops the candidate: memory is as it was before stage().
//
// Strict and relaxed: stage, seal, [the host stores], stored, publish, answer. Deferred: stage and
// publish (or write), answer; later seal, [the host stores], stored. All that is pending is sealed,
// in order, so what is stored is always a prefix of what was acknowledged. There is at most one
// candidate at a time.
//
// Opening: recover(manifest), replay each segment in sequence, then finish_recovery(). Everything
// else REQUIRES that to be done. Whoever is going to write claims the log first: claim(), [the host
// stores], stored.
//
// Parts: of what the manifest lists nothing is in memory at first. What segments change in the rows
// of a part waits beside it (core/index/overlay.h). Whoever needs a part (a read, stage, a
// checkpoint, a snapshot) says so and does nothing; load_part, and the same call again, in one go.
// Parts may be loaded at any time, also before anybody asks. With a memory_limit,
// enforce_memory_limit() drops those that were not used lately.
//
// Checkpoint: begin_checkpoint pins the published version, for which all parts must be there that
// segments changed and no checkpoint has covered since; next_checkpoint_part gives one part of
// about 250 kB at a time (only dirty key ranges are written), finish_checkpoint gives the manifest
// and what it makes obsolete. Writes go on meanwhile.
//
// Snapshot: begin_snapshot pins the published version, next_snapshot_chunk gives its file about
// 250 kB at a time.
//
// Restoring: begin_restore, add_restore_chunk for each chunk of the file, finish_restore. Nothing
// is changed by that, whatever is in the file. Then either
//
//   replace   begin_replace, and on as with a checkpoint: the parts of the new content are written
//             beside the old ones, and the manifest, one file that is replaced atomically, names
//             them alone and covers every segment. So a crash leaves the old content or the new
//             one, and mark_checkpoint_committed publishes it. Nothing is staged in between: a
//             segment stored meanwhile would be of the old content.
//   merge     stage_merge, until there is no more: each a candidate, to be sealed and stored like
//             every other. Each commit is whole; the file is not one commit.
//
// Versions: fork() gives another store that begins with the published version, and keep_version()
// keeps that version for rollback(). All of these take constant time, and what is the same in
// several versions is in memory once; memory_bytes counts it in each store. From then on neither
// sees anything of the other: the same calls get the same answers, byte for byte, whatever its
// forks do, and after every rollback. So a rollback sets the clock back too, and ETags come again
// that were given out before. A store with versions has no log: it may be given segments' sequences
// (stored) to keep the order of calls, but makes no checkpoint, apart from a replacement, and is
// never trimmed.
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
#include "core/query/executor.h"
#include "core/query/explain.h"
#include "core/store/checkpoint.h"
#include "core/store/recovery.h"
#include "core/store/requests.h"
#include "core/store/restore.h"

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

struct TableInfo {
  std::string name;
  std::uint64_t rows;
  std::uint64_t bytes;  // packed bytes of rows
};

struct StoreStats {
  std::vector<TableInfo> tables;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t last_commit = 0;
  std::uint64_t pending_commits = 0;  // published, not yet stored
  std::uint64_t pending_bytes = 0;
  std::uint64_t next_sequence = 1;
  std::uint64_t epoch = 1;  // how many owners the log has had, this one included
  std::uint64_t segments_since_checkpoint = 0;
  std::uint64_t segment_bytes_since_checkpoint = 0;
};

struct TablePage {
  std::vector<std::string> names;
  std::optional<std::string> next;  // where the next page starts
};

// ---- Files --------------------------------------------------------------------------------------

struct SnapshotEnd {};  // that was all

struct CheckpointEnd {
  std::string manifest;
  std::uint64_t first_live_sequence;  // segments with a smaller sequence are covered
  std::vector<PartId> obsolete_parts;
};

class Store {
 public:
  static constexpr std::size_t no_limit = static_cast<std::size_t>(-1);

  Store();
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  // Opening. Damage is collected (damage()) and makes the store read-only; FormatTooNew refuses to
  // open. No manifest: a new store.
  Result<std::vector<PartInfo>> recover(std::optional<std::string_view> manifest);
  // REQUIRES: ascending sequences. A gap, a bad checksum or an undecodable record is damage: it and
  // everything after it is not applied.
  Result<void> replay(std::uint64_t sequence, std::string_view bytes);
  void finish_recovery();
  // Also later, at any time. No bytes: the file is missing. A part that nobody needs any more is
  // ignored. Damage leaves the part's range empty, and FormatTooNew all as it was.
  Result<void> load_part(PartId id, std::optional<std::string_view> bytes);
  // 0: no limit. Beyond it pages end where rows are absent, and enforce_memory_limit() drops parts
  // until memory is well below it again. What has changed since the last checkpoint is never
  // dropped.
  void set_memory_limit(std::uint64_t bytes);
  void enforce_memory_limit();
  std::uint64_t first_live_sequence() const;  // segments below it are covered by the manifest
  bool read_only() const;
  const std::vector<Damage>& damage() const;
  void report_damage(Damage damage);  // a file that the host could not find or read

  // Reading: the published version only. TableNotFound first; the key of get() is one in an address
  // (check_url_key).
  std::variant<RowResult, Error, PartsNeeded> get(std::string_view table, const KeyView& key) const;
  // The rows of the first so many keys that all have one in memory, and that a page may hold.
  // Whoever wants to know why a key has none asks for that one alone.
  std::optional<Page> get_each(std::string_view table, std::span<const KeyView> keys) const;
  std::variant<Page, Error, PartsNeeded> query(std::string_view table, const Query& query) const;
  std::variant<Explain, Error, PartsNeeded> explain(std::string_view table,
                                                    const Query& query) const;
  // In the order of folded names. A filter may name TableName only (else InvalidInput). `from`:
  // where a page before ended.
  Result<TablePage> tables(const Filter& filter, std::uint32_t top, std::string_view from) const;
  // From now on pages, of rows and of tables, end after this share of what they would hold, rounded
  // up, with a continuation: as if the service had run out of time. 0: they are empty, if there is
  // anything to hold; 1: as ever. For those who test what follows continuations.
  void set_page_fraction(double share);
  // From now on queries read what the real service would (execute_as_service), or again as ever.
  // REQUIRES: no rows are absent, nor will be.
  void set_service_read_mode(bool on);
  Result<std::vector<AccessPolicy>> table_acl(std::string_view table) const;
  const std::string& service_properties() const;
  StoreStats stats() const;
  // The parts without which rows and bytes in stats() are not exact: after opening, segments have
  // changed some of their rows, and whether those were there before is not known.
  std::vector<PartId> parts_with_inexact_counts() const;
  std::string verify() const;  // empty: every invariant holds

  // Writing.
  StageResult stage(const std::vector<WriteRequest>& requests, Ticks now);
  // If it needs parts or throws std::bad_alloc, nothing was done. `memory`: an answer nobody needs
  // any more, to be used again. REQUIRES: it is no call.
  StageResult write(const WriteRequest& request, Ticks now, StageResult memory = {});
  void publish();
  void discard();
  // Of commits that are not stored as many as fit, but at least one; nothing: there are none.
  std::optional<SealedSegment> seal(std::size_t bytes_max = no_limit);
  // The same for those behind the segment that was sealed last. All of them are stored together.
  std::optional<SealedSegment> seal_next(std::size_t bytes_max);
  // The segment that makes this store the log's owner: it has no commits, only a new epoch, and the
  // number that an owner before would use next. REQUIRES: nothing is pending. If it can't be
  // stored, the next segment is of the new epoch and does the same.
  SealedSegment claim();
  void mark_stored(std::uint64_t sequence);  // of the segment that was sealed last

  // Checkpoint.
  // False: there is no segment that it would cover, and no change; or a snapshot is being taken,
  // which may need parts that a checkpoint would make obsolete.
  std::variant<bool, PartsNeeded> begin_checkpoint();
  // Packed bytes of the rows that one would write now, about. Looks at every leaf.
  std::uint64_t checkpoint_bytes() const;
  std::optional<CheckpointPart> next_checkpoint_part();  // nothing: no more parts
  CheckpointEnd finish_checkpoint();  // all parts are stored: the manifest to commit
  void mark_checkpoint_committed();   // the manifest is stored
  void abandon_checkpoint();

  // Snapshot and restore.
  void begin_snapshot();
  std::variant<std::string, SnapshotEnd, PartsNeeded> next_snapshot_chunk();
  void close_snapshot();  // before its end, or after
  void begin_restore();
  Result<void> add_restore_chunk(std::string_view chunk);
  Result<RestoreReport> finish_restore();
  // Whose `call` it is, is remembered with the answer. False: that call has been done before.
  // REQUIRES: finish_restore() was well; nothing is pending, no candidate, no checkpoint, no
  // snapshot.
  bool begin_replace(const std::optional<ClientCall>& call);
  // REQUIRES: finish_restore() was well; no candidate. Only `staged` leaves one.
  enum class Merge { staged, done };
  std::variant<Merge, Error, PartsNeeded> stage_merge(Ticks now);
  void close_restore();  // at any time

  // Versions. REQUIRES of the first three: opened without parts, never trimmed, not damaged; no
  // candidate, no checkpoint. What is pending is in the fork too, but it has nothing to store of
  // it; it has no memory limit and keeps no version yet.
  Store fork();
  // Its number, for the two below: a new one each time.
  std::uint64_t keep_version();
  // What was published since is dropped, stored or not. REQUIRES: it is kept; no segment is being
  // stored.
  void rollback(std::uint64_t version);
  void release_version(std::uint64_t version);  // REQUIRES: it is kept

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace entitable
