// A group against an index: the mutations that it means, or the first failing operation. Changes
// nothing.
#pragma once

#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "core/index/table_index.h"
#include "core/model/commit.h"
#include "core/txn/entity_group.h"

namespace entitable {

// A row that is there with what a merge sets in it.
struct MergedRow {
  std::vector<char> base;  // a copy, if the index may change before the mutation is applied
  std::vector<PropertyView> properties;
};

// Looks into the operations and, of a single one, into the index; owns what is in none of them. Can
// be moved.
struct StagedMutations {
  std::vector<Mutation> mutations;  // PutRow or DeleteRow, one per operation, in order
  std::vector<Ticks> timestamps;    // one per operation; 0 for a remove
  std::vector<MergedRow> merged;    // those they look at, and maybe some of before
};

struct PartsNeededToStage {
  std::vector<PartId> ids;  // ascending, each once: everything that this group needs
};

using StageFailure = std::variant<GroupFailure, PartsNeededToStage>;

// Strictly rising ticks (core/store/commit_clock), one call per operation that writes a row.
using TimestampSource = std::function<Ticks()>;

// Operation by operation, the first failure counts (core/rest/SERVICE.md §3.1, from "key values"
// on):
//
//   1. the key: of an insert as check_key says; of all others, which name it in their address, as
//      check_url_key says, and PropertyValueTooLarge if an upsert's is too long. Others simply do
//      not find it then.
//   2. existence: EntityAlreadyExists (insert), ResourceNotFound (replace, merge, remove)
//   3. the condition: UpdateConditionNotSatisfied. No condition counts as "*".
//   4. the entity as it would be stored, merged with what is there: TooManyProperties,
//      EntityTooLarge
//
// No timestamp is drawn unless the whole group holds; each write gets one, also if it changes
// nothing. `shape_hint`: what check_group learned of the first operation. Replaces what `staged`
// holds, and uses its memory again; if it could not be staged, what is in it means nothing.
// REQUIRES: check_group(operations, transaction) found no failure; the operations outlive what is
// staged, and of a single one the index is as it is now until its mutation is applied.
std::optional<StageFailure> stage_group(TableId table, const TableIndex& index,
                                        const std::vector<Operation>& operations, bool transaction,
                                        const TimestampSource& next_timestamp, ShapeHint shape_hint,
                                        StagedMutations& staged);

}  // namespace entitable
