// Forks of a store, and versions to roll back to.
//
// The kept versions belong to the store; a Versions object only refers to it, so it may be created
// for a single call. fork_store(), keep() and rollback() REQUIRE: the store was opened without
// parts, is never trimmed, and is not damaged; there is no candidate and no checkpoint.
#pragma once

#include <cstdint>

#include "core/store/store.h"

namespace entitable {

class Versions {
 public:
  explicit Versions(Store& store) : state_(store.state()) {}

  // Returns a store that starts with the published version, including pending commits, which the
  // fork does not have to store. The fork has no memory limit, no kept versions, no listeners and
  // no durable readers. A reader of the feed may continue in it at the position where it was
  // forked; neither store continues positions of later commits of the other.
  Store fork_store();
  // Keeps the published version. Returns its number, which is never reused.
  std::uint64_t keep();
  // Drops everything published since that version, stored or not. REQUIRES: the version is kept; no
  // segment is being stored.
  void rollback(std::uint64_t version);
  void release(std::uint64_t version);  // REQUIRES: the version is kept

 private:
  StoreState& state_;
};

}  // namespace entitable
