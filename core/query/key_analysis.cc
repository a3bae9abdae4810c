#include "core/query/key_analysis.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/filter/evaluate.h"

namespace entitable {
namespace {

// ---- Leaves ----

KeySetApproximation constant(bool value) {
  return KeySetApproximation::exactly(value ? all_keys() : KeySet{});
}

// Analyses a comparison, a flag or a constant. PartitionKey and RowKey are Strings, Timestamp is a
// DateTime.
KeySetApproximation analyse_leaf(const FilterNode& node) {
  if (node.kind == FilterKind::constant) return constant(node.literal.view().boolean());
  const bool partition = node.property == "PartitionKey";
  const bool row = node.property == "RowKey";
  const bool timestamp = node.property == "Timestamp";
  if (!partition && !row && !timestamp) return KeySetApproximation::unknown();
  if (node.kind == FilterKind::flag) return constant(false);

  const EdmType type = timestamp ? EdmType::date_time : EdmType::string;
  if (comparison_kind(type, node.literal.type()) == ComparisonKind::mismatch) {
    return constant(holds_on_mismatch(node.op));
  }
  if (timestamp) return KeySetApproximation::unknown();
  KeySet keys;
  for (const KeyInterval& strings : intervals_matching(node.op, node.literal.view().string())) {
    const KeySet some = partition ? keys_in_intervals(strings, KeyInterval::all())
                                  : keys_in_intervals(KeyInterval::all(), strings);
    keys = unite(keys, some, KeySetRounding::up);  // exact: there are at most two intervals
  }
  return KeySetApproximation::exactly(std::move(keys));
}

// ---- Operations ----

std::size_t interval_count(const KeySet& set) {
  std::size_t count = 0;
  for (const PartitionInterval& segment : set) count += segment.rows.size();
  return count;
}

std::size_t interval_count(const KeySetApproximation& known) {
  return interval_count(known.may_match()) +
         (known.is_exact() ? 0 : interval_count(known.must_match()));
}

// Combines approximations within a budget (key_analysis_intervals_max). Beyond the budget the
// result is less precise but never wrong: *may* is too large or *must* too small.
class Combiner {
 public:
  KeySetApproximation negation(const KeySetApproximation& operand) {
    if (operand.is_unknown() || !spend(interval_count(operand)))
      return KeySetApproximation::unknown();
    if (operand.is_exact()) return KeySetApproximation::exactly(complement(operand.may_match()));
    return KeySetApproximation::between(complement(operand.may_match()),
                                        complement(operand.must_match()));
  }

  // Combines pairs, then pairs of pairs, so that a long chain takes O(n log n).
  KeySetApproximation chain(FilterKind kind, std::vector<KeySetApproximation> operands) {
    while (operands.size() > 1) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < operands.size(); i += 2, ++kept) {
        if (i + 1 < operands.size()) {
          operands[kept] = pair(kind, std::move(operands[i]), std::move(operands[i + 1]));
        } else if (kept != i) {
          operands[kept] = std::move(operands[i]);
        }
      }
      operands.resize(kept);
    }
    return std::move(operands.front());
  }

 private:
  KeySetApproximation pair(FilterKind kind, KeySetApproximation a, KeySetApproximation b) {
    if (kind == FilterKind::all_of && a.is_unknown()) return std::move(b).and_unknown();
    if (kind == FilterKind::all_of && b.is_unknown()) return std::move(a).and_unknown();
    if (!spend(interval_count(a) + interval_count(b))) return roughly(kind, a, b);
    bool rounded = false;
    const auto combined = [&](const KeySet& x, const KeySet& y, KeySetRounding rounding) {
      return kind == FilterKind::all_of ? intersect(x, y, rounding, &rounded)
                                        : unite(x, y, rounding, &rounded);
    };
    KeySet may = combined(a.may_match(), b.may_match(), KeySetRounding::up);
    if (a.is_exact() && b.is_exact() && !rounded)
      return KeySetApproximation::exactly(std::move(may));
    return KeySetApproximation::between(
        combined(a.must_match(), b.must_match(), KeySetRounding::down), std::move(may));
  }

