#include "core/filter/evaluate.h"

#include <optional>
#include <string_view>
#include <vector>

namespace entitable {
namespace {

// REQUIRES: comparable(property.type(), literal.type()) == Comparable::as_number.
Ordering compare_numbers(const ValueView& property, const ValueView& literal) {
  if (property.type() == EdmType::int64) {
    return compare_values(property, ValueView::of_int64(literal.int32()));
  }
  const auto nearest = static_cast<double>(literal.bits());
  return compare_values(property, ValueView::of_double(nearest));
}

std::optional<ValueView> find_property(const Entity& entity, std::string_view name) {
  if (name == "PartitionKey") return ValueView::of_string(entity.key.partition);
  if (name == "RowKey") return ValueView::of_string(entity.key.row);
  if (name == "Timestamp") return ValueView::of_date_time(entity.timestamp);
  const Property* property = entity.find(name);
  if (property == nullptr) return std::nullopt;
  return property->value.view();
}

bool answer(const FilterNode& node, const std::vector<bool>& answers, const Entity& entity) {
  switch (node.kind) {
    case FilterKind::all_of:
      return answers[node.left] && answers[node.right];
    case FilterKind::any_of:
      return answers[node.left] || answers[node.right];
    case FilterKind::negation:
      return !answers[node.left];
    case FilterKind::comparison: {
      const std::optional<ValueView> property = find_property(entity, node.property);
      return property && compare_property(*property, node.op, node.literal.view());
    }
    case FilterKind::flag: {
      const std::optional<ValueView> property = find_property(entity, node.property);
      return property && property->type() == EdmType::boolean && property->boolean();
    }
    case FilterKind::constant:
      return node.literal.view().boolean();
  }
  return false;
}

}  // namespace

bool compare_property(const ValueView& property, CompareOp op, const ValueView& literal) {
  switch (comparable(property.type(), literal.type())) {
    case Comparable::same_type:
      return holds(op, compare_values(property, literal));
    case Comparable::as_number:
      return holds(op, compare_numbers(property, literal));
    case Comparable::mismatch:
      break;
  }
  return mismatch_answer(op);
}

bool matches(const Filter& filter, const Entity& entity) {
  if (filter.empty()) return true;
  std::vector<bool> answers;
  answers.reserve(filter.nodes.size());
  for (const FilterNode& node : filter.nodes) answers.push_back(answer(node, answers, entity));
  return answers.back();
}

}  // namespace entitable
