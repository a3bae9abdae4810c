// A copy of a packed row that stays valid when the version that held the row changes or is dropped.
// Copying a row costs less than keeping its version alive: a write would then have to clone the
// row's leaf.
#pragma once

#include <cstddef>
#include <memory>

#include "core/base/refcounted.h"
#include "core/index/row.h"
#include "core/index/schema.h"

namespace entitable {

class RowCopy {
 public:
  explicit RowCopy(const RowView& row);
  // Valid as long as this object, also after the object was moved.
  const RowView& view() const { return view_; }
  std::size_t memory_bytes() const { return view_.partition().size() + view_.packed_bytes(); }

 private:
  Ref<const Schema> schema_;       // keeps the shape alive
  std::unique_ptr<char[]> bytes_;  // the partition key, then the packed row
  RowView view_;                   // of bytes_
};

}  // namespace entitable
