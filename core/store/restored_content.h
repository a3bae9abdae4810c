// The content of a snapshot file that is being restored: a catalog that is not yet a version of the
// store. Its rows are in parts that the host has stored and that no manifest lists, so few of
// them are in memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/store/catalog.h"
#include "core/store/stored_part.h"

namespace entitable {

class RestoredContent {
 public:
  Catalog& catalog() { return catalog_; }
  const Catalog& catalog() const { return catalog_; }

  // Adds a part. REQUIRES: its rows are the last ones of its table, and in memory; its range has no
  // end.
  void add_part(ListedPart part);
  // Records whether the host is storing the part that was added last. Nothing is unloaded
  // meanwhile.
  void set_pending(bool pending) { pending_ = pending; }
  bool holds(PartId id) const { return parts_.count(id) > 0; }
  const std::map<PartId, ListedPart>& parts() const { return parts_; }

  // Loads the rows of a part again. A file that is missing or damaged makes the content damaged.
  // Error: format_too_new. REQUIRES: holds(id).
  Result<void> load_part(PartId id, std::optional<std::string_view> bytes);
  bool is_damaged() const { return !damage_.empty(); }
  // Unloads all rows if they take more memory than `bytes`.
  void unload_above(std::uint64_t bytes);

 private:
  Catalog catalog_;
  std::map<PartId, ListedPart> parts_;
  std::vector<Damage> damage_;
  std::uint64_t baseline_ = 0;  // the memory after the last unloading
  bool pending_ = false;
};

}  // namespace entitable
