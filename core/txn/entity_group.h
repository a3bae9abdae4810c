// Entity group transactions: the rules that hold before any row is looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/txn/operation.h"

namespace entitable {

// The first operation that fails, as the service reports it. A single write is a group of one.
struct GroupFailure {
  Error error;
  std::uint32_t index = 0;   // zero-based operation
  bool prefixed = false;     // the message starts with "<index>:" (spec §6.3)
};

// At most 100 operations (InvalidInput "The batch request operation exceeds the maximum 100 changes per change set.", index 99),
// one partition (CommandsInBatchActOnDifferentPartitions, offending index), each row once (InvalidDuplicateRow, second
// occurrence), keys and properties valid. Empty: InvalidInput. `transaction` false: a single write, no prefix ever.
std::optional<GroupFailure> check_group(const std::vector<Operation>& operations, bool transaction);

}  // namespace entitable
