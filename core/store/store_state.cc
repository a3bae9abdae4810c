#include "core/store/store_state.h"

#include "core/log/file_names.h"

namespace entitable {
namespace {

// Loads a part of which no manifest tells anything. Its rows are then lost.
void load_unlisted_part(PartId id, const std::vector<Catalog*>& versions,
                        std::vector<Damage>& damage) {
  bool is_unloaded = false;
  for (Catalog* catalog : versions) {
    for (const Ref<Table>& table : catalog->tables()) {
      if (!table->index.any_key_in_unloaded_part(id).has_value()) continue;
      catalog->mutable_table(table->id())->index.load_part(id, {});
      is_unloaded = true;
      break;  // a part belongs to one table, and the list of tables may have changed
    }
  }
  if (is_unloaded) damage.push_back({part_name(id), "no manifest lists the file"});
}

}  // namespace

// A reader that has been silent for longer than history is kept, and has lost its place, needs
// nothing: it may never come back, and it would read the tables again.
std::optional<std::uint64_t> StoreState::first_commit_needed(const FeedReadersByName& durable,
                                                             const HistoryLimits& limits) {
  std::optional<std::uint64_t> needed = log_readers.first_needed(limits.now);
  for (const auto& [name, reader] : durable) {
    const std::uint64_t next = reader.acknowledged.commit + 1;
    const bool is_recent = limits.now - reader.acknowledged_at <= limits.age;
    if (!is_recent && next < first_known_commit()) continue;
    needed = std::min(needed.value_or(next), next);
  }
  return needed;
}

void StoreState::move_readers_up_to(std::uint64_t safe) {
  const std::uint64_t last = std::min(safe, published.last_commit);
  const FeedPosition end{std::min(claims.epoch_of(last), feed_epoch), last};
  for (auto& [name, reader] : readers) {
    FeedPosition& acknowledged = reader.acknowledged;
    const bool has_all = acknowledged.commit >= published.last_commit_in_feed;
    if (!has_all || acknowledged.commit >= last || !claims.has_survived(acknowledged)) continue;
    acknowledged = {std::max(acknowledged.epoch, end.epoch), end.commit};
  }
}

// If a commit was lost that a reader has acknowledged, the reader would find a gap. An earlier
// acknowledgement may be stored already, so the position is the last one that is safe.
FeedReadersByName StoreState::readers_up_to(std::uint64_t safe) const {
  FeedReadersByName safe_readers = readers;
  for (auto& [name, reader] : safe_readers) {
    FeedPosition& acknowledged = reader.acknowledged;
    if (acknowledged.epoch == feed_epoch) acknowledged.commit = std::min(acknowledged.commit, safe);
  }
  return safe_readers;
}

std::vector<Catalog*> StoreState::writable_versions() {
  std::vector<Catalog*> catalogs{&published.catalog};
  if (candidate.has_value()) catalogs.push_back(&candidate->version().catalog);
  return catalogs;
}

std::vector<Catalog*> StoreState::versions() {
  std::vector<Catalog*> catalogs = writable_versions();
  catalogs.insert(catalogs.end(), snapshots.begin(), snapshots.end());
  if (checkpoint.has_value()) catalogs.push_back(&checkpoint->tables());
  return catalogs;
}

void StoreState::unload_pinned_growth() {
  const std::uint64_t growth_max = memory_limit / 8;
  if (restored != nullptr) restored->unload_above(growth_max);
  if (!checkpoint.has_value() && snapshots.empty()) {
    growth_estimate = {};  // so that the next version is measured at once
    return;
  }
  if (!growth_estimate.exceeds(growth_max / 4, versions())) return;
  if (checkpoint.has_value()) {
    checkpoint_memory = unload_growth(checkpoint->tables(), published.catalog, growth_max);
  }
  for (Catalog* snapshot : snapshots) {
    unload_growth(*snapshot, published.catalog, growth_max / snapshots.size());
  }
  growth_estimate.mark_measured();
}

Result<void> StoreState::load_part(PartId id, std::optional<std::string_view> bytes,
                                   const std::vector<Catalog*>& versions) {
  if (restored != nullptr && restored->holds(id)) return restored->load_part(id, bytes);
  const std::size_t damaged_before = damage.size();
  Result<void> loaded = load_listed_part(id, bytes, versions);
  // Rows were lost that no commit has removed.
  if (damage.size() > damaged_before) mark_changes_unknown(CommitOrigin::local);
  return loaded;
}

// Versions with the same overlay share the loaded leaves.
Result<void> StoreState::load_listed_part(PartId id, std::optional<std::string_view> bytes,
                                          const std::vector<Catalog*>& versions) {
  const std::optional<ListedPart> listed = parts.find(id);
  if (!listed.has_value()) {
    load_unlisted_part(id, versions, damage);
    return {};
  }
  std::map<const Overlay*, std::vector<TableIndex*>> unloaded;
  for (Catalog* catalog : versions) {
    const Table* table = catalog->find(listed->table);
    if (table == nullptr) continue;
    const std::optional<EntityKey> key = table->index.any_key_in_unloaded_part(id, listed->range);
    if (!key.has_value()) continue;
    TableIndex& index = catalog->mutable_table(listed->table)->index;
    unloaded[index.unloaded_overlay(*key)].push_back(&index);
  }
  for (const auto& [overlay, indexes] : unloaded) {
    auto loaded = load_stored_part(*listed, bytes, indexes, damage);
    if (!loaded.ok()) return loaded;
  }
  return {};
}

}  // namespace entitable
