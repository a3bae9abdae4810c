#include "core/txn/stage.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/model/limits.h"
#include "core/txn/size_bound.h"

namespace entitable {
namespace {

bool creates(OperationKind kind) {
  return kind == OperationKind::insert || kind == OperationKind::insert_or_replace ||
         kind == OperationKind::insert_or_merge;
}

bool merges(OperationKind kind) {
  return kind == OperationKind::merge || kind == OperationKind::insert_or_merge;
}

// The key of an insert is in its body, that of the others in their address.
std::optional<Error> check_place(const Operation& operation) {
  const KeyView key = operation.key.view();
  if (operation.kind != OperationKind::insert) {
    if (const auto checked = check_address(key); !checked.ok()) return checked.error();
  }
  if (creates(operation.kind)) {
    if (const auto checked = check_key(key); !checked.ok()) return checked.error();
  }
  return std::nullopt;
}

std::optional<Error> check_state(const Operation& operation, const std::optional<RowView>& row) {
  switch (operation.kind) {
    case OperationKind::insert:
      if (row.has_value()) return Error(Code::entity_already_exists);
      return std::nullopt;
    case OperationKind::insert_or_replace:
    case OperationKind::insert_or_merge:
      return std::nullopt;
    case OperationKind::replace:
    case OperationKind::merge:
    case OperationKind::remove:
      if (!row.has_value()) return Error(Code::resource_not_found);
      if (!operation.if_match.matches(row->timestamp())) {
        return Error(Code::update_condition_not_satisfied);
      }
      return std::nullopt;
  }
  check_failed("an operation has a kind", __FILE__, __LINE__);
}

// The entity as it would be stored, but for its timestamp.
Entity after_image(const Operation& operation, const std::optional<RowView>& row) {
  Entity entity{operation.key, 0, {}};
  entity.properties = merges(operation.kind) && row.has_value()
                          ? merge(row->materialize().properties, operation.properties)
                          : operation.properties;
  return entity;
}

// Limits of the whole; key, names and values are checked already.
std::optional<Error> check_size(const Entity& entity) {
  if (entity.properties.size() > limits::custom_properties_max) {
    return Error(Code::too_many_properties);
  }
  if (entity_bytes_bound(entity.key, entity.properties) > limits::entity_bytes_max &&
      entity_bytes(entity) > limits::entity_bytes_max) {
    return Error(Code::entity_too_large);
  }
  return std::nullopt;
}

// The mutation, its timestamp still to be drawn; or why not.
Result<Mutation> stage_operation(TableId table, const Operation& operation,
                                 const std::optional<RowView>& row) {
  if (auto error = check_place(operation)) return std::move(*error);
  if (auto error = check_state(operation, row)) return std::move(*error);
  if (operation.kind == OperationKind::remove) {
    return Mutation(DeleteEntity{table, operation.key});
  }
  Entity entity = after_image(operation, row);
  if (auto error = check_size(entity)) return std::move(*error);
  return Mutation(PutEntity{table, std::move(entity)});
}

}  // namespace

StageOutcome stage_group(TableId table, const TableIndex& index,
                         const std::vector<Operation>& operations, bool transaction,
                         const TimestampSource& next_timestamp) {
  std::vector<TableIndex::Found> found;
  found.reserve(operations.size());
  NeedPartsToStage need;
  for (const Operation& operation : operations) {
    found.push_back(index.find(operation.key.view()));
    if (found.back().need_part != 0) need.ids.push_back(found.back().need_part);
  }
  if (!need.ids.empty()) {
    std::sort(need.ids.begin(), need.ids.end());
    need.ids.erase(std::unique(need.ids.begin(), need.ids.end()), need.ids.end());
    return need;
  }

  StagedMutations staged;
  staged.mutations.reserve(operations.size());
  staged.timestamps.reserve(operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) {
    Result<Mutation> mutation = stage_operation(table, operations[i], found[i].row);
    if (!mutation.ok()) {
      return operation_failure(mutation.error(), i, operations.size(), transaction);
    }
    staged.mutations.push_back(std::move(*mutation));
  }
  for (Mutation& mutation : staged.mutations) {
    auto* put = std::get_if<PutEntity>(&mutation);
    staged.timestamps.push_back(put == nullptr ? 0 : next_timestamp());
    if (put != nullptr) put->entity.timestamp = staged.timestamps.back();
  }
  return staged;
}

}  // namespace entitable
