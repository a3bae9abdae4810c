#include "core/store/memory_limit.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace entitable {
namespace {

struct Resident {
  TableId table;
  ResidentPart part;
};

std::vector<Resident> resident_parts(const Catalog& catalog) {
  std::vector<Resident> residents;
  for (const Ref<Table>& table : catalog.tables()) {
    for (const ResidentPart& part : table->index.sweep_resident_parts()) {
      residents.push_back({table->id(), part});
    }
  }
  return residents;
}

// Unloads those of `residents` that `is_chosen` accepts.
template <typename IsChosen>
void unload(Catalog& catalog, const std::vector<Resident>& residents, IsChosen is_chosen) {
  std::map<TableId, std::vector<PartId>> chosen;
  for (const auto& [table, part] : residents) {
    if (is_chosen(part.part)) chosen[table].push_back(part.part);
  }
  for (auto& [table, parts] : chosen) {
    std::sort(parts.begin(), parts.end());
    catalog.mutable_table(table)->index.unload_parts(parts);
  }
}

std::uint64_t replaced_in(const Catalog& catalog) {
  std::uint64_t bytes = 0;
  for (const Ref<Table>& table : catalog.tables()) bytes += table->index.replaced_bytes();
  return bytes;
}

}  // namespace

std::uint64_t memory_of(const Catalog& catalog) {
  std::uint64_t bytes = 0;
  for (const Ref<Table>& table : catalog.tables()) bytes += table->index.memory_bytes();
  return bytes;
}

std::uint64_t unsaved_memory_of(const Catalog& catalog) {
  std::uint64_t bytes = memory_of(catalog);
  for (const Ref<Table>& table : catalog.tables()) {
    bytes -= std::min(bytes, table->index.unloadable_memory());
  }
  return bytes;
}

void unload_unused_parts_first(const std::vector<Catalog*>& versions, std::uint64_t bytes) {
  std::vector<Resident> residents = resident_parts(*versions.front());
  std::stable_partition(residents.begin(), residents.end(),
                        [](const Resident& resident) { return !resident.part.recently_used; });
  std::set<PartId> kept;
  std::uint64_t freed = 0;
  for (const auto& [table, part] : residents) {
    if (freed >= bytes) kept.insert(part.part);
    freed += part.memory;
  }
  const auto is_chosen = [&kept](PartId part) { return kept.count(part) == 0; };
  unload(*versions.front(), residents, is_chosen);
  for (std::size_t i = 1; i < versions.size(); ++i) {
    unload(*versions[i], resident_parts(*versions[i]), is_chosen);
  }
}

void unload_like_published(const std::vector<Catalog*>& versions) {
  for (std::size_t i = 1; i < versions.size(); ++i) {
    Catalog& version = *versions[i];
    std::map<TableId, std::vector<PartId>> unloaded;
    for (const Ref<Table>& table : version.tables()) {
      const Table* const published = versions.front()->find(table->id());
      if (published == nullptr) continue;
      unloaded[table->id()] = table->index.resident_parts_unloaded_in(published->index);
    }
    for (const auto& [table, parts] : unloaded) {
      if (!parts.empty()) version.mutable_table(table)->index.unload_parts(parts);
    }
  }
}

void unload_parts_above(std::uint64_t limit, const std::vector<Catalog*>& versions) {
  if (limit == 0) return;
  const std::uint64_t memory = memory_of(*versions.front());
  if (memory > limit) unload_unused_parts_first(versions, memory - limit / 8 * 7);
}

std::uint64_t unload_growth(Catalog& pinned, const Catalog& published, std::uint64_t growth_max) {
  const TableIndex none;
  std::uint64_t memory = 0;
  std::uint64_t unloadable = 0;
  std::map<TableId, std::vector<PartId>> parts;
  for (const Ref<Table>& table : pinned.tables()) {
    const Table* const there = published.find(table->id());
    UnsharedLeaves leaves = table->index.leaves_not_in(there == nullptr ? none : there->index);
    memory += leaves.memory;
    unloadable += leaves.unloadable;
    if (!leaves.parts.empty()) parts[table->id()] = std::move(leaves.parts);
  }
  if (unloadable <= growth_max) return memory;
  for (const auto& [table, chosen] : parts) {
    pinned.mutable_table(table)->index.unload_parts(chosen);
  }
  return memory - unloadable;
}

// What a pinned version holds alone changes when rows are loaded into it or unloaded from it, and
// when the published version replaces, unloads or drops rows that it has shared so far.
bool GrowthEstimate::exceeds(std::uint64_t bytes, const std::vector<Catalog*>& versions) {
  const auto count = [this](std::uint64_t& last, std::uint64_t now) {
    changed_ += std::max(last, now) - std::min(last, now);
    last = now;
  };
  std::uint64_t pinned = 0;
  for (std::size_t i = 1; i < versions.size(); ++i) pinned += memory_of(*versions[i]);
  count(pinned_memory_, pinned);
  count(published_memory_, memory_of(*versions.front()));
  count(replaced_, replaced_in(*versions.front()));
  return changed_ > bytes;
}

}  // namespace entitable
