#include "core/filter/ast.h"

#include "core/filter/literal.h"

namespace entitable {
namespace {

// An item of the stack of what is still to be printed: a node, or text between nodes if `node` is
// null.
struct Pending {
  const FilterNode* node;
  std::string_view text;
};

// Appends the node's own text, and pushes the children to be printed later.
void print_node(const Filter& filter, const FilterNode& node, std::string& out,
                std::vector<Pending>& pending) {
  switch (node.kind) {
    case FilterKind::all_of:
    case FilterKind::any_of:
      out.append(node.kind == FilterKind::all_of ? "(and " : "(or ");
      pending.push_back({nullptr, ")"});
      pending.push_back({&filter.nodes[node.right], {}});
      pending.push_back({nullptr, " "});
      pending.push_back({&filter.nodes[node.left], {}});
      return;
    case FilterKind::negation:
      out.append("(not ");
      pending.push_back({nullptr, ")"});
      pending.push_back({&filter.nodes[node.left], {}});
      return;
    case FilterKind::comparison:
      out.append("(").append(operator_name(node.op)).append(" ").append(node.property).append(" ");
      out.append(literal_text(node.literal.view())).append(")");
      return;
    case FilterKind::flag:
      out.append(node.property);
      return;
    case FilterKind::constant:
      out.append(literal_text(node.literal.view()));
      return;
  }
}

}  // namespace

std::string to_sexpr(const Filter& filter) {
  if (filter.empty()) return "()";
  std::string out;
  std::vector<Pending> pending = {{&filter.root(), {}}};
  while (!pending.empty()) {
    const Pending next = pending.back();
    pending.pop_back();
    if (next.node == nullptr) {
      out.append(next.text);
    } else {
      print_node(filter, *next.node, out, pending);
    }
  }
  return out;
}

CompareOp mirror(CompareOp op) {
  switch (op) {
    case CompareOp::eq:
    case CompareOp::ne:
      return op;
    case CompareOp::gt:
      return CompareOp::lt;
    case CompareOp::ge:
      return CompareOp::le;
    case CompareOp::lt:
      return CompareOp::gt;
    case CompareOp::le:
      return CompareOp::ge;
  }
  return op;
}

std::string_view operator_name(CompareOp op) {
  switch (op) {
    case CompareOp::eq:
      return "eq";
    case CompareOp::ne:
      return "ne";
    case CompareOp::gt:
      return "gt";
    case CompareOp::ge:
      return "ge";
    case CompareOp::lt:
      return "lt";
    case CompareOp::le:
      return "le";
  }
  return {};
}

}  // namespace entitable
