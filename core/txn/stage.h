// A group against an index: the mutations that it means, or the first failing operation. Changes nothing.
#pragma once

#include <variant>
#include <vector>

#include "core/index/table_index.h"
#include "core/model/commit.h"
#include "core/txn/entity_group.h"

namespace entitable {

struct StagedMutations {
  std::vector<Mutation> mutations;
  std::vector<Ticks> timestamps;  // one per operation; 0 for a remove
};

struct NeedPartsToStage {
  std::vector<PartId> ids;
};

using StageOutcome = std::variant<StagedMutations, GroupFailure, NeedPartsToStage>;

// `next_timestamp()` gives strictly rising ticks, one per operation that writes a row.
template <typename NextTimestamp>
StageOutcome stage_group(TableId table, const TableIndex& index, const std::vector<Operation>& operations,
                         bool transaction, NextTimestamp next_timestamp);

}  // namespace entitable
