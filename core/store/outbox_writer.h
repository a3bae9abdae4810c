// What writes need of sync: recording the local writes of tables that are synced.
//
// This is an interface, so that the code that writes does not contain the code of sync, which a
// host loads only if a table is synced. The only implementation is Outbox.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "core/query/query.h"
#include "core/store/catalog.h"
#include "core/txn/stage.h"

namespace entitable {

class OutboxWriter {
 public:
  // The number of an operation is that of its commit times this, plus its position in the commit.
  static constexpr std::uint64_t operations_per_commit = 65'536;
  // Up to this commit, numbers of operations are exact in JavaScript.
  static constexpr std::uint64_t commit_max = (std::uint64_t{1} << 53) / operations_per_commit - 1;

  // A local write that was staged, and is about to be committed.
  struct LocalWrite {
    const Table& table;      // in `catalog`; synced
    const Catalog& catalog;  // to which the write will be applied
    const Catalog* base;     // null, or the version from which `catalog` was made
    std::uint64_t commit;    // the number of its commit
    Ticks timestamp;         // of its hidden rows: the last one that the store has issued
    bool transaction;        // WriteEntities::transaction
  };
  using Failure = std::variant<GroupFailure, PartsNeeded>;

  virtual ~OutboxWriter() = default;
  // Returns a writer for another store.
  virtual std::unique_ptr<OutboxWriter> make_another() const = 0;
  // Adds the mutations of hidden tables that record the write, before the mutations of the write.
  // Their views refer to this object, until the next call, and to the rows before the write.
  // Returns the parts to load if hidden rows are not in memory, or a failure if the remote would
  // never accept the write (remote_limits.h); `staged` is unchanged then.
  // REQUIRES: the rows before the write are in memory, or in an overlay or in `base`; `staged` has
  // each row at most once.
  virtual std::optional<Failure> add_operations(const LocalWrite& write,
                                                StagedMutations& staged) = 0;
};

}  // namespace entitable
