// Evaluates a filter on an entity, with two-valued logic and rules for each pair of types
// (GRAMMAR.md, "Results of comparisons").
#pragma once

#include <cstdint>

#include "core/filter/ast.h"
#include "core/model/entity.h"

namespace entitable {

// How `property op literal` compares a property of a given type. Decided once per shape, so that
// testing a row takes a few loads and one comparison.
enum class ComparisonKind : std::uint8_t {
  same_type,  // by compare_values
  // by value: Int32 literal and Int64 property, or Int32 or Int64 literal and Double property
  as_number,
  mismatch,  // the property behaves as less than the literal: ne, lt, le are true
};

constexpr ComparisonKind comparison_kind(EdmType property, EdmType literal) {
  if (property == literal) return ComparisonKind::same_type;
  const bool wider = property == EdmType::int64 || property == EdmType::float64;
  const bool narrower =
      literal == EdmType::int32 || (literal == EdmType::int64 && property == EdmType::float64);
  return wider && narrower ? ComparisonKind::as_number : ComparisonKind::mismatch;
}

// Returns the result of an operator for the ordering of property and literal. `unordered` (a NaN)
// is true for ne only.
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

// Returns the result of a mismatch: true for ne, lt and le.
constexpr bool holds_on_mismatch(CompareOp op) {
  return holds(op, Ordering::less);
}

// Compares a property that exists with a literal. For a Double property, an integer literal is
// rounded to the nearest double.
bool compare_property(const ValueView& property, CompareOp op, const ValueView& literal);

// Evaluates the filter on a whole entity: slow and simple, the reference for tests. PartitionKey
// and RowKey are Strings, Timestamp is a DateTime. A comparison of a missing property is false,
// also with ne. Iterative, so any depth of the filter is safe.
bool matches(const Filter& filter, const Entity& entity);

}  // namespace entitable
