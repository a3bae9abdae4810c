// Stages a group against an index: returns the mutations to apply, or the first failing operation.
// The index does not change.
#pragma once

#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "core/index/table_index.h"
#include "core/model/commit.h"
#include "core/txn/entity_group.h"

namespace entitable {

// The properties of an existing row after a merge.
struct MergedRow {
  // a copy of the row, if the index may change before the mutation is applied
  std::vector<char> base;
  std::vector<PropertyView> properties;
};

// The staged mutations of a group. They refer to the operations, and for a single operation also to
// the index; `merged` owns the rest. Movable.
struct StagedMutations {
  std::vector<Mutation> mutations;  // PutRow or DeleteRow, one per operation, in order
  std::vector<Ticks> timestamps;    // one per operation; 0 for a remove
  // merged rows that the mutations refer to; may contain unused elements of an earlier group
  std::vector<MergedRow> merged;
};

struct PartsNeededToStage {
  std::vector<PartId> ids;  // all parts that this group needs, ascending, without duplicates
};

using StageFailure = std::variant<GroupFailure, PartsNeededToStage>;

// Returns strictly rising ticks (core/store/commit_clock); called once per operation that writes a
// row.
using TimestampSource = std::function<Ticks()>;

// Checks the operations in order and reports the first failure (core/rest/SERVICE.md §3.1, from
// "key values" on). The checks of an operation are, in this order:
//
//   1. the key: check_key for an insert; check_url_key for all others, whose key is in the address.
//      An upsert with a key that is too long is PropertyValueTooLarge; other operations do not find
//      such a row.
//   2. existence: EntityAlreadyExists (insert), ResourceNotFound (replace, merge, remove)
//   3. the condition: UpdateConditionNotSatisfied. No condition means "*".
//   4. the entity as it would be stored, after a merge: TooManyProperties, EntityTooLarge
//
// Timestamps are drawn only after all operations have passed; each write gets one, even if it
// changes nothing. `shape_hint`: from check_group(), for the first operation. `staged`:
// overwritten, reusing its memory; unspecified after a failure. REQUIRES: check_group(operations,
// transaction) found no failure; the operations outlive `staged`; for a single operation, the index
// does not change until the mutation is applied.
std::optional<StageFailure> stage_group(TableId table, const TableIndex& index,
                                        const std::vector<Operation>& operations, bool transaction,
                                        const TimestampSource& next_timestamp, ShapeHint shape_hint,
                                        StagedMutations& staged);

}  // namespace entitable
