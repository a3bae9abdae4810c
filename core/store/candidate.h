// Turns write requests into commits on a candidate version.
//
// A candidate is a version that is not published yet. Store::stage() applies write requests to a
// Candidate, and Store::publish() makes its version the store's published version. A Candidate
// holds everything that the writes change, so discarding the Candidate discards the writes.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "core/log/manifest_codec.h"
#include "core/log/pending_records.h"
#include "core/query/query.h"
#include "core/store/call_window.h"
#include "core/store/catalog.h"
#include "core/store/commit_clock.h"
#include "core/store/outbox_writer.h"
#include "core/store/store_listeners.h"
#include "core/store/write_requests.h"
#include "core/txn/stage.h"

namespace entitable {

// One version of the store's whole content.
struct StoreVersion {
  Catalog catalog;
  CommitClock clock;
  std::uint64_t last_commit = 0;
  // No later commit is in the change feed. If that is not known, a greater number than necessary.
  std::uint64_t last_commit_in_feed = 0;
  TableId next_table = 1;
};

class Candidate {
 public:
  // Memory that later candidates reuse. REQUIRES: one candidate at a time uses it.
  struct Scratch {
    StagedMutations staged;                  // unspecified between requests
    std::vector<ClientCall> calls;           // the candidate's calls
    std::list<DroppedTable> dropped_tables;  // by the candidate
    std::unique_ptr<OutboxWriter> outbox;    // null: synced tables cannot be written
  };
  // Starts with the content of `base`. `answered`: the calls that were answered before. The encoded
  // commits are added to `records`; the destructor does not remove them. REQUIRES: the other
  // arguments outlive this object.
  Candidate(StoreVersion base, const CallWindow& answered, PendingRecords& records,
            Scratch& scratch)
      : version_(std::move(base)), call_window_(answered), records_(records), scratch_(scratch) {
    if (calls().capacity() > 1) calls() = {};  // frees the memory of a group
    calls().clear();
    if (!dropped_tables().empty()) dropped_tables().clear();
  }

  // Checks one request against this candidate, applies it if it is valid, and writes the result to
  // `answer`, whose memory is reused. A failed request changes nothing, except that its timestamps
  // are not issued again. Returns the parts to load if the request needs rows that are not in
  // memory; nothing was applied then, and `answer` is unspecified. If apply_request() throws
  // std::bad_alloc for the first request, the version is unchanged. If it throws for a later
  // request, the caller must drop the candidate.
  std::optional<PartsNeeded> apply_request(const WriteRequest& request, Ticks now,
                                           WriteResult& answer);

  // From now on, records the changes of commits.
  void record_changes(std::unique_ptr<StoreListeners::Recorder> recorder) {
    recorder_ = std::move(recorder);
  }
  // Null: no changes are recorded.
  StoreListeners::Recorder* recorder() { return recorder_.get(); }

  // From now on, upserts that replace a row do not need the row's part, unless its overlay is full
  // or a listener covers a row of the request: listeners must know the row before.
  void allow_upserts_without_parts() { upsert_needs_ = UpsertNeeds::nothing; }

  // From now on, a part is unloaded before its rows are changed, so that the changes are collected
  // in an overlay (core/index/overlay.h). This takes less of the memory that cannot be freed before
  // the next checkpoint. `published`: the version from which this candidate was copied, or null if
  // it was moved into this candidate. `awaited`: parts that are not unloaded. REQUIRES: both
  // outlive the calls of apply_request().
  void collect_changes_in_overlays(const Catalog* published, const std::set<PartId>& awaited) {
    published_ = published;
    awaited_ = &awaited;
  }
  // How many parts were unloaded for that reason.
  std::uint32_t unloaded_parts() const { return unloaded_parts_; }

  std::list<DroppedTable>& dropped_tables() { return scratch_.dropped_tables; }

  bool has_changes() const { return changes_; }
  StoreVersion& version() { return version_; }
  std::vector<ClientCall>& calls() { return scratch_.calls; }

 private:
  // prepare() puts a request's mutations into staged(), or returns why the request fails.
  using PrepareFailure = std::variant<GroupFailure, PartsNeeded>;

  std::optional<PrepareFailure> prepare(const WriteEntities& write, Ticks now);
  std::optional<PrepareFailure> prepare(const WriteCreateTable& write, Ticks now);
  std::optional<PrepareFailure> prepare(const WriteDropTable& write, Ticks now);
  std::optional<PrepareFailure> prepare(const WriteTableAcl& write, Ticks now);
  std::optional<PrepareFailure> prepare(const WriteServiceProperties& write, Ticks now);
  std::optional<PrepareFailure> prepare(const WriteSynced& write, Ticks now);
  std::optional<PrepareFailure> add_to_outbox(const Table& table, bool transaction);
  StagedMutations& staged() { return scratch_.staged; }
  void stage(Mutation mutation);
  const ClientCall* find_answered(const ClientCall& call);
  bool listeners_cover(const Table& table, const WriteEntities& write) const;
  void commit(const WriteRequest& request);
  std::optional<Catalog> unload_parts_to_change(const Commit& commit);
  void cache_definition(const Schema& schema);
  void apply_first_commit(const Commit& commit);
  void recycle_scratch();

  StoreVersion version_;
  const CallWindow& call_window_;
  PendingRecords& records_;
  Scratch& scratch_;
  bool changes_ = false;
  UpsertNeeds upsert_needs_ = UpsertNeeds::part;
  const Catalog* published_ = nullptr;
  const std::set<PartId>* awaited_ = nullptr;  // null: changes are not collected in overlays
  std::uint32_t unloaded_parts_ = 0;
  std::unique_ptr<StoreListeners::Recorder> recorder_;  // null: no changes are recorded
  // The greatest number of each client among the first `compared_` calls.
  struct HighestNumber {
    ClientId client;
    std::uint64_t number;
  };
  std::vector<HighestNumber> highest_;
  std::size_t compared_ = 0;
};

}  // namespace entitable
