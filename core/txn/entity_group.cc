#include "core/txn/entity_group.h"

#include <set>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/model/limits.h"
#include "core/model/service_error.h"

namespace entitable {
namespace {

// What each operation carries, its key included.
std::size_t group_bytes(const std::vector<Operation>& operations) {
  std::size_t bytes = 0;
  for (const Operation& operation : operations) {
    bytes += 4 + 2 * (utf16_units(operation.key.partition) + utf16_units(operation.key.row));
    for (const Property& property : operation.properties) {
      bytes += 8 + 2 * utf16_units(property.name) + value_bytes(property.value.view());
    }
  }
  return bytes;
}

std::optional<Error> check_operation(const Operation& operation, const Operation& first,
                                     std::set<std::string_view>& rows) {
  if (operation.key.partition != first.key.partition) return Error(Code::batch_partitions_differ);
  if (!rows.insert(operation.key.row).second) return Error(Code::batch_duplicate_row);
  if (operation.kind == OperationKind::remove && !operation.if_match.given()) {
    return Error(Code::invalid_input);
  }
  if (const auto checked = check_properties(operation.properties); !checked.ok()) {
    return checked.error();
  }
  return std::nullopt;
}

}  // namespace

GroupFailure operation_failure(Error error, std::size_t index, std::size_t operations,
                               bool transaction) {
  const bool prefixed = transaction && (operations > 1 || !found_at_commit(error.code));
  return {std::move(error), static_cast<std::uint32_t>(index), prefixed};
}

std::optional<GroupFailure> check_group(const std::vector<Operation>& operations,
                                        bool transaction) {
  ENTITABLE_CHECK(transaction || operations.size() <= 1);
  if (operations.empty()) return GroupFailure{Error(Code::invalid_input), 0, false};
  if (group_bytes(operations) > limits::group_bytes_max) {
    return GroupFailure{Error(Code::request_body_too_large), 0, false};
  }
  if (operations.size() > limits::group_operations_max) {
    Error error(Code::invalid_input,
                "The batch request operation exceeds the maximum 100 changes per change set.");
    return operation_failure(std::move(error), limits::group_operations_max - 1, operations.size(),
                             transaction);
  }
  std::set<std::string_view> rows;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (auto error = check_operation(operations[i], operations.front(), rows)) {
      return operation_failure(std::move(*error), i, operations.size(), transaction);
    }
  }
  return std::nullopt;
}

}  // namespace entitable
