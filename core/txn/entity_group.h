// Entity group transactions: the checks that need no stored rows. An entity group is a list of
// writes to one partition that succeed or fail together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/index/schema.h"
#include "core/txn/operation.h"

namespace entitable {

// The failure of a group as the service reports it: the first operation that fails, and why. A
// single write is a group of one operation.
struct GroupFailure {
  Error error;
  std::uint32_t index = 0;  // zero-based operation
  bool prefixed = false;    // the message starts with "<index>:" (core/rest/SERVICE.md §6.3)
};

// Builds the failure of operation `index` in a group of `operations` operations. Single writes
// never have a prefix. In a transaction, the message is prefixed if there are two or more
// operations, or if the error is not one that is found at commit.
GroupFailure operation_failure(Error error, std::size_t index, std::size_t operations,
                               bool transaction);

// Returns the first failure of these checks, in this order:
//
//   1. no operation: InvalidInput, no prefix
//   2. more than 4 MiB: RequestBodyTooLarge, no prefix. The size is the sum of entity_size() over
//      the operations, keys included. Not checked if `size_checked`: an entry point that has the
//      bytes of the request has already checked their number.
//   3. more than 100 operations: InvalidInput "The batch request operation exceeds the maximum 100
//      changes per change set.", index 99
//   4. for each operation: another partition than the first operation's
//      (CommandsInBatchActOnDifferentPartitions), the same row as an earlier operation
//      (InvalidDuplicateRow), a remove without If-Match (InvalidInput), properties that cannot be
//      written (check_properties)
//
// Returns nothing if all checks pass. Does not check keys: stage_group() does so later, because a
// missing table is reported first (core/rest/SERVICE.md §3.1).
//
// `transaction`: false for a single write. REQUIRES: there is then at most one operation. `schema`:
// the table's schema if the table exists. The names of a property list that this schema has stored
// before are not checked again. `shape_hint`: if given, is set to schema->shape_hint_of() of the
// first operation's properties.
std::optional<GroupFailure> check_group(const std::vector<Operation>& operations, bool transaction,
                                        bool size_checked = false, const Schema* schema = nullptr,
                                        ShapeHint* shape_hint = nullptr);

}  // namespace entitable
