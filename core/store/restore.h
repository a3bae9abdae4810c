// Restores a snapshot file. The file is read and checked completely without changing the store;
// then its content replaces the store's content or is merged into it.
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
  // Checks that the file is complete. The functions below REQUIRE that finish() succeeded.
  Result<RestoreReport> finish();

  // Returns `now` with its content replaced by the snapshot's. Timestamps issued later are newer
  // than all timestamps of `now` and of the snapshot. REQUIRES: called at most once.
  Version make_replacement(const Version& now) &&;
  // Returns the next requests of a merge, about 1 MB in total; empty when all rows were returned.
  // Each request inserts or replaces rows of one partition, within the limits of a transaction.
  // Tables that are missing in `now` are created first. REQUIRES: `now` holds the effect of all
  // requests returned before.
  std::vector<WriteRequest> next_merge(const Catalog& now);
  // Makes next_merge() return its last requests again, because they were not written.
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
