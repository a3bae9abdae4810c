#include "core/query/service_plan.h"

#include "core/query/covering_ranges.h"
#include "core/query/key_analysis.h"

namespace entitable {
namespace {

// Returns the sub-interval of `bounds` in which the comparison holds.
KeyInterval narrowed(const KeyInterval& bounds, const FilterNode& comparison) {
  const KeyInterval strings =
      intervals_matching(comparison.op, comparison.literal.view().string()).front();
  KeyInterval narrow = bounds;
  if (compare(narrow.lower, strings.lower) < 0) narrow.lower = strings.lower;
  if (compare(strings.upper, narrow.upper) < 0) narrow.upper = strings.upper;
  return narrow;
}

bool is_usable(const FilterNode& node) {
  return node.kind == FilterKind::comparison && node.op != CompareOp::ne &&
         node.literal.type() == EdmType::string;
}

}  // namespace

ServicePlan make_service_plan(const Filter& filter) {
  ServicePlan plan;
  if (filter.empty()) return plan;
  KeyInterval partitions = KeyInterval::all();
  KeyInterval rows = KeyInterval::all();
  const auto root = static_cast<std::uint32_t>(filter.nodes.size() - 1);
  for (const std::uint32_t at : chain_operands(filter, root, FilterKind::all_of)) {
    const FilterNode& node = filter.nodes[at];
    if (!is_usable(node)) continue;
    if (node.property == "PartitionKey") partitions = narrowed(partitions, node);
    if (node.property == "RowKey") rows = narrowed(rows, node);
  }
  if (partitions.empty() || (partitions.is_single() && rows.empty())) {
    plan.kind = PlanKind::empty;
  } else if (partitions.is_single()) {
    plan.range = range_in_partition(partitions.upper.text(), rows);
    plan.kind = plan_kind_of(plan.range);
  } else {
    plan.range.lower.partition = partitions.lower.smallest_key_above();
    if (!partitions.upper.is_end())
      plan.range.upper = EntityKey(partitions.upper.smallest_key_above(), "");
  }
  return plan;
}

}  // namespace entitable
