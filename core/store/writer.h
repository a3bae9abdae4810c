// The write half of the store: requests become commits on a candidate version.
//
// Candidate is what stage() builds and publish() swaps in: everything that a write changes, so that
// dropping it is forgetting it.
#pragma once

#include <cstdint>
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
  // applied. On std::bad_alloc the first request has failed like that, and after a later one the
  // candidate is to be dropped.
  std::variant<WriteAnswer, NeedParts> add(const WriteRequest& request, Ticks now);

  bool changes() const { return !commits_.empty(); }
  Version& version() { return version_; }
  std::vector<PendingCommit>& commits() { return commits_; }
  std::vector<ClientCall>& calls() { return calls_; }

 private:
  // What a request means, before it is applied.
  using Preparation = std::variant<StagedMutations, GroupFailure, NeedParts>;

  Preparation prepare(const WriteEntities& write, Ticks now);
  Preparation prepare(const WriteCreateTable& write, Ticks now);
  Preparation prepare(const WriteDropTable& write, Ticks now);
  Preparation prepare(const WriteTableAcl& write, Ticks now);
  Preparation prepare(const WriteServiceProperties& write, Ticks now);
  const ClientCall* answered(const ClientCall& call) const;
  // Gives the timestamps.
  std::vector<Ticks> commit(StagedMutations& staged, const std::optional<ClientCall>& call);
  static void keep_definition(const Schema& schema, StagedMutations& staged);
  void apply_first(const Commit& commit);
  void leave(StagedMutations& staged, std::vector<Mutation>& mutations);

  Version version_;
  const CallWindow& answered_;
  Scratch& scratch_;
  std::vector<PendingCommit> commits_;
  std::vector<ClientCall> calls_;
};

}  // namespace entitable
