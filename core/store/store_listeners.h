// What writes need of a store's live queries and readers of the change feed (live_queries.h).
//
// This is an interface, so that the code that writes does not contain the code of live queries. A
// store has none of these objects until the first listener is opened, so a host may load that code
// later. The only implementation is OpenListeners.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/model/commit.h"
#include "core/model/key.h"
#include "core/store/catalog.h"

namespace entitable {

class StoreListeners {
 public:
  // If the changes that were not taken use more memory, the host takes them before the next write.
  // So ordinary writes do not exceed the bound (recorded_bytes_max_for), however many of them the
  // host would else take together.
  static constexpr std::uint64_t bytes_to_take = 4 * 1'048'576;

  // Records what the commits of one candidate change.
  class Recorder {
   public:
    virtual ~Recorder() = default;
    // Returns whether a listener must know changes of the row. `table`: a folded name.
    virtual bool covers(std::string_view table, const KeyView& key) const = 0;
    // Derives the changes of a commit that is about to be applied to `before`. Copies the rows
    // before the commit; the rows after it are found when the changes are taken. `base`: null, or
    // the version from which `before` was made (TableIndex::find_in_memory).
    //
    // REQUIRES: the commit can be applied to `before`, and writes each row at most once
    // (check_group rejects other groups). The rows in `before` that it changes and that a listener
    // covers are in memory or in an overlay: staging requires their parts.
    virtual void prepare(const Commit& commit, const Catalog& before, const Catalog* base) = 0;
    // Records the changes of the last prepare(): its commit was applied. Allocates nothing.
    virtual void add_prepared() = 0;
  };

  virtual ~StoreListeners() = default;
  virtual bool any() const = 0;
  // Returns a recorder for the listeners that are open now. REQUIRES: this object outlives it.
  virtual std::unique_ptr<Recorder> make_recorder() const = 0;
  // Adds the changes of commits that are now published, in this epoch. `recorder`: null if there
  // were no listeners when the commits were staged. Allocates nothing.
  virtual void publish(Recorder* recorder, std::uint64_t epoch) = 0;
  // Must be called when the published version changes otherwise. Allocates nothing.
  virtual void mark_changes_unknown(CommitOrigin origin) = 0;
  // Returns the memory of changes that were not taken.
  virtual std::uint64_t memory_bytes() const = 0;
  virtual void set_memory_limit(std::uint64_t bytes) = 0;  // of the store; 0: none
};

}  // namespace entitable
