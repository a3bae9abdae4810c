#include "core/store/verify_catalog.h"

namespace entitable {

std::string verify_catalog(const Catalog& catalog) {
  std::size_t named = 0;
  for (const Ref<Table>& table : catalog.tables()) {
    if (!is_hidden_table(table->id())) {
      ++named;
      continue;
    }
    const Table* const owner = catalog.find(owner_of_hidden_table(table->id()));
    if (owner == nullptr || !owner->synced) return "a hidden table belongs to no synced table";
    if (std::string wrong = table->index.verify(); !wrong.empty())
      return "hidden table " + std::to_string(table->id()) + ": " + wrong;
  }
  if (catalog.identities_by_name().size() != named) return "names and tables differ in number";
  std::string before;
  for (const Ref<TableIdentity>& identity : catalog.identities_by_name()) {
    if (!before.empty() && !(before < identity->name.folded()))
      return "table names are out of order";
    before = identity->name.folded();
    const Table* table = catalog.find(identity->id);
    if (table == nullptr) return "table " + before + " is named but not there";
    const std::string wrong = table->index.verify();
    if (!wrong.empty()) return std::string("table ").append(before).append(": ").append(wrong);
  }
  return {};
}

}  // namespace entitable
