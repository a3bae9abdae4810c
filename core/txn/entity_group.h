// Entity group transactions: the rules that hold before any row, or even the table, is looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/index/shape.h"
#include "core/txn/operation.h"

namespace entitable {

// The first operation that fails, as the service reports it. A single write is a group of one.
struct GroupFailure {
  Error error;
  std::uint32_t index = 0;  // zero-based operation
  bool prefixed = false;    // the message starts with "<index>:" (core/rest/SERVICE.md §6.3)
};

// A failure of operation `index` of a group of `operations`. Prefixed in a transaction of two or
// more operations, and in one of a single operation unless the error is found at commit; a single
// write never is.
GroupFailure operation_failure(Error error, std::size_t index, std::size_t operations,
                               bool transaction);

// In this order:
//
//   1. no operation: InvalidInput, no prefix
//   2. more than 4 MiB: RequestBodyTooLarge, no prefix. Measured as the sum of entity_size() of
//      what each operation carries, its key included. Left out if `size_checked`: a door that has
//      the request's bytes measures those itself.
//   3. more than 100 operations: InvalidInput "The batch request operation exceeds the maximum 100
//      changes per change set.", index 99
//   4. operation by operation: another partition than the first one's
//      (CommandsInBatchActOnDifferentPartitions), a row seen before (InvalidDuplicateRow), a remove
//      without If-Match (InvalidInput), properties that cannot be written (check_properties)
//
// Keys are checked when staging, since a missing table comes first (core/rest/SERVICE.md §3.1).
// `transaction` false is a single write; REQUIRES: then there is at most one operation. `schema`:
// of the table, if it is there; spares the check of names that it knows, and `shape_hint` gets what
// it says of those of the first operation.
std::optional<GroupFailure> check_group(const std::vector<Operation>& operations, bool transaction,
                                        bool size_checked = false, const Schema* schema = nullptr,
                                        ShapeHint* shape_hint = nullptr);

}  // namespace entitable
