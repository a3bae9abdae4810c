#include "core/live/row_copy.h"

#include <algorithm>

namespace entitable {
namespace {

// Copies the row and its partition key to `bytes`.
RowView copy_row(const RowView& row, char* bytes) {
  const std::string_view partition = row.partition();
  char* const packed = std::copy(partition.begin(), partition.end(), bytes);
  row.copy_to(packed);
  return {packed + row.row_key().size(), row.shape(), {bytes, partition.size()}};
}

}  // namespace

RowCopy::RowCopy(const RowView& row)
    : schema_(&row.shape().schema()),
      bytes_(new char[row.partition().size() + row.packed_bytes()]),
      view_(copy_row(row, bytes_.get())) {}

}  // namespace entitable
