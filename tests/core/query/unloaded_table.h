// A table whose rows are in unloaded parts until load() is called.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/query/query.h"
#include "tests/core/query/query_testing.h"

namespace entitable::test {

class UnloadedTable {
 public:
  // Splits the rows into parts at random.
  UnloadedTable(Prng& prng, const Rows& rows) {
    std::vector<Entity> part;
    for (const Entity& entity : rows.all()) {
      if (!part.empty() && prng.chance(5)) cut(std::exchange(part, {}), entity.key);
      part.push_back(entity);
    }
    cut(std::move(part), std::nullopt);
  }
  // Splits the rows into parts of `part_rows` rows.
  UnloadedTable(const Rows& rows, std::size_t part_rows) {
    std::vector<Entity> part;
    for (const Entity& entity : rows.all()) {
      if (part.size() == part_rows) cut(std::exchange(part, {}), entity.key);
      part.push_back(entity);
    }
    cut(std::move(part), std::nullopt);
  }

  const TableIndex& index() const { return index_; }
  // Loads parts. Checks that each part exists, is named once, and is not loaded yet.
  void load(const PartsNeeded& need) {
    REQUIRE_FALSE(need.ids.empty());
    for (const PartId id : need.ids) {
      const auto at = parts_.find(id);
      REQUIRE(at != parts_.end());
      index_.load_part(id, at->second);
      parts_.erase(at);
    }
  }
  // Returns a version in which only these parts are loaded. REQUIRES: load() was not called.
  TableIndex version_with(const std::vector<PartId>& loaded) const {
    TableIndex version = index_;
    for (const PartId id : loaded) version.load_part(id, parts_.at(id));
    return version;
  }

 private:
  void cut(std::vector<Entity> part, std::optional<EntityKey> upper) {
    const PartId id = next_part_++;
    std::uint64_t bytes = 0;
    for (const Entity& entity : part) bytes += entity_size(entity);
    index_.add_unloaded({lower_, upper}, id, part.size(), bytes);
    parts_.emplace(id, std::move(part));
    if (upper.has_value()) lower_ = *upper;
  }

  TableIndex index_;
  std::map<PartId, std::vector<Entity>> parts_;
  PartId next_part_ = 1;
  EntityKey lower_;
};

}  // namespace entitable::test
