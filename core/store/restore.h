// Restores a snapshot file (core/log/snapshot_codec.h). First the whole file is read and checked.
// Its rows are stored as they arrive, as parts that no manifest lists, so that few of them are in
// memory. Until the file has proved valid, the store's content does not change. Then the file's
// content replaces the store's content or is merged into it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/index/table_index.h"
#include "core/log/snapshot_codec.h"
#include "core/store/candidate.h"
#include "core/store/checkpoint.h"
#include "core/store/restored_content.h"
#include "core/store/store.h"
#include "core/store/write_requests.h"

namespace entitable {

struct RestoreReport {
  std::uint64_t tables = 0;
  std::uint64_t entities = 0;
};

class Restore {
 public:
  // Returns whether Set Service Properties could have stored the document (core/rest, which this
  // module does not know).
  using ServicePropertiesCheck = bool (*)(std::string_view document);

  // Without a check, any document of service properties is accepted. REQUIRES: the store outlives
  // this object and is not moved.
  explicit Restore(Store& store, ServicePropertiesCheck is_service_properties = nullptr);
  ~Restore();
  Restore(const Restore&) = delete;
  Restore& operator=(const Restore&) = delete;

  // Restores only these tables, whose names are compared without regard to case. They are synced
  // with a remote, which has had their rows. REQUIRES: nothing was added; the content will be
  // replaced.
  void keep_as_synced(std::vector<std::string> tables) { synced_ = std::move(tables); }
  // Adds the next bytes of the file.
  void add(std::string_view chunk) { reader_.add_chunk(chunk); }
  // Reads on and returns the next part, which the host must store before it calls this object
  // again. Returns nothing if all chunks were read. After an error (corrupted or format_too_new)
  // the caller must drop this object. REQUIRES: no Restore of this store is open but this one.
  Result<std::optional<CheckpointPart>> next_part();
  // Checks that the file is complete and that the store can hold its content, and returns what it
  // contains. Error: corrupted. REQUIRES: next_part() has returned nothing for the last chunk.
  // REQUIRES for the two functions below: finish_reading() succeeded.
  Result<RestoreReport> finish_reading();

  // Starts to replace the content by a checkpoint (README.md), which has no more parts to write.
  // Returns false if `call` was already applied. After true this object holds nothing any more.
  // REQUIRES: nothing is pending; no candidate or checkpoint is open; the store is not damaged;
  // the caller has made sure with SyncTables::has_pending_operations() that nothing is lost.
  bool begin_replace(const std::optional<ClientCall>& call);
  // Stages the next rows of the file, about 1 MB. Only `staged` leaves a candidate. The parts that
  // are needed may be parts of the file; Store::load_part() loads them. REQUIRES: there is no
  // candidate.
  enum class Merge { staged, done };
  std::variant<Merge, Error, PartsNeeded> stage_merge_chunk(Ticks now);

  // Returns the parts that the host has stored for this object, or is storing, and that nothing
  // will use once this object is dropped.
  std::vector<PartId> unused_parts() const;

 private:
  std::optional<Error> begin_table();
  bool keeps(const TableName& name) const;
  void begin_part();
  CheckpointPart end_part();
  Table& last_table();
  void mark_part_stored();
  StoreVersion make_replacement(const StoreVersion& now);
  std::vector<WriteRequest> next_merge(const Catalog& now);
  void append_merge_requests(const Table& table, std::size_t group_operations,
                             std::vector<WriteRequest>& requests);

  Store& store_;
  StoreState& state_;
  ServicePropertiesCheck is_service_properties_;
  SnapshotReader reader_;
  RestoredContent content_;
  std::optional<std::vector<std::string>> synced_;  // nothing: all tables are kept, none is synced
  bool keeps_rows_ = true;                          // of the table that is being read
  std::optional<TableId> first_table_;  // the ids of the tables in content_ start with it
  // The part whose rows are being read.
  struct ReadPart {
    PartId id;
    EntityKey lower;
    std::unique_ptr<PartLoader> loader;
  };
  std::optional<ReadPart> part_;
  Ticks newest_ = 0;
  bool ended_ = false;
  struct Merged {
    std::size_t tables = 0;
    std::optional<EntityKey> next;  // the next row of the current table; absent: the first row
    PartId part_needed = 0;         // not 0: this part of the file holds the next row
  };
  Merged merged_;
};

}  // namespace entitable
