// Unloads parts of a store that exceeds its memory limit.
#pragma once

#include <cstdint>
#include <vector>

#include "core/store/catalog.h"

namespace entitable {

// Returns the estimated memory of all tables in bytes.
std::uint64_t memory_of(const Catalog& catalog);

// Returns how much of that memory no unloading can free: changes that no part holds. Visits every
// leaf.
std::uint64_t unsaved_memory_of(const Catalog& catalog);

// Unloads clean parts of about `bytes` bytes in total, or all of them if they are smaller. Parts
// that were not used since the previous call come first. Within each group, the order is that of
// tables and keys. `versions`: the published version, then others that share rows with it. The same
// parts are unloaded in all of them, and in the others also what the published version no longer
// has.
void unload_unused_parts_first(const std::vector<Catalog*>& versions, std::uint64_t bytes);

// If the first of `versions` uses more memory than `limit`, does the same until it is well below.
// `limit`: in bytes; 0: none.
void unload_parts_above(std::uint64_t limit, const std::vector<Catalog*>& versions);

// Returns the memory of the rows that a version holds and `published` does not: rows of parts that
// were loaded only into this version, and rows that were changed or deleted since. `pinned`: the
// version of a checkpoint or of a snapshot. If unloading would free more than `growth_max` bytes of
// it, unloads all parts that hold such rows. Memory that several pinned versions share counts in
// each of them. Visits every leaf of both versions.
std::uint64_t unload_growth(Catalog& pinned, const Catalog& published, std::uint64_t growth_max);

// Estimates how much the result of unload_growth() has changed, without visiting leaves.
class GrowthEstimate {
 public:
  // Returns whether the results for the versions may have changed by more than `bytes` in total
  // since they were measured; changes that cancel each other between two calls are not seen.
  // `versions`: the published version, then all pinned ones.
  bool exceeds(std::uint64_t bytes, const std::vector<Catalog*>& versions);
  void mark_measured() { changed_ = 0; }
  // Counts rows of a pinned version that may be unloaded from now on.
  void add_unloadable(std::uint64_t bytes) { changed_ += bytes; }

 private:
  std::uint64_t changed_ = 0;
  // As of the last call of exceeds().
  std::uint64_t published_memory_ = 0;
  std::uint64_t pinned_memory_ = 0;
  std::uint64_t replaced_ = 0;
};

// Unloads in the other versions the parts that are not in memory in the first.
void unload_like_published(const std::vector<Catalog*>& versions);

}  // namespace entitable
