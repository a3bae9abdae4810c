// The write half of the store: requests become commits on a candidate version.
//
// Candidate is what stage() builds and publish() swaps in: everything that a write changes, so that
// dropping it is forgetting it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/query/query.h"
#include "core/store/call_window.h"
#include "core/store/catalog.h"
#include "core/store/commit_clock.h"
#include "core/store/requests.h"
#include "core/txn/stage.h"

namespace entitable {

// One commit's framed bytes (core/log), waiting to be stored in a segment.
struct PendingCommit {
  std::uint64_t number;
  std::string record;
};

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
    std::vector<PendingCommit> commits;
    StagedMutations staged;
    std::string record;
  };
  // Starts from `base`: a copy of a version, which then stays as it is, or the version itself.
  // `answered` is the window of calls answered before.
  Candidate(Version base, const CallWindow& answered, Scratch& scratch)
      : version_(std::move(base)),
        answered_(answered),
        scratch_(scratch),
        commits_(std::move(scratch.commits)) {
    commits_.clear();
  }

  // Checks one request against this candidate and, if it holds, applies it. Nothing of a failed
  // request stays, except that timestamps it drew are not given out again. NeedParts: nothing was
  // applied or answered. On std::bad_alloc the first request has failed like that, and after a
  // later one the candidate is to be dropped. Uses the memory of what `answer` was.
  std::optional<NeedParts> add(const WriteRequest& request, Ticks now, WriteAnswer& answer);

  bool changes() const { return !commits_.empty(); }
  Version& version() { return version_; }
  std::vector<PendingCommit>& commits() { return commits_; }
  std::vector<ClientCall>& calls() { return calls_; }

 private:
  // What a request means, before it is applied: in staged(), unless there is a reason why not.
  using NotPrepared = std::variant<GroupFailure, NeedParts>;

  std::optional<NotPrepared> prepare(const WriteEntities& write, Ticks now);
  std::optional<NotPrepared> prepare(const WriteCreateTable& write, Ticks now);
  std::optional<NotPrepared> prepare(const WriteDropTable& write, Ticks now);
  std::optional<NotPrepared> prepare(const WriteTableAcl& write, Ticks now);
  std::optional<NotPrepared> prepare(const WriteServiceProperties& write, Ticks now);
  StagedMutations& staged() { return scratch_.staged; }
  void stage(Mutation mutation);
  const ClientCall* answered(const ClientCall& call) const;
  void commit(const std::optional<ClientCall>& call);
  void keep_definition(const Schema& schema);
  void apply_first(const Commit& commit);
  void leave();

  Version version_;
  const CallWindow& answered_;
  Scratch& scratch_;
  std::vector<PendingCommit> commits_;
  std::vector<ClientCall> calls_;
};

}  // namespace entitable
