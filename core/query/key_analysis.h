// What a filter says about the keys of the rows that match it. Internal to core/query.
//
// For every node two sets: *may* holds the keys of all rows that match, and perhaps more; *must*
// holds only keys whose rows match whatever their properties are, and perhaps not all. A comparison
// of PartitionKey or RowKey with a String is exact (the two are equal); with another type it is a
// constant; a comparison of another property may match everywhere and must match nowhere. `and`
// and `or` combine both sets, `not` exchanges their complements.
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
  // Between nothing and all keys: so it is with most comparisons, and it takes no memory.
  static KeySetApproximation unknown() { return {{}, {}, Kind::none}; }
  KeySetApproximation() : KeySetApproximation({}, {}, Kind::exact) {}

  const KeySet& may() const;
  const KeySet& must() const { return exact() ? may_ : must_; }
  bool exact() const { return kind_ == Kind::exact; }
  bool is_unknown() const { return kind_ == Kind::none; }
  // What is known if something must hold, too, of which nothing is known.
  KeySetApproximation and_unknown() && {
    return is_unknown() ? unknown() : between({}, std::move(may_));
  }

 private:
  enum class Kind : std::uint8_t { exact, between, none };
  KeySetApproximation(KeySet may, KeySet must, Kind kind)
      : may_(std::move(may)), must_(std::move(must)), kind_(kind) {}
  KeySet may_;   // empty if none
  KeySet must_;  // likewise, and if exact
  Kind kind_;
};

// One of the conditions of which a filter is the `and`; the whole filter if it is none.
struct KeyCondition {
  std::uint32_t node;  // in filter.nodes
  bool exact;
  KeySet keys;  // if exact: those whose rows it holds for
};

struct KeyAnalysis {
  KeySetApproximation filter;
  std::vector<KeyCondition> conditions;  // left to right
};

// The pieces of sets that one analysis looks at, so that its time is bounded: as many as a chain of
// all the comparisons that fit into a filter needs, three times over. Only hundreds of nested
// `and`s and `or`s of lists of keys need more; what comes after that is known roughly.
inline constexpr std::size_t key_analysis_intervals_max = 32 * key_set_intervals_max;

// REQUIRES: !filter.empty(), and the filter outlives the result.
KeyAnalysis analyse_keys(const Filter& filter);

// The strings that compare so with `text`, in one or two intervals; below '' it may be empty().
std::vector<KeyInterval> intervals_matching(CompareOp op, std::string_view text);
// The positions in filter.nodes of the operands of a chain `a and b and c` (or of ors), however it
// is nested, left to right; of a node of another kind, its own.
std::vector<std::uint32_t> chain_operands(const Filter& filter, std::uint32_t root,
                                          FilterKind kind);

}  // namespace entitable
