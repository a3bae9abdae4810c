// Exports the published version of a store as a snapshot file, in chunks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/index/cursor.h"
#include "core/log/snapshot_codec.h"
#include "core/store/catalog.h"
#include "core/store/store.h"

namespace entitable {

struct SnapshotComplete {};  // the file is complete

class SnapshotExport {
 public:
  // Pins the published version: later writes are not in the file. Store::load_part() also loads the
  // parts of this version. REQUIRES: the store outlives this object. No replacement of the
  // content is between Store::finish_checkpoint() and Store::mark_checkpoint_committed(): the host
  // then deletes the parts of this version.
  explicit SnapshotExport(Store& store);
  ~SnapshotExport();
  SnapshotExport(const SnapshotExport&) = delete;
  SnapshotExport& operator=(const SnapshotExport&) = delete;

  // Returns the next chunk of about 250 kB. REQUIRES: SnapshotComplete was not returned, and the
  // parts that the call before needed are loaded.
  std::variant<std::string, SnapshotComplete, PartsNeeded> next_chunk();

 private:
  bool begin();
  std::optional<std::string> next();
  void write_rows();

  StoreState& state_;
  Catalog catalog_;
  bool begun_ = false;
  std::optional<SnapshotWriter> writer_;  // absent before the start and after the end
  std::size_t next_table_ = 0;            // position in the names
  // Where the next row is searched in the table before next_table_; nothing: at the table's end.
  std::optional<EntityKey> position_;
  std::vector<PartId> parts_needed_;  // the unloaded parts that next() must wait for
};

}  // namespace entitable
