#include "core/txn/stage.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "core/base/check.h"
#include "core/model/limits.h"
#include "core/txn/entity_size_bound.h"

namespace entitable {
namespace {

bool creates(OperationKind kind) {
  return kind == OperationKind::insert || kind == OperationKind::insert_or_replace ||
         kind == OperationKind::insert_or_merge;
}

bool merges(OperationKind kind) {
  return kind == OperationKind::merge || kind == OperationKind::insert_or_merge;
}

// An insert has its key in the body of the request. The other operations have it in the URL.
std::optional<Error> check_operation_key(const Operation& operation) {
  const KeyView key = operation.key.view();
  if (operation.kind != OperationKind::insert) {
    if (const auto checked = check_url_key(key); !checked.ok()) return checked.error();
  }
  if (creates(operation.kind)) {
    if (const auto checked = check_key(key); !checked.ok()) return checked.error();
  }
  return std::nullopt;
}

std::optional<Error> check_precondition(const Operation& operation,
                                        const std::optional<RowView>& row) {
  switch (operation.kind) {
    case OperationKind::insert:
      if (row.has_value()) return Error(ErrorCode::entity_already_exists);
      return std::nullopt;
    case OperationKind::insert_or_replace:
    case OperationKind::insert_or_merge:
      return std::nullopt;
    case OperationKind::replace:
    case OperationKind::merge:
    case OperationKind::remove:
      if (!row.has_value()) return Error(ErrorCode::resource_not_found);
      if (!operation.if_match.matches(row->timestamp())) {
        return Error(ErrorCode::update_condition_not_satisfied);
      }
      return std::nullopt;
  }
  check_failed("an operation has a kind", __FILE__, __LINE__);
}

// Sets `merged` to the properties of the row after a merge. In a group the row is copied, because
// another operation may change its leaf before this mutation is applied.
void merge_row(const RowView& row, std::span<const PropertyView> update, bool is_single,
               MergedRow& merged) {
  merged.base.resize(is_single ? 0 : row.packed_bytes());
  const RowView base = is_single ? row : row.copy_to(merged.base.data());
  merged.properties.clear();
  merged.properties.reserve(row.shape().columns().size() + update.size());
  base.for_each_property([&](std::string_view name, const ValueView& value) {
    merged.properties.push_back({name, value});
  });
  merge_into(merged.properties, update);
}

// Checks the limits of the whole entity; key, names and values are checked already.
std::optional<Error> check_size(const KeyView& key, std::span<const PropertyView> properties) {
  if (properties.size() > limits::custom_properties_max)
    return Error(ErrorCode::too_many_properties);
  if (entity_size_bound(key, properties) > limits::entity_bytes_max &&
      entity_size(key, properties) > limits::entity_bytes_max) {
    return Error(ErrorCode::entity_too_large);
  }
  return std::nullopt;
}

PutEffect effect_of_put(const TableIndex::Found& found) {
  if (found.row.has_value()) return PutEffect::update;
  return found.part_needed == 0 ? PutEffect::insert : PutEffect::unknown;
}

// Adds the operation's mutation, without its timestamp. Returns the error if a check fails.
// `merged`: how many elements of staged.merged are in use.
std::optional<Error> stage_operation(TableId table, const Schema& schema,
                                     const Operation& operation, bool is_single,
                                     const TableIndex::Found& found, StagedMutations& staged,
                                     std::size_t& merged) {
  const std::optional<RowView>& row = found.row;
  if (auto error = check_operation_key(operation)) return error;
  if (auto error = check_precondition(operation, row)) return error;
  if (operation.kind == OperationKind::remove) {
    staged.mutations.emplace_back(DeleteRow{table, operation.key});
    return std::nullopt;
  }
  std::span<const PropertyView> properties = operation.properties;
  ShapeHint shape_hint = 0;
  if (merges(operation.kind) && row.has_value()) {
    if (merged == staged.merged.size()) staged.merged.emplace_back();
    merge_row(*row, properties, is_single, staged.merged[merged]);
    properties = staged.merged[merged++].properties;
    if (is_single) shape_hint = schema.shape_hint_of(properties);
  }
  if (auto error = check_size(operation.key.view(), properties)) return error;
  staged.mutations.emplace_back(PutRow{
      table, operation.key.view(), 0, properties, false, shape_hint, {}, effect_of_put(found)});
  return std::nullopt;
}

// Returns whether the mutation stores exactly the operation's properties: a merge may add others.
bool puts_as_given(const Mutation& mutation, const Operation& operation) {
  const auto* put = std::get_if<PutRow>(&mutation);
  return put != nullptr && put->properties.data() == operation.properties.data();
}

// Sets the remaining fields of all staged puts: timestamp, same_shape_as_previous and shape_hint.
// Fills staged.timestamps; a delete gets 0.
void finish(const std::vector<Operation>& operations, const TimestampSource& next_timestamp,
            ShapeHint shape_hint, StagedMutations& staged) {
  bool before_as_given = false;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    auto* put = std::get_if<PutRow>(&staged.mutations[i]);
    staged.timestamps.push_back(put == nullptr ? 0 : next_timestamp());
    const bool as_given = puts_as_given(staged.mutations[i], operations[i]);
    if (put != nullptr) {
      put->timestamp = staged.timestamps.back();
      put->same_shape_as_previous =
          operations[i].same_shape_as_previous && before_as_given && as_given;
      if (i == 0 && as_given) put->shape_hint = shape_hint;
    }
    before_as_given = as_given;
  }
}

}  // namespace

std::optional<StageFailure> stage_group(TableId table, const TableIndex& index,
                                        const std::vector<Operation>& operations, bool transaction,
                                        const TimestampSource& next_timestamp, ShapeHint shape_hint,
                                        StagedMutations& staged, UpsertNeeds upsert_needs,
                                        const TableIndex* base) {
  std::array<TableIndex::Found, 1> single;
  std::vector<TableIndex::Found> many(operations.size() > 1 ? operations.size() : 0);
  const std::span<TableIndex::Found> found =
      many.empty() ? std::span<TableIndex::Found>(single) : many;
  PartsNeededToStage need;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    found[i] = index.find_for_update(operations[i].key.view(), base);
    const bool is_blind = operations[i].kind == OperationKind::insert_or_replace &&
                          upsert_needs == UpsertNeeds::nothing &&
                          !found[i].needs_part_for_any_change;
    if (found[i].part_needed != 0 && !is_blind) need.ids.push_back(found[i].part_needed);
  }
  if (!need.ids.empty()) {
    std::sort(need.ids.begin(), need.ids.end());
    need.ids.erase(std::unique(need.ids.begin(), need.ids.end()), need.ids.end());
    return need;
  }

  staged.mutations.clear();
  staged.mutations.reserve(operations.size());
  staged.timestamps.clear();
  staged.timestamps.reserve(operations.size());
  std::size_t merged = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (auto error = stage_operation(table, index.schema(), operations[i], many.empty(), found[i],
                                     staged, merged)) {
      return operation_failure(std::move(*error), i, operations.size(), transaction);
    }
  }
  finish(operations, next_timestamp, shape_hint, staged);
  return std::nullopt;
}

}  // namespace entitable
