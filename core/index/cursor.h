// Steps through the rows of a key range in key order.
#pragma once

#include "core/index/table_index.h"

namespace entitable {

// Holds the version it walks: writes made meanwhile are not seen and do no harm.
class Cursor {
 public:
  Cursor(const TableIndex& index, const KeyRange& range);

  // At a row, at an absent leaf, or at the end.
  bool valid() const;            // at a row
  PartId need_part() const;      // not 0: at an absent leaf; load it and start again at position()
  bool at_end() const { return !valid() && need_part() == 0; }
  RowView row() const;           // REQUIRES: valid()
  void next();
  void seek(const KeyView& key);  // forward or back, still within the range
};

}  // namespace entitable
