// The six entity operations and their conditions, as the entry points have parsed them. They are
// not checked against the table yet.
#pragma once

#include <cstdint>
#include "core/model/etag.h"
#include "core/model/key.h"
#include "core/txn/property_list.h"

namespace entitable {

enum class OperationKind : std::uint8_t {
  insert,             // EntityAlreadyExists if the row exists
  replace,            // the row must exist (IfMatch)
  merge,              // the row must exist (IfMatch)
  insert_or_replace,  // the row may exist
  insert_or_merge,    // the row may exist
  remove,             // the row must exist (IfMatch)
};

struct Operation {
  OperationKind kind;
  EntityKey key;
  PropertyList properties;  // empty for remove
  IfMatch if_match;         // replace, merge, remove
  // True only if the properties have the same names and types, in the same order, as those of the
  // previous operation in the group. False if unknown.
  bool same_shape_as_previous = false;
};

}  // namespace entitable
