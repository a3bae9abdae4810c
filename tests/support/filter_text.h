// Prints a $filter tree as $filter text, with the fewest parentheses possible. So the text never
// nests deeper than the text from which the tree was parsed. Also checks the structure of trees.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/filter/ast.h"
#include "core/filter/literal.h"

namespace entitable::test {

// The precedence of a node's operator. An operand of lower precedence needs parentheses.
inline int binding(FilterKind kind) {
  switch (kind) {
    case FilterKind::any_of:
      return 0;
    case FilterKind::all_of:
      return 1;
    case FilterKind::comparison:
      return 2;
    case FilterKind::negation:
    case FilterKind::flag:
    case FilterKind::constant:
      break;
  }
  return 3;
}

// Returns text that parses to the same tree. The text may be longer than limits::filter_bytes_max,
// which the parser rejects.
inline std::string to_filter_text(const Filter& filter) {
  struct Pending {
    const FilterNode* node;  // nullptr: append `text` instead
    std::string_view text;
  };
  if (filter.empty()) return {};
  std::string out;
  std::vector<Pending> pending = {{&filter.root(), {}}};
  const auto later = [&](std::uint32_t child, int least) {
    const FilterNode& node = filter.nodes[child];
    const bool parentheses = binding(node.kind) < least;
    if (parentheses) pending.push_back({nullptr, ")"});
    pending.push_back({&node, {}});
    if (parentheses) pending.push_back({nullptr, "("});
  };
  while (!pending.empty()) {
    const Pending next = pending.back();
    pending.pop_back();
    if (next.node == nullptr) {
      out.append(next.text);
      continue;
    }
    const FilterNode& node = *next.node;
    switch (node.kind) {
      case FilterKind::all_of:
      case FilterKind::any_of: {
        const int own = binding(node.kind);  // a chain is left-associative
        later(node.right, own + 1);
        pending.push_back({nullptr, node.kind == FilterKind::all_of ? " and " : " or "});
        later(node.left, own);
        break;
      }
      case FilterKind::negation:
        out.append("not ");
        later(node.left, binding(FilterKind::negation));
        break;
      case FilterKind::comparison:
        out.append(node.property).append(" ").append(operator_name(node.op)).append(" ");
        out.append(literal_text(node.literal.view()));
        break;
      case FilterKind::flag:
        out.append(node.property);
        break;
      case FilterKind::constant:
        out.append(literal_text(node.literal.view()));
        break;
    }
  }
  return out;
}

// Returns "sound", or the rule of core/filter/ast.h that the tree violates.
inline std::string check_structure(const Filter& filter) {
  std::uint32_t comparisons = 0;
  std::vector<std::uint32_t> roots;  // nodes that have no parent yet, from left to right
  for (std::uint32_t at = 0; at < filter.nodes.size(); ++at) {
    const FilterNode& node = filter.nodes[at];
    const bool binary = node.kind == FilterKind::all_of || node.kind == FilterKind::any_of;
    if (binary || node.kind == FilterKind::negation) {
      const std::uint32_t last = binary ? node.right : node.left;
      if (roots.empty() || roots.back() != last || last + 1 != at) return "child before its parent";
      roots.pop_back();
      if (binary) {
        if (roots.empty() || roots.back() != node.left) return "left before right";
        roots.pop_back();
      }
    }
    if (node.kind == FilterKind::comparison) ++comparisons;
    if (node.kind == FilterKind::constant && node.literal.type() != EdmType::boolean) {
      return "constants are Boolean";
    }
    roots.push_back(at);
  }
  if (roots.size() > 1) return "one root";
  if (comparisons != filter.comparisons) return "the number of comparisons";
  return "sound";
}

}  // namespace entitable::test
