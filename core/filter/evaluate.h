// Does an entity match a filter? Two-valued logic, types matter (spec §4.4).
#pragma once

#include <optional>
#include <string_view>

#include "core/filter/ast.h"
#include "core/model/entity.h"

namespace entitable {

// What `property op literal` does for a property of a given type. Binding it once per shape leaves a row with a
// few loads and one compare.
enum class Comparable : std::uint8_t {
  same_type,   // compare_values
  as_number,   // literal Int32 or Int64 against Int64 or Double: numeric
  mismatch,    // the property behaves as less than the literal: ne, lt, le are true
};
Comparable comparable(EdmType property, EdmType literal);

// The answer of a mismatch: true for ne, lt and le.
bool mismatch_answer(CompareOp op);
// The answer of an operator for an ordering; `unordered` (a NaN) is true for ne only.
bool holds(CompareOp op, Ordering ordering);
// One comparison of a property that is there.
bool compare_property(const ValueView& property, CompareOp op, const ValueView& literal);

// A whole entity, the slow obvious way: PartitionKey and RowKey as String, Timestamp as DateTime, a missing
// property makes any comparison (also ne) false. Iterative, so depth does not matter.
bool matches(const Filter& filter, const Entity& entity);

}  // namespace entitable
