#include "core/store/pending_operations.h"

#include "core/index/cursor.h"

namespace entitable {

std::optional<std::variant<GroupFailure, PartsNeeded>> refuse_if_pending(const Catalog& catalog,
                                                                         const Table& table) {
  if (!table.synced) return std::nullopt;
  for (const HiddenTable kind : {HiddenTable::outbox, HiddenTable::parked}) {
    const Table* const hidden = catalog.find_hidden(table.id(), kind);
    if (hidden == nullptr) continue;
    const Cursor rows(hidden->index, KeyRange());
    if (rows.part_needed() != 0) return PartsNeeded{{rows.part_needed()}};
    if (rows.valid()) return GroupFailure{Error(ErrorCode::table_has_pending_operations), 0, false};
  }
  return std::nullopt;
}

}  // namespace entitable