  // Returns a result without reading the sets. The keys of an `and` are a subset of each operand's,
  // so the *may* of either operand is correct. Prefers an operand that is not all keys, then the
  // one with fewer intervals (mostly a fixed partition).
  static KeySetApproximation roughly(FilterKind kind, const KeySetApproximation& a,
                                     const KeySetApproximation& b) {
    if (kind == FilterKind::any_of) return KeySetApproximation::unknown();
    const bool keep_a =
        !is_all(a.may_match()) && (is_all(b.may_match()) || interval_count(a) <= interval_count(b));
    return KeySetApproximation::between({}, keep_a ? a.may_match() : b.may_match());
  }

  bool spend(std::size_t work) {
    budget_ -= std::min(budget_, work);
    return budget_ > 0;
  }

  std::size_t budget_ = key_analysis_intervals_max;
};

// ---- Chains ----

bool is_chain(FilterKind kind) {
  return kind == FilterKind::all_of || kind == FilterKind::any_of;
}

// Returns which nodes are `and`s below an `and` or `or`s below an `or`. They are analysed together
// with the topmost node of their chain.
std::vector<bool> inside_chains(const Filter& filter) {
  std::vector<bool> inside(filter.nodes.size());
  for (const FilterNode& node : filter.nodes) {
    if (!is_chain(node.kind)) continue;
    inside[node.left] = filter.nodes[node.left].kind == node.kind;
    inside[node.right] = filter.nodes[node.right].kind == node.kind;
  }
  return inside;
}

ConjunctKeys condition(std::uint32_t node, const KeySetApproximation& known) {
  return {node, known.is_exact(), known.is_exact() ? known.may_match() : KeySet{}};
}

}  // namespace

const KeySet& KeySetApproximation::may_match() const {
  static const KeySet all = all_keys();
  return is_unknown() ? all : may_;
}

std::vector<KeyInterval> intervals_matching(CompareOp op, std::string_view text) {
  const KeyBound before = KeyBound::before(text);
  const KeyBound after = KeyBound::after(text);
  const KeyInterval below{KeyBound::start(), before};
  const KeyInterval above{after, KeyBound::end()};
  switch (op) {
    case CompareOp::eq:
      return {{before, after}};
    case CompareOp::ne:
      return {below, above};
    case CompareOp::gt:
      return {above};
    case CompareOp::ge:
      return {{before, KeyBound::end()}};
    case CompareOp::lt:
      return {below};
    case CompareOp::le:
      return {{KeyBound::start(), after}};
  }
  ENTITABLE_CHECK(false);
}

std::vector<std::uint32_t> chain_operands(const Filter& filter, std::uint32_t root,
                                          FilterKind kind) {
  std::vector<std::uint32_t> operands;
  std::vector<std::uint32_t> pending{root};
  while (!pending.empty()) {
    const std::uint32_t at = pending.back();
    pending.pop_back();
    const FilterNode& node = filter.nodes[at];
    if (node.kind == kind) {
      pending.push_back(node.right);
      pending.push_back(node.left);
    } else {
      operands.push_back(at);
    }
  }
  return operands;
}

// Children come before their parents, so one pass over the nodes is enough.
KeyAnalysis analyse_keys(const Filter& filter) {
  ENTITABLE_CHECK(!filter.empty());
  const auto root = static_cast<std::uint32_t>(filter.nodes.size() - 1);
  const std::vector<bool> inside = inside_chains(filter);
  std::vector<KeySetApproximation> known(filter.nodes.size());
  KeyAnalysis analysis;
  Combiner combiner;
  for (std::uint32_t i = 0; i <= root; ++i) {
    const FilterNode& node = filter.nodes[i];
    if (inside[i]) continue;
    if (node.kind == FilterKind::negation) {
      known[i] = combiner.negation(known[node.left]);
    } else if (is_chain(node.kind)) {
      std::vector<KeySetApproximation> operands;
      for (const std::uint32_t operand : chain_operands(filter, i, node.kind)) {
        if (i == root && node.kind == FilterKind::all_of) {
          analysis.conditions.push_back(condition(operand, known[operand]));
        }
        operands.push_back(std::move(known[operand]));
      }
      known[i] = combiner.chain(node.kind, std::move(operands));
    } else {
      known[i] = analyse_leaf(node);
    }
  }
  if (analysis.conditions.empty()) analysis.conditions.push_back(condition(root, known[root]));
  analysis.filter = std::move(known[root]);
  return analysis;
}

}  // namespace entitable
