// Restores a snapshot file (core/log/snapshot_codec.h). First the whole file is read and checked,
// without changing the store. Then its content replaces the store's content or is merged into it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/index/table_index.h"
#include "core/log/snapshot_codec.h"
#include "core/store/requests.h"
#include "core/store/writer.h"

namespace entitable {

struct RestoreReport {
  std::uint64_t tables = 0;
  std::uint64_t entities = 0;
};

class Restore {
 public:
  // Adds the next bytes of the file. After an error (corrupted or format_too_new) the caller must
  // drop this object.
  Result<void> add(std::string_view chunk);
  // Checks that the file is complete, and returns what it contains. REQUIRES for the functions
  // below: finish() succeeded.
  Result<RestoreReport> finish();

  // Returns a version with the content of the snapshot, to follow the version `now`. Timestamps
  // issued later are newer than all timestamps of `now` and of the snapshot. REQUIRES: called at
  // most once.
  Version make_replacement(const Version& now) &&;
  // Returns the next requests of a merge, about 1 MB in total, or no requests after the last row.
  // Each request inserts or replaces rows of one partition, within the limits of a transaction, or
  // creates a table that is missing in `now`. REQUIRES: all requests returned before have been
  // applied to `now`.
  std::vector<WriteRequest> next_merge(const Catalog& now);
  // Makes next_merge() return its last requests again. For requests that could not be written.
  void rewind_merge();

 private:
  struct RestoredTable {
    SnapshotTable info;
    TableIndex index;
    std::unique_ptr<PartLoader> loader;  // while the table's rows are read
  };

  void begin_table();
  void end_table();
  void merge_rows(const RestoredTable& table, std::vector<WriteRequest>& requests);

  SnapshotReader reader_;
  std::vector<std::unique_ptr<RestoredTable>> tables_;  // in the order of folded names
  Ticks newest_ = 0;
  bool ended_ = false;
  struct Merged {
    std::size_t tables = 0;
    std::optional<EntityKey> next;  // the next row of the current table; absent: the first row
  };
  Merged merged_;
  Merged merged_before_;  // before the last next_merge()
};

}  // namespace entitable
