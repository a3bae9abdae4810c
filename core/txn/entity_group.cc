#include "core/txn/entity_group.h"

#include <set>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/model/limits.h"
#include "core/model/service_error.h"
#include "core/txn/size_bound.h"

namespace entitable {
namespace {

bool fits_into_group(const std::vector<Operation>& operations) {
  std::size_t bound = 0;
  for (const Operation& operation : operations) {
    bound += entity_bytes_bound(operation.key.view(), operation.properties);
  }
  if (bound <= limits::group_bytes_max) return true;
  std::size_t bytes = 0;
  for (const Operation& operation : operations) {
    bytes += entity_bytes(operation.key.view(), operation.properties);
  }
  return bytes <= limits::group_bytes_max;
}

// Row keys seen so far. Nearly all groups come in rising order, where the one before tells enough;
// a set is made of those seen when one does not rise.
class SeenRows {
 public:
  explicit SeenRows(const std::vector<Operation>& operations) : operations_(operations) {}

  // The row of the next operation. False: it has been seen.
  bool add() {
    const std::string_view row = operations_[next_].key.row;
    const bool rises = next_ == 0 || row > operations_[next_ - 1].key.row;
    ++next_;
    if (rows_.empty() && rises) return true;
    if (rows_.empty()) {
      for (std::size_t i = 0; i + 1 < next_; ++i) rows_.insert(operations_[i].key.row);
    }
    return rows_.insert(row).second;
  }

 private:
  const std::vector<Operation>& operations_;
  std::size_t next_ = 0;
  std::set<std::string_view> rows_;  // empty as long as they rise
};

// Whether the names of its properties were checked before: with the operation `before` it, since
// those of a group mostly have the same, or with a row that was stored.
bool has_checked_names(const Operation& operation, const Operation* before, Seen seen) {
  if (before == nullptr) return seen != 0;
  return operation.alike || same_names(operation.properties, before->properties);
}

// What an operation must hold by itself.
std::optional<Error> check_operation(const Operation& operation, bool names_checked) {
  if (operation.kind == OperationKind::remove && !operation.if_match.given()) {
    return Error(Code::invalid_input);
  }
  const Result<void> checked =
      names_checked ? check_values(operation.properties) : check_properties(operation.properties);
  if (!checked.ok()) return checked.error();
  return std::nullopt;
}

GroupFailure too_many_operations(std::size_t operations, bool transaction) {
  Error error(Code::invalid_input,
              "The batch request operation exceeds the maximum 100 changes per change set.");
  return operation_failure(std::move(error), limits::group_operations_max - 1, operations,
                           transaction);
}

}  // namespace

GroupFailure operation_failure(Error error, std::size_t index, std::size_t operations,
                               bool transaction) {
  const bool prefixed = transaction && (operations > 1 || !found_at_commit(error.code));
  return {std::move(error), static_cast<std::uint32_t>(index), prefixed};
}

std::optional<GroupFailure> check_group(const std::vector<Operation>& operations, bool transaction,
                                        bool measured, const Schema* schema, Seen* seen) {
  ENTITABLE_CHECK(transaction || operations.size() <= 1);
  if (operations.empty()) return GroupFailure{Error(Code::invalid_input), 0, false};
  if (!measured && !fits_into_group(operations)) {
    return GroupFailure{Error(Code::request_body_too_large), 0, false};
  }
  if (operations.size() > limits::group_operations_max) {
    return too_many_operations(operations.size(), transaction);
  }
  const Seen first = schema == nullptr ? 0 : schema->saw(operations.front().properties);
  if (seen != nullptr) *seen = first;
  SeenRows rows(operations);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    std::optional<Error> error;
    if (operation.key.partition != operations.front().key.partition) {
      error = Error(Code::batch_partitions_differ);
    } else if (!rows.add()) {
      error = Error(Code::batch_duplicate_row);
    } else {
      const Operation* const before = i == 0 ? nullptr : &operations[i - 1];
      error = check_operation(operation, has_checked_names(operation, before, first));
    }
    if (error) return operation_failure(std::move(*error), i, operations.size(), transaction);
  }
  return std::nullopt;
}

}  // namespace entitable
