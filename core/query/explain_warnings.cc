#include "core/query/explain_warnings.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/filter/evaluate.h"
#include "core/filter/literal.h"
#include "core/model/limits.h"

namespace entitable {
namespace {

// A filter may have thousands of comparisons; warnings for the first ones are enough.
constexpr std::size_t comparisons_reported_max = 32;

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

std::string comparison_text(const FilterNode& node) {
  return node.property + " " + std::string(operator_name(node.op)) + " " +
         literal_text(node.literal.view());
}

// Returns the type of a system property, or nothing for any other property.
std::optional<EdmType> system_type(std::string_view property) {
  if (property == "PartitionKey" || property == "RowKey") return EdmType::string;
  if (property == "Timestamp") return EdmType::date_time;
  return std::nullopt;
}

std::string example_of(EdmType type) {
  switch (type) {
    case EdmType::string:
      return "'text'";
    case EdmType::binary:
      return "X'0a1b'";
    case EdmType::boolean:
      return "true";
    case EdmType::date_time:
      return "datetime'2024-01-31T00:00:00Z'";
    case EdmType::float64:
      return "1.5";
    case EdmType::guid:
      return "guid'a455c695-df98-5678-aaaa-81d3367e5a34'";
    case EdmType::int32:
      return "5";
    case EdmType::int64:
      return "5L";
  }
  return {};
}

ExplainWarning type_mismatch(const FilterNode& node, EdmType type, bool system) {
  const std::string name(edm_name(type));
  std::string message = quoted(comparison_text(node)) + " compares with an " +
                        std::string(edm_name(node.literal.type())) + ", but " + node.property;
  if (system) {
    message += " is an " + name + ", so the comparison is always ";
    message += holds_on_mismatch(node.op) ? "true." : "false.";
  } else {
    message += " is an " + name + " in rows that were read; such a value counts as less.";
  }
  return {"TypeMismatch", std::move(message),
          "Write the literal as an " + name + ": " + example_of(type) + "."};
}

class Warnings {
 public:
  explicit Warnings(const ExplainWarningInput& findings) : findings_(findings) {}

  std::vector<ExplainWarning> collect() {
    if (findings_.plan.kind == PlanKind::empty) {
      add("Contradiction", "No key satisfies the filter, so nothing is read.",
          "Check the conditions on PartitionKey and RowKey: together they exclude every key.");
    } else if (!findings_.filter.empty()) {
      add_access_path();
    }
    if (findings_.filter.comparisons > limits::filter_comparisons_documented) {
      add("ManyComparisons",
          "The filter has " + std::to_string(findings_.filter.comparisons) +
              " comparisons; the service documents at most " +
              std::to_string(limits::filter_comparisons_documented) + ".",
          "Split the query: the service may reject it.");
    }
    add_comparisons();
    return std::move(warnings_);
  }

 private:
  void add(std::string code, std::string message, std::string help) {
    warnings_.push_back({std::move(code), std::move(message), std::move(help)});
  }

  void add_access_path() {
    const PlanKind kind = findings_.plan.kind;
    const PlanKind service = findings_.service.kind;
    if (service == PlanKind::table) {
      add("TableScan", "The service reads all partitions between the bounds, or the whole table.",
          "Fix PartitionKey by a condition PartitionKey eq '…' that is not under or, not or ne.");
    } else if (service == PlanKind::partition && (findings_.plan.residual || kind < service)) {
      add("PartitionScan", "The service reads every row of the partition.",
          "Bound RowKey on at least one side, or store the rows a second time under a RowKey that "
          "starts with the value searched for.");
    }
    if (kind < service) {
      const std::size_t ranges = findings_.plan.ranges.size();
      add("WiderOnService",
          "This store reads only " + std::to_string(ranges) + (ranges == 1 ? " range" : " ranges") +
              "; the service would run a " + std::string(plan_kind_name(service)) + " scan.",
          "For the service, send one query per range, in parallel.");
    }
  }

  void add_comparisons() {
    std::set<std::tuple<std::string_view, FilterKind, EdmType>> reported;
    for (const FilterNode& node : findings_.filter.nodes) {
      if (node.kind != FilterKind::comparison && node.kind != FilterKind::flag) continue;
      if (!reported.insert({node.property, node.kind, node.literal.type()}).second) continue;
      if (reported.size() > comparisons_reported_max) return;
      if (const auto type = system_type(node.property)) {
        add_system_comparison(node, *type);
      } else if (findings_.shapes_complete && !findings_.shapes.empty()) {
        add_property_comparison(node);
      }
    }
  }

  void add_system_comparison(const FilterNode& node, EdmType type) {
    if (node.kind == FilterKind::comparison &&
        comparison_kind(type, node.literal.type()) == ComparisonKind::mismatch) {
      warnings_.push_back(type_mismatch(node, type, true));
    }
  }

  void add_property_comparison(const FilterNode& node) {
    bool found = false;
    std::optional<EdmType> other;
    for (const Shape* shape : findings_.shapes) {
      const std::optional<std::uint32_t> column = shape->find(node.property);
      if (!column.has_value()) continue;
      found = true;
      const EdmType type = shape->columns()[*column].type;
      if (comparison_kind(type, node.literal.type()) == ComparisonKind::mismatch) other = type;
    }
    if (!found) {
      add("UnknownProperty",
          "None of the " + std::to_string(findings_.rows_read) + " rows read has a property " +
              quoted(node.property) + ".",
          "Names are case-sensitive: compare the name with those of the stored rows.");
    } else if (other.has_value() && node.kind == FilterKind::comparison) {
      warnings_.push_back(type_mismatch(node, *other, false));
    }
  }

  const ExplainWarningInput& findings_;
  std::vector<ExplainWarning> warnings_;
};

}  // namespace

std::vector<ExplainWarning> explain_warnings(const ExplainWarningInput& findings) {
  return Warnings(findings).collect();
}

}  // namespace entitable
