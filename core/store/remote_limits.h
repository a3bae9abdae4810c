// The limits of Cosmos DB for Table, where they are narrower than those of the Table service. Local
// writes of a table that is synced with Cosmos DB are checked against them, so that the outbox gets
// no operation that the remote would never accept. Microsoft's FAQ of Cosmos DB for Table has them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/index/row.h"
#include "core/model/commit.h"
#include "core/txn/entity_group.h"

namespace entitable {

namespace limits {

inline constexpr std::size_t cosmos_row_key_bytes_max = 255;
// Of a batch, as the code that pushes counts it (web/src/sync/operation.ts, bytesOf).
inline constexpr std::size_t cosmos_batch_bytes_max = 2'000'000;

}  // namespace limits

// The key of the row of HiddenTable::state that says which service the remote is
// (web/src/sync-store/VALUES.md). It is written when the code of sync has reached the remote.
inline constexpr KeyView remote_service_key{"client remote", ""};
// Returns whether that row says that the remote is Cosmos DB. False also for a row that cannot be
// read.
bool is_cosmos_db(const RowView& remote_service);

// What a local write does to an entity, as a push will send it.
struct OperationToPush {
  KeyView key;
  const PutRow* after;                // the entity as it will be; null: it is deleted
  std::span<const PropertyView> set;  // the properties that differ from those before
  bool replaces;                      // sends all properties: not only those that were set
};

// Returns the first failure of these checks, in this order:
//
//   1. the operations have more than limits::cosmos_batch_bytes_max: RequestBodyTooLarge, no prefix
//   2. for each entity as it will be: the RowKey has more than limits::cosmos_row_key_bytes_max
//      bytes of UTF-8 (PropertyValueTooLarge); a property has a name that Cosmos DB reserves, in
//      upper or lower case (PropertyNameInvalid)
//
// An operation that deletes an entity passes the second check: the entity may have been written
// before the remote was known.
std::optional<GroupFailure> check_cosmos_limits(const std::vector<OperationToPush>& operations,
                                                bool transaction);

}  // namespace entitable
