// The six entity operations and their condition, as data. The door has parsed them into the model;
// nothing is checked against the table yet.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model/entity.h"
#include "core/model/etag.h"

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
  std::vector<Property> properties;  // empty for remove
  IfMatch if_match;                  // replace, merge, remove
};

}  // namespace entitable
