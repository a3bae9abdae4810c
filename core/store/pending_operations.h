// Operations of a synced table that its remote does not have yet.
#pragma once

#include <optional>
#include <variant>

#include "core/query/query.h"
#include "core/store/catalog.h"
#include "core/txn/entity_group.h"

namespace entitable {

// Returns why the table must not stop syncing now: TableHasPendingOperations, because operations in
// its outbox or in parked groups would be lost without a word, or the parts that are needed to
// know. Returns nothing if there are none.
std::optional<std::variant<GroupFailure, PartsNeeded>> refuse_if_pending(const Catalog& catalog,
                                                                         const Table& table);

}  // namespace entitable
