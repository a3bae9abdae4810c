// Does an entity match a filter? Two-valued logic, types matter (GRAMMAR.md, "What a comparison
// answers").
#pragma once

#include <cstdint>

#include "core/filter/ast.h"
#include "core/model/entity.h"

namespace entitable {

// What `property op literal` does for a property of a given type. Binding it once per shape leaves
// a row with a few loads and one compare.
enum class ComparisonKind : std::uint8_t {
  same_type,  // compare_values
  as_number,  // an Int32 literal and an Int64, or an Int32 or Int64 literal and a Double: numeric
  mismatch,   // the property behaves as less than the literal: ne, lt, le are true
};

constexpr ComparisonKind comparison_kind(EdmType property, EdmType literal) {
  if (property == literal) return ComparisonKind::same_type;
  const bool wider = property == EdmType::int64 || property == EdmType::float64;
  const bool narrower =
      literal == EdmType::int32 || (literal == EdmType::int64 && property == EdmType::float64);
  return wider && narrower ? ComparisonKind::as_number : ComparisonKind::mismatch;
}

// The answer of an operator for an ordering of property and literal; `unordered` (a NaN) is true
// for ne only.
constexpr bool holds(CompareOp op, Ordering ordering) {
  switch (op) {
    case CompareOp::eq:
      return ordering == Ordering::equal;
    case CompareOp::ne:
      return ordering != Ordering::equal;
    case CompareOp::gt:
      return ordering == Ordering::greater;
    case CompareOp::ge:
      return ordering == Ordering::greater || ordering == Ordering::equal;
    case CompareOp::lt:
      return ordering == Ordering::less;
    case CompareOp::le:
      return ordering == Ordering::less || ordering == Ordering::equal;
  }
  return false;
}

// The answer of a mismatch: true for ne, lt and le.
constexpr bool holds_on_mismatch(CompareOp op) {
  return holds(op, Ordering::less);
}

// One comparison of a property that is there. A Double property meets an integer literal as the
// double nearest to the literal.
bool compare_property(const ValueView& property, CompareOp op, const ValueView& literal);

// A whole entity, the slow obvious way: PartitionKey and RowKey as String, Timestamp as DateTime, a
// missing property makes any comparison (also ne) false. Iterative, so depth does not matter.
bool matches(const Filter& filter, const Entity& entity);

}  // namespace entitable
