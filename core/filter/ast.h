// The tree of a $filter: one node struct with a kind.
//
// Nodes live in one vector, in post-order, and refer to each other by position:
//   - both children come before their parent, the left subtree before the right one, the root last;
//   - every node but the root is the child of exactly one other node;
//   - the right or only child is the node directly before its parent.
// One pass from front to back therefore evaluates a tree of any depth: it stores the result of each
// node in an array. Do not recurse over the tree. The depth of parentheses is limited, but
// `a or b or c …` makes a left-leaning chain of up to filter_bytes_max / 5 nodes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/value.h"

namespace entitable {

enum class FilterKind : std::uint8_t {
  all_of,      // left and right
  any_of,      // left or right
  negation,    // not left
  comparison,  // property op literal; the parser mirrors a comparison whose literal is on the left
  flag,        // a bare property: true if the property exists, is Boolean and true
  constant,    // a bare true or false
};

enum class CompareOp : std::uint8_t { eq, ne, gt, ge, lt, le };

struct FilterNode {
  FilterKind kind;
  std::uint32_t left = 0;   // all_of, any_of, negation
  std::uint32_t right = 0;  // all_of, any_of
  CompareOp op = CompareOp::eq;
  std::string property = {};                 // comparison, flag
  Value literal = Value::of_boolean(false);  // comparison, constant
};

struct Filter {
  std::vector<FilterNode> nodes;  // the root is the last; empty: no filter, everything matches
  std::uint32_t comparisons = 0;
  bool empty() const { return nodes.empty(); }
  const FilterNode& root() const { return nodes.back(); }
};

// Returns the filter as an S-expression, with literals in filter syntax: (and (eq PartitionKey
// 'Sales') (gt Age 30)). An empty filter is "()".
std::string to_sexpr(const Filter& filter);
// Returns the operator that means the same after the two sides are exchanged: `gt` for `lt`,
// because 5 lt x means x gt 5.
CompareOp mirror(CompareOp op);
// Returns "eq", "ne" and so on.
std::string_view operator_name(CompareOp op);

}  // namespace entitable
