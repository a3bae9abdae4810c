// The content of a version as a snapshot file, a slice at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

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
  // Not empty: next() gave no bytes because of these parts, which are absent in tables().
  const std::vector<PartId>& parts_needed() const { return parts_needed_; }
  Catalog& tables() { return catalog_; }

 private:
  bool begin();
  void write_rows();

  Catalog catalog_;
  bool begun_ = false;
  std::optional<SnapshotWriter> writer_;  // nothing: not begun, or the end was given
  std::size_t next_table_ = 0;            // position in the names
  std::optional<Cursor> rows_;            // of the table before that
  std::vector<PartId> parts_needed_;
};

}  // namespace entitable
