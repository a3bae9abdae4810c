#include "core/store/stored_parts.h"

#include <algorithm>
#include <utility>

namespace entitable {

StoredParts::StoredParts(Manifest manifest) {
  set_manifest(std::move(manifest));
}

void StoredParts::replace_manifest(Manifest manifest, const std::vector<PartId>& deleted) {
  for (const Entry& entry : listed_) {
    add_unlisted(listed_part(manifest_.tables[entry.table], entry.position));
  }
  for (const PartId id : deleted) unlisted_.erase(id);
  manifest.next_part = std::max(manifest.next_part, manifest_.next_part);
  set_manifest(std::move(manifest));
}

void StoredParts::set_manifest(Manifest manifest) {
  manifest_ = std::move(manifest);
  listed_.clear();
  for (std::uint32_t table = 0; table < manifest_.tables.size(); ++table) {
    const std::vector<ManifestPart>& parts = manifest_.tables[table].parts;
    for (std::uint32_t i = 0; i < parts.size(); ++i) {
      listed_.push_back({parts[i].id, table, i});
      unlisted_.erase(parts[i].id);
    }
  }
  std::sort(listed_.begin(), listed_.end(),
            [](const Entry& a, const Entry& b) { return a.id < b.id; });
}

const StoredParts::Entry* StoredParts::find_listed(PartId id) const {
  const auto at =
      std::lower_bound(listed_.begin(), listed_.end(), id,
                       [](const Entry& entry, PartId wanted) { return entry.id < wanted; });
  return at == listed_.end() || at->id != id ? nullptr : &*at;
}

std::optional<ListedPart> StoredParts::find(PartId id) const {
  if (const Entry* entry = find_listed(id)) {
    return listed_part(manifest_.tables[entry->table], entry->position);
  }
  const auto at = unlisted_.find(id);
  if (at == unlisted_.end()) return std::nullopt;
  return at->second;
}

bool StoredParts::belongs_to(PartId id, TableId table) const {
  if (const Entry* entry = find_listed(id)) return manifest_.tables[entry->table].id == table;
  const auto at = unlisted_.find(id);
  return at != unlisted_.end() && at->second.table == table;
}

std::vector<PartId> StoredParts::ids() const {
  std::vector<PartId> ids;
  ids.reserve(listed_.size() + unlisted_.size());
  for (const Entry& entry : listed_) ids.push_back(entry.id);
  for (const auto& [id, part] : unlisted_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace entitable
