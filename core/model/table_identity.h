// The immutable properties of a table. Versions of the store share them, and changes keep those of
// a table that was dropped.
#pragma once

#include <utility>

#include "core/base/refcounted.h"
#include "core/model/commit.h"
#include "core/model/table_name.h"

namespace entitable {

struct TableIdentity : RefCounted<TableIdentity> {
  TableIdentity(TableId id_in, TableName name_in) : id(id_in), name(std::move(name_in)) {}
  TableId id;
  TableName name;
};

}  // namespace entitable
