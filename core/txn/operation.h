// The six entity operations and their condition, as data. The door has parsed them into the model;
// nothing is checked against the table yet.
#pragma once

#include <cstdint>
#include "core/model/etag.h"
#include "core/model/key.h"
#include "core/txn/property_list.h"

namespace entitable {

enum class OperationKind : std::uint8_t {
  insert,             // EntityAlreadyExists if it is there
  replace,            // must be there (IfMatch)
  merge,              // must be there (IfMatch)
  insert_or_replace,  // never fails on existence
  insert_or_merge,    //
  remove,             // must be there (IfMatch)
};

struct Operation {
  OperationKind kind;
  EntityKey key;
  PropertyList properties;  // empty for remove
  IfMatch if_match;         // replace, merge, remove
  // Whether the properties have surely the names and types of those of the operation before it in
  // the group, in the same order.
  bool same_shape_as_previous = false;
};

}  // namespace entitable
