// Writes the content of a version as a snapshot file, in chunks.
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
  // Pins the version: later writes are not in the file.
  explicit Snapshot(const Catalog& catalog);
  // Returns the next chunk of about 250 kB. Returns nothing at the end of the file, or if
  // parts_needed() is not empty.
  std::optional<std::string> next();
  // The unloaded parts of tables() that must be loaded before next() is called again.
  const std::vector<PartId>& parts_needed() const { return parts_needed_; }
  Catalog& tables() { return catalog_; }

 private:
  bool begin();
  void write_rows();

  Catalog catalog_;
  bool begun_ = false;
  std::optional<SnapshotWriter> writer_;  // absent before the start and after the end
  std::size_t next_table_ = 0;            // position in the names
  std::optional<Cursor> rows_;            // of the table before next_table_
  std::vector<PartId> parts_needed_;
};

}  // namespace entitable
