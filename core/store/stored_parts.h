// The parts in storage: those that the manifest lists, and those that it does not list. A part is
// unlisted while its checkpoint is not finished, after its checkpoint was abandoned, or while a
// snapshot may still need it after a later checkpoint replaced it. The parts of a snapshot file
// that is being restored are not here before they replace the content (restored_content.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/log/manifest_codec.h"
#include "core/store/stored_part.h"

namespace entitable {

class StoredParts {
 public:
  StoredParts() = default;
  explicit StoredParts(Manifest manifest);

  const Manifest& manifest() const { return manifest_; }
  // Replaces the manifest. Stored parts that it does not list stay stored as unlisted ones, except
  // those in `deleted`, which is in ascending order.
  void replace_manifest(Manifest manifest, const std::vector<PartId>& deleted);
  // Returns a part number that was never used. manifest().next_part is above all of these.
  PartId take_next_part() { return manifest_.next_part++; }

  void add_unlisted(ListedPart part) { unlisted_.insert_or_assign(part.part.id, std::move(part)); }
  // Returns whether the part was unlisted.
  bool forget_unlisted(PartId id) { return unlisted_.erase(id) > 0; }

  // Returns the part with its table and key range, or nothing if no such part is stored.
  std::optional<ListedPart> find(PartId id) const;
  // Returns whether the part is stored for this table.
  bool belongs_to(PartId id, TableId table) const;
  // Returns the ids of all stored parts, in ascending order.
  std::vector<PartId> ids() const;

 private:
  struct Entry {
    PartId id;
    std::uint32_t table;     // position in manifest_.tables
    std::uint32_t position;  // position in that table's parts
  };
  const Entry* find_listed(PartId id) const;
  void set_manifest(Manifest manifest);

  Manifest manifest_;
  std::vector<Entry> listed_;  // the parts of manifest_, in ascending order of ids
  std::map<PartId, ListedPart> unlisted_;
};

}  // namespace entitable
