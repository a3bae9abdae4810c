// Evaluates a filter on an entity, with two-valued logic and rules for each pair of types
// (GRAMMAR.md, "Results of comparisons").
#pragma once

#include <cstdint>

#include "core/filter/ast.h"
#include "core/model/entity.h"

namespace entitable {

// How a property of one type is compared with a literal of the same or another type. Decided once
// for all rows that have the same property types.
enum class ComparisonKind : std::uint8_t {
  same_type,  // with compare_values()
  // as numbers: an Int64 property with an Int32 literal, or a Double property with an integer
  as_number,
  mismatch,  // not by value: the property counts as less than the literal, so ne, lt, le are true
};

constexpr ComparisonKind comparison_kind(EdmType property, EdmType literal) {
  if (property == literal) return ComparisonKind::same_type;
  const bool wider = property == EdmType::int64 || property == EdmType::float64;
  const bool narrower =
      literal == EdmType::int32 || (literal == EdmType::int64 && property == EdmType::float64);
  return wider && narrower ? ComparisonKind::as_number : ComparisonKind::mismatch;
}

// Returns whether `property op literal` is true, given the ordering of the two values. If they are
// unordered (one is NaN), only `ne` is true.
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

// Returns whether `property op literal` is true for ComparisonKind::mismatch: if op is ne, lt or
// le.
constexpr bool holds_on_mismatch(CompareOp op) {
  return holds(op, Ordering::less);
}

// Returns whether `property op literal` is true for a property that exists. For a Double property,
// an integer literal is rounded to the nearest double.
bool comparison_holds(const ValueView& property, CompareOp op, const ValueView& literal);

// Returns whether the entity matches the filter. Slow and simple: tests use it as the reference for
// core/query/bound_filter. PartitionKey and RowKey are Strings, Timestamp is a DateTime. A
// comparison of a missing property is false, also with ne. Does not recurse, so a filter of any
// depth is safe.
bool matches_unbound(const Filter& filter, const Entity& entity);

}  // namespace entitable
