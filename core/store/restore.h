// A snapshot back into a store: read and checked wholly beside what is there, then put in its place
// or merged into it.
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
  // The next bytes of the file. Code::corrupted or Code::format_too_new; then this is to be
  // dropped.
  Result<void> add(std::string_view chunk);
  // All bytes were added. Only after this was well, one of the following.
  Result<RestoreReport> finish();

  // `now` with the snapshot's content in place of its own. Timestamps issued from then on are newer
  // than all of both. Once.
  Version make_replacement(const Version& now) &&;
  // Requests that write the next rows: insert or replace, each of one partition and so small that
  // the service would take it, all together about a megabyte; tables that are not in `now` are made
  // first. Nothing: that was all. REQUIRES: what was given before is in `now`.
  std::vector<WriteRequest> next_merge(const Catalog& now);
  // What next_merge() gave last was not written: it gives it again.
  void rewind_merge();

 private:
  struct RestoredTable {
    SnapshotTable info;
    TableIndex index;
    std::unique_ptr<PartLoader> loader;  // while rows come
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
    std::optional<EntityKey> next;  // the next row of that table; nothing: its first
  };
  Merged merged_;
  Merged merged_before_;  // the last call
};

}  // namespace entitable
