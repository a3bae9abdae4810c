// The list of the parts that a scan will need. Internal to core/query.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "core/query/query.h"

namespace entitable {

// The most parts that one call requests. A scan of a large table may need many more; the caller
// loads them in several round trips.
inline constexpr std::size_t parts_ahead_max = 32;

// Parts to request, without duplicates.
class PartsAhead {
 public:
  explicit PartsAhead(PartId first) : ids_{first} {}
  bool full() const { return ids_.size() >= parts_ahead_max; }
  void add(PartId id) {
    if (std::find(ids_.begin(), ids_.end(), id) == ids_.end()) ids_.push_back(id);
  }
  std::vector<PartId> release_ids() { return std::move(ids_); }

 private:
  std::vector<PartId> ids_;
};

}  // namespace entitable
