#include "core/store/store_state.h"

#include "core/store/stored_part.h"

namespace entitable {

std::vector<TableIndex*> StoreState::versions_without_part(const ListedPart& listed) {
  std::vector<TableIndex*> versions;
  const auto add = [&](Catalog& catalog) {
    const Table* table = catalog.find(listed.table);
    if (table == nullptr || !is_unloaded(table->index, listed)) return;
    versions.push_back(&catalog.mutable_table(listed.table)->index);
  };
  add(published.catalog);
  if (candidate.has_value()) add(candidate->version().catalog);
  if (snapshot != nullptr) add(*snapshot);
  return versions;
}

}  // namespace entitable
