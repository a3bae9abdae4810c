// The content of a version as a snapshot file, a slice at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/index/cursor.h"
#include "core/log/snapshot_codec.h"
#include "core/store/catalog.h"

namespace entitable {

class Snapshot {
 public:
  // Pins the version: writes made meanwhile are not in it.
  explicit Snapshot(const Catalog& catalog);
  // The next bytes of the file, about 250 kB; nothing after the last ones.
  std::optional<std::string> next();
  // Not 0: next() gave no bytes because of this part, which is absent in tables().
  PartId need_part() const { return need_part_; }
  Catalog& tables() { return catalog_; }

 private:
  void write_rows();

  Catalog catalog_;
  std::optional<SnapshotWriter> writer_;  // nothing: the end was given
  std::size_t next_table_ = 0;            // position in the names
  std::optional<Cursor> rows_;            // of the table before that
  PartId need_part_ = 0;
};

}  // namespace entitable
