#include "core/query/planner.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/query/covering_ranges.h"
#include "core/query/key_analysis.h"

namespace entitable {
namespace {

// ---- Conditions to test ----

// Returns the keys that are in all of the sets. If there are too many intervals, returns fewer
// keys. Intersects pairs, then pairs of pairs.
KeySet common_keys(std::vector<KeySet> sets) {
  if (sets.empty()) return all_keys();
  for (; sets.size() > 1; sets.resize((sets.size() + 1) / 2)) {
    for (std::size_t i = 0; i < sets.size(); i += 2) {
      const bool paired = i + 1 < sets.size();
      sets[i / 2] =
          paired ? intersect(sets[i], sets[i + 1], KeySetRounding::down) : std::move(sets[i]);
    }
  }
  return std::move(sets.front());
}

// Returns whether the exact conditions hold for all keys that may match. Mostly there is a single
// exact condition, and its keys are the keys that may match.
bool exact_conditions_hold(const KeyAnalysis& analysis) {
  const KeySet& may = analysis.filter.may_match();
  std::vector<KeySet> others;
  for (const ConjunctKeys& condition : analysis.conditions) {
    if (condition.exact && condition.keys != may) others.push_back(condition.keys);
  }
  return others.empty() || is_subset(may, common_keys(std::move(others)));
}

// Marks either all exact conditions as implied, or none. It would be rare that only some can be
// marked: precision is lost only by rounding and by ranges over several partitions.
void mark_implied(const KeyAnalysis& analysis, bool ranges_exact, Plan& plan) {
  plan.residual = true;
  if (!ranges_exact) return;
  if (!exact_conditions_hold(analysis)) return;
  plan.residual = false;
  for (const ConjunctKeys& condition : analysis.conditions) {
    plan.implied[condition.node] = condition.exact;
    plan.residual = plan.residual || !condition.exact;
  }
}

// Returns whether `text` is successor(of).
bool is_successor(std::string_view text, std::string_view of) {
  return text.size() == of.size() + 1 && text.back() == '\0' && text.substr(0, of.size()) == of;
}

// ---- Text ----

std::string key_text(std::string_view key) {
  const std::size_t last = key.find_last_not_of('\0');
  const std::size_t length = last == std::string_view::npos ? 0 : last + 1;
  std::string text = "'";
  for (const char c : key.substr(0, length)) text.append(c == '\'' ? 2 : 1, c);
  return text.append("'").append(key.size() - length, '+');
}

std::string key_text(const EntityKey& key) {
  return key_text(key.partition) + " " + key_text(key.row);
}

}  // namespace

std::string_view plan_kind_name(PlanKind kind) {
  switch (kind) {
    case PlanKind::empty:
      return "empty";
    case PlanKind::point:
      return "point";
    case PlanKind::range:
      return "range";
    case PlanKind::partition:
      return "partition";
    case PlanKind::table:
      return "table";
  }
  ENTITABLE_CHECK(false);
}

PlanKind plan_kind_of(const KeyRange& range) {
  if (range.empty()) return PlanKind::empty;
  if (!range.upper.has_value()) return PlanKind::table;
  const EntityKey& lower = range.lower;
  if (range.upper->partition == lower.partition) {
    return is_successor(range.upper->row, lower.row) ? PlanKind::point : PlanKind::range;
  }
  if (!range.upper->row.empty() || !is_successor(range.upper->partition, lower.partition)) {
    return PlanKind::table;
  }
  return lower.row.empty() ? PlanKind::partition : PlanKind::range;
}

Plan make_plan(const Filter& filter) {
  Plan plan;
  plan.implied.resize(filter.nodes.size());
  if (filter.empty()) {
    plan.ranges.emplace_back();
  } else {
    const KeyAnalysis analysis = analyse_keys(filter);
    CoveringRanges covering = covering_ranges_of(analysis.filter.may_match());
    plan.ranges = std::move(covering.ranges);
    if (!plan.ranges.empty()) mark_implied(analysis, covering.exact, plan);
  }
  for (const KeyRange& range : plan.ranges) plan.kind = std::max(plan.kind, plan_kind_of(range));
  return plan;
}

std::string plan_text(const Plan& plan) {
  const bool some = std::find(plan.implied.begin(), plan.implied.end(), true) != plan.implied.end();
  std::string text(plan_kind_name(plan.kind));
  text += !plan.residual ? "\n" : some ? ", test rest\n" : ", test all\n";
  for (const KeyRange& range : plan.ranges) {
    text += "  " + key_text(range.lower);
    if (plan_kind_of(range) != PlanKind::point) {
      text += " .. " + (range.upper.has_value() ? key_text(*range.upper) : "end");
    }
    text += "\n";
  }
  return text;
}

}  // namespace entitable
