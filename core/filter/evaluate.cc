#include "core/filter/evaluate.h"

#include <optional>
#include <string_view>
#include <vector>

namespace entitable {
namespace {

// REQUIRES: comparison_kind(property.type(), literal.type()) == ComparisonKind::as_number.
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
  const Property* property = entity.find_property(name);
  if (property == nullptr) return std::nullopt;
  return property->value.view();
}

bool evaluate_node(const FilterNode& node, const std::vector<bool>& results, const Entity& entity) {
  switch (node.kind) {
    case FilterKind::all_of:
      return results[node.left] && results[node.right];
    case FilterKind::any_of:
      return results[node.left] || results[node.right];
    case FilterKind::negation:
      return !results[node.left];
    case FilterKind::comparison: {
      const std::optional<ValueView> property = find_property(entity, node.property);
      return property && comparison_holds(*property, node.op, node.literal.view());
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

bool comparison_holds(const ValueView& property, CompareOp op, const ValueView& literal) {
  switch (comparison_kind(property.type(), literal.type())) {
    case ComparisonKind::same_type:
      return holds(op, compare_values(property, literal));
    case ComparisonKind::as_number:
      return holds(op, compare_numbers(property, literal));
    case ComparisonKind::mismatch:
      break;
  }
  return holds_on_mismatch(op);
}

bool matches_unbound(const Filter& filter, const Entity& entity) {
  if (filter.empty()) return true;
  std::vector<bool> results;
  results.reserve(filter.nodes.size());
  for (const FilterNode& node : filter.nodes)
    results.push_back(evaluate_node(node, results, entity));
  return results.back();
}

}  // namespace entitable
