// Staging: turns a group of operations into the mutations to apply to an index, or finds the first
// operation that fails. The index does not change.
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
  // The bytes of a copy of the row, to which `properties` refer. Empty if they refer to the index.
  std::vector<char> base;
  std::vector<PropertyView> properties;
};

// The staged mutations of a group. Their views refer to the operations, to `merged` and, for a
// single operation, to the index. They stay valid when this object is moved.
struct StagedMutations {
  std::vector<Mutation> mutations;  // PutRow or DeleteRow, one per operation, in order
  std::vector<Ticks> timestamps;    // one per operation; 0 for a remove
  // Merged rows that the mutations refer to. May have more elements, left from an earlier group.
  std::vector<MergedRow> merged;
};

struct PartsNeededToStage {
  std::vector<PartId> ids;  // all parts that this group needs, ascending, without duplicates
};

// Whether an upsert that replaces the row needs the part that may hold the row. Without the part,
// the new row is kept in an overlay (core/index/overlay.h), and the row count is not exact until
// the part is loaded. A part whose overlay is full is always needed.
enum class UpsertNeeds { part, nothing };

using StageFailure = std::variant<GroupFailure, PartsNeededToStage>;

// Returns the timestamp for the next row. Each result is above the one before
// (core/store/commit_clock).
using TimestampSource = std::function<Ticks()>;

// Stages a group. Returns nothing if it succeeds, else the failure of the first operation that
// fails, or the parts to be loaded. The checks of an operation are, in this order
// (core/rest/SERVICE.md §3.1, from "key values" on):
//
//   1. the key: check_key() for an insert; check_url_key() for all others, whose key is in the URL.
//      A key that is too long is PropertyValueTooLarge for insert_or_replace and insert_or_merge;
//      the other operations do not find such a row.
//   2. existence: EntityAlreadyExists (insert), ResourceNotFound (replace, merge, remove)
//   3. the If-Match condition: UpdateConditionNotSatisfied. No condition means "*".
//   4. the entity as it would be stored, after a merge: TooManyProperties, EntityTooLarge
//
// Calls next_timestamp only after all operations have passed, once for each operation except
// remove. `shape_hint`: the result of check_group() for the first operation. `staged`: receives the
// mutations; its earlier content is overwritten, and its memory is reused. Its content is
// unspecified after a failure. `base`: as for TableIndex::find_for_update(). REQUIRES:
// check_group(operations, transaction) found no failure; the operations outlive `staged`; for a
// single operation, the index does not change until the mutation is applied.
std::optional<StageFailure> stage_group(TableId table, const TableIndex& index,
                                        const std::vector<Operation>& operations, bool transaction,
                                        const TimestampSource& next_timestamp, ShapeHint shape_hint,
                                        StagedMutations& staged,
                                        UpsertNeeds upsert_needs = UpsertNeeds::part,
                                        const TableIndex* base = nullptr);

}  // namespace entitable
