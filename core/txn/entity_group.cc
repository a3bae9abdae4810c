#include "core/txn/entity_group.h"

#include <set>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/model/limits.h"
#include "core/model/service_error.h"
#include "core/txn/entity_size_bound.h"

namespace entitable {
namespace {

bool is_within_group_size(const std::vector<Operation>& operations) {
  std::size_t bound = 0;
  for (const Operation& operation : operations) {
    bound += entity_size_bound(operation.key.view(), operation.properties);
  }
  if (bound <= limits::group_bytes_max) return true;
  std::size_t bytes = 0;
  for (const Operation& operation : operations) {
    bytes += entity_size(operation.key.view(), operation.properties);
  }
  return bytes <= limits::group_bytes_max;
}

// The row keys of the operations checked so far. In most groups the row keys ascend, so comparing a
// key with the previous one is enough. A set is built only when a key does not ascend.
class SeenRows {
 public:
  explicit SeenRows(const std::vector<Operation>& operations) : operations_(operations) {}

  // Adds the row of the next operation; returns false if the row was seen before.
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
  std::set<std::string_view> rows_;  // empty as long as the keys rise
};

// Returns whether the operation's property names need no check, because the previous operation has
// the same names or, for the first operation, because the schema knows them.
bool has_checked_names(const Operation& operation, const Operation* before, ShapeHint shape_hint) {
  if (before == nullptr) return shape_hint != 0;
  return operation.same_shape_as_previous || same_names(operation.properties, before->properties);
}

// Runs the checks that depend on this operation only. Returns the error, or nothing.
std::optional<Error> check_operation(const Operation& operation, bool names_checked) {
  if (operation.kind == OperationKind::remove && !operation.if_match.has_condition()) {
    return Error(ErrorCode::invalid_input);
  }
  const Result<void> checked =
      names_checked ? check_values(operation.properties) : check_properties(operation.properties);
  if (!checked.ok()) return checked.error();
  return std::nullopt;
}

GroupFailure too_many_operations(std::size_t operations, bool transaction) {
  Error error(ErrorCode::invalid_input,
              "The batch request operation exceeds the maximum 100 changes per change set.");
  return operation_failure(std::move(error), limits::group_operations_max - 1, operations,
                           transaction);
}

}  // namespace

GroupFailure operation_failure(Error error, std::size_t index, std::size_t operations,
                               bool transaction) {
  const bool prefixed = transaction && (operations > 1 || !is_commit_time_error(error.code));
  return {std::move(error), static_cast<std::uint32_t>(index), prefixed};
}

std::optional<GroupFailure> check_group(const std::vector<Operation>& operations, bool transaction,
                                        bool size_checked, const Schema* schema,
                                        ShapeHint* shape_hint) {
  ENTITABLE_CHECK(transaction || operations.size() <= 1);
  if (operations.empty()) return GroupFailure{Error(ErrorCode::invalid_input), 0, false};
  if (!size_checked && !is_within_group_size(operations)) {
    return GroupFailure{Error(ErrorCode::request_body_too_large), 0, false};
  }
  if (operations.size() > limits::group_operations_max) {
    return too_many_operations(operations.size(), transaction);
  }
  const ShapeHint first =
      schema == nullptr ? 0 : schema->shape_hint_of(operations.front().properties);
  if (shape_hint != nullptr) *shape_hint = first;
  SeenRows rows(operations);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& operation = operations[i];
    std::optional<Error> error;
    if (operation.key.partition != operations.front().key.partition) {
      error = Error(ErrorCode::batch_partitions_differ);
    } else if (!rows.add()) {
      error = Error(ErrorCode::batch_duplicate_row);
    } else {
      const Operation* const before = i == 0 ? nullptr : &operations[i - 1];
      error = check_operation(operation, has_checked_names(operation, before, first));
    }
    if (error) return operation_failure(std::move(*error), i, operations.size(), transaction);
  }
  return std::nullopt;
}

}  // namespace entitable
