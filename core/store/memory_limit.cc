#include "core/store/memory_limit.h"

#include <algorithm>
#include <vector>

namespace entitable {

void unload_unused_parts(Catalog& catalog, std::uint64_t bytes) {
  struct Resident {
    std::size_t table;  // position in the catalog
    ResidentPart part;
  };
  std::vector<Resident> residents;
  for (std::size_t table = 0; table < catalog.tables().size(); ++table) {
    for (const ResidentPart& part : catalog.tables()[table]->index.sweep_resident_parts()) {
      residents.push_back({table, part});
    }
  }
  std::stable_partition(residents.begin(), residents.end(),
                        [](const Resident& resident) { return !resident.part.recently_used; });
  std::vector<std::vector<PartId>> dropped(catalog.tables().size());
  std::uint64_t freed = 0;
  for (const auto& [table, part] : residents) {
    if (freed >= bytes) break;
    freed += part.memory;
    dropped[table].push_back(part.part);
  }
  for (std::size_t table = 0; table < dropped.size(); ++table) {
    if (dropped[table].empty()) continue;
    std::sort(dropped[table].begin(), dropped[table].end());
    catalog.mutable_table(catalog.tables()[table]->id())->index.unload_parts(dropped[table]);
  }
}

}  // namespace entitable
