#include "core/filter/ast.h"

#include <string>

#include "tests/support/catch.h"

using namespace entitable;

namespace {

FilterNode flag(const std::string& name) {
  FilterNode node;
  node.kind = FilterKind::flag;
  node.property = name;
  return node;
}

FilterNode parent(FilterKind kind, std::uint32_t left, std::uint32_t right = 0) {
  FilterNode node;
  node.kind = kind;
  node.left = left;
  node.right = right;
  return node;
}

}  // namespace

TEST_CASE("trees print as S-expressions") {
  Filter filter;
  CHECK(to_sexpr(filter) == "()");

  FilterNode partition;
  partition.kind = FilterKind::comparison;
  partition.property = "PartitionKey";
  partition.literal = Value::of_string("Sal'es");
  FilterNode age = partition;
  age.property = "Age";
  age.op = CompareOp::gt;
  age.literal = Value::of_int32(30);
  FilterNode yes;
  yes.kind = FilterKind::constant;
  yes.literal = Value::of_boolean(true);

  filter.nodes = {partition, age, parent(FilterKind::all_of, 0, 1)};
  CHECK(to_sexpr(filter) == "(and (eq PartitionKey 'Sal''es') (gt Age 30))");
  filter.nodes.push_back(flag("IsActive"));
  filter.nodes.push_back(parent(FilterKind::negation, 3));
  filter.nodes.push_back(parent(FilterKind::any_of, 2, 4));
  filter.nodes.push_back(yes);
  filter.nodes.push_back(parent(FilterKind::all_of, 5, 6));
  CHECK(to_sexpr(filter) ==
        "(and (or (and (eq PartitionKey 'Sal''es') (gt Age 30)) (not IsActive)) true)");
}

TEST_CASE("a tree as deep as a million nodes prints") {
  Filter filter;
  filter.nodes.push_back(flag("a"));
  for (std::uint32_t i = 0; i < 1'000'000; ++i) {
    filter.nodes.push_back(parent(FilterKind::negation, i));
  }
  const std::string text = to_sexpr(filter);
  CHECK(text.size() == 1'000'000 * 6 + 1);
  CHECK(text.substr(0, 15) == "(not (not (not ");
}

TEST_CASE("mirroring exchanges the sides of an operator") {
  CHECK(mirror(CompareOp::eq) == CompareOp::eq);
  CHECK(mirror(CompareOp::ne) == CompareOp::ne);
  CHECK(mirror(CompareOp::gt) == CompareOp::lt);
  CHECK(mirror(CompareOp::lt) == CompareOp::gt);
  CHECK(mirror(CompareOp::ge) == CompareOp::le);
  CHECK(mirror(CompareOp::le) == CompareOp::ge);
}

TEST_CASE("operators have their OData names") {
  CHECK(operator_name(CompareOp::eq) == "eq");
  CHECK(operator_name(CompareOp::ne) == "ne");
  CHECK(operator_name(CompareOp::gt) == "gt");
  CHECK(operator_name(CompareOp::ge) == "ge");
  CHECK(operator_name(CompareOp::lt) == "lt");
  CHECK(operator_name(CompareOp::le) == "le");
}
