// The write half of the store: requests become commits on a candidate version.
//
// Candidate is what stage() builds and publish() swaps in: everything that a write changes, so that
// dropping it is forgetting it.
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

// One version of everything that is stored.
struct Version {
  Catalog catalog;
  CommitClock clock;
  std::uint64_t last_commit = 0;
  TableId next_table = 1;
};

class Candidate {
 public:
  // Memory that candidates leave for those after them; what is in it means nothing.
  struct Scratch {
    StagedMutations staged;
  };
  // Starts from `base`: a copy of a version, which then stays as it is, or the version itself.
  // `answered` is the window of calls answered before. The records of its commits are added to
  // `records`, and stay there if it is dropped.
  Candidate(Version base, const CallWindow& answered, PendingRecords& records, Scratch& scratch)
      : version_(std::move(base)), call_window_(answered), records_(records), scratch_(scratch) {}

  // Checks one request against this candidate and, if it holds, applies it. Nothing of a failed
  // request stays, except that timestamps it drew are not given out again. PartsNeeded: nothing was
  // applied or answered. On std::bad_alloc the first request has failed like that, and after a
  // later one the candidate is to be dropped. Uses the memory of what `answer` was.
  std::optional<PartsNeeded> add(const WriteRequest& request, Ticks now, WriteResult& answer);

  bool changes() const { return changes_; }
  Version& version() { return version_; }
  std::vector<ClientCall>& calls() { return calls_; }

 private:
  // What a request means, before it is applied: in staged(), unless there is a reason why not.
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
