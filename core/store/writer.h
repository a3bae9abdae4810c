// Turns write requests into commits on a candidate version.
//
// Store::stage() builds a Candidate and publish() swaps it in. A Candidate holds everything that
// writes change, so dropping it undoes them.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "core/log/pending_records.h"
#include "core/query/query.h"
#include "core/store/call_window.h"
#include "core/store/catalog.h"
#include "core/store/commit_clock.h"
#include "core/store/requests.h"
#include "core/txn/stage.h"

namespace entitable {

// One version of the store's whole content.
struct Version {
  Catalog catalog;
  CommitClock clock;
  std::uint64_t last_commit = 0;
  TableId next_table = 1;
};

class Candidate {
 public:
  // Memory that later candidates reuse. Its content is unspecified between requests.
  struct Scratch {
    StagedMutations staged;
  };
  // Starts from `base`, which may be a copy of a version or the moved version itself. `answered`
  // holds the calls answered before. Adds the records of its commits to `records`, where they
  // remain if the candidate is dropped.
  Candidate(Version base, const CallWindow& answered, PendingRecords& records, Scratch& scratch)
      : version_(std::move(base)), call_window_(answered), records_(records), scratch_(scratch) {}

  // Checks one request against this candidate, applies it if it is valid, and writes the result to
  // `answer`, whose memory is reused. A failed request changes nothing, except that its timestamps
  // are not issued again. If parts are needed, nothing was applied and `answer` is unspecified.
  // After std::bad_alloc, the first request has changed nothing; after a later one the caller must
  // drop the candidate.
  std::optional<PartsNeeded> add(const WriteRequest& request, Ticks now, WriteResult& answer);

  bool changes() const { return changes_; }
  Version& version() { return version_; }
  std::vector<ClientCall>& calls() { return calls_; }

 private:
  // prepare() puts a request's mutations into staged(), or returns why it cannot.
  using PrepareFailure = std::variant<GroupFailure, PartsNeeded>;

  std::optional<PrepareFailure> prepare(const WriteEntities& write, Ticks now);
  std::optional<PrepareFailure> prepare(const WriteCreateTable& write, Ticks now);
  std::optional<PrepareFailure> prepare(const WriteDropTable& write, Ticks now);
  std::optional<PrepareFailure> prepare(const WriteTableAcl& write, Ticks now);
  std::optional<PrepareFailure> prepare(const WriteServiceProperties& write, Ticks now);
  StagedMutations& staged() { return scratch_.staged; }
  void stage(Mutation mutation);
  const ClientCall* find_answered(const ClientCall& call) const;
  void commit(const std::optional<ClientCall>& call);
  void cache_definition(const Schema& schema);
  void apply_first_commit(const Commit& commit);
  void recycle_scratch();

  Version version_;
  const CallWindow& call_window_;
  PendingRecords& records_;
  Scratch& scratch_;
  bool changes_ = false;
  std::vector<ClientCall> calls_;
};

}  // namespace entitable
