// Derives from a filter which keys the matching rows can have. Internal to core/query.
//
// The analysis approximates each node of the filter by two sets of keys. *may* contains the keys of
// all rows that can match, and possibly more keys. *must* contains only keys whose rows match
// whatever their other properties are, but possibly not all such keys.
//
// A comparison of PartitionKey or RowKey with a String is exact: both sets are equal. A comparison
// of these with another type is a constant. For a condition on any other property, *may* is all
// keys and *must* is empty. `and` and `or` intersect and unite the sets of their operands. For
// `not`, *may* is the complement of the operand's *must*, and *must* the complement of its *may*.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/filter/ast.h"
#include "core/query/key_set.h"

namespace entitable {

class KeySetApproximation {
 public:
  // Both sets are the same.
  static KeySetApproximation exactly(KeySet keys) { return {std::move(keys), {}, Kind::exact}; }
  static KeySetApproximation between(KeySet must, KeySet may) {
    if (must == may) return exactly(std::move(may));
    return {std::move(may), std::move(must), Kind::between};
  }
  // *must* is empty and *may* is all keys. Most comparisons are unknown, so this state stores no
  // sets.
  static KeySetApproximation unknown() { return {{}, {}, Kind::none}; }
  KeySetApproximation() : KeySetApproximation({}, {}, Kind::exact) {}

  const KeySet& may_match() const;
  const KeySet& must_match() const { return is_exact() ? may_ : must_; }
  bool is_exact() const { return kind_ == Kind::exact; }
  bool is_unknown() const { return kind_ == Kind::none; }
  // Returns the approximation of `this and x`, where nothing is known of x.
  KeySetApproximation and_unknown() && {
    return is_unknown() ? unknown() : between({}, std::move(may_));
  }

 private:
  enum class Kind : std::uint8_t { exact, between, none };
  KeySetApproximation(KeySet may, KeySet must, Kind kind)
      : may_(std::move(may)), must_(std::move(must)), kind_(kind) {}
  KeySet may_;   // empty if unknown
  KeySet must_;  // empty if unknown or exact
  Kind kind_;
};

// One operand of the filter's top-level `and`, or the whole filter if its root is not an `and`.
struct ConjunctKeys {
  std::uint32_t node;  // in filter.nodes
  bool exact;
  KeySet keys;  // if exact: the keys whose rows satisfy the condition
};

struct KeyAnalysis {
  KeySetApproximation filter;
  std::vector<ConjunctKeys> conditions;  // left to right
};

// The most intervals that one analysis may read. This bounds the time of the analysis; beyond the
// limit its result is approximate. The longest chain of comparisons that a filter can hold needs a
// third of the limit. Only hundreds of nested `and`s and `or`s of key lists need more.
inline constexpr std::size_t key_analysis_intervals_max = 32 * key_set_intervals_max;

// REQUIRES: !filter.empty(), and the filter outlives the result.
KeyAnalysis analyse_keys(const Filter& filter);

// Returns the strings for which `string op text` holds, as one or two intervals. An interval may be
// empty(): no string is below ''.
std::vector<KeyInterval> intervals_matching(CompareOp op, std::string_view text);
// Returns the positions in filter.nodes of the operands of a chain such as `a and b and c`, however
// the chain is nested, left to right. If the root is of another kind, returns only the root.
std::vector<std::uint32_t> chain_operands(const Filter& filter, std::uint32_t root,
                                          FilterKind kind);

}  // namespace entitable
