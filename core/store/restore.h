// Restores a snapshot file (core/log/snapshot_codec.h). First the whole file is read and checked,
// without changing the store. Then its content replaces the store's content or is merged into it.
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

  // Adds the next bytes of the file. After an error (corrupted or format_too_new) the caller must
  // drop this object.
  Result<void> add(std::string_view chunk);
  // Checks that the file is complete and that the store can hold its content, and returns what it
  // contains. Error: corrupted. REQUIRES for the functions
  // below: finish_reading() succeeded.
  Result<RestoreReport> finish_reading();

  // Starts to replace the content by a checkpoint (README.md). Returns false if `call` was already
  // applied. After true this object holds nothing any more. REQUIRES: nothing is pending; no
  // candidate, checkpoint or snapshot is open; the store is not damaged.
  bool begin_replace(const std::optional<ClientCall>& call);
  // Stages the next rows of the file, about 1 MB. Only `staged` leaves a candidate. REQUIRES: there
  // is no candidate.
  enum class Merge { staged, done };
  std::variant<Merge, Error, PartsNeeded> stage_merge_chunk(Ticks now);

 private:
  struct RestoredTable {
    SnapshotTableHeader info;
    TableIndex index;
    std::unique_ptr<PartLoader> loader;  // while the table's rows are read
  };

  void begin_table();
  void end_table();
  StoreVersion make_replacement(const StoreVersion& now);
  std::vector<WriteRequest> next_merge(const Catalog& now);
  void append_merge_requests(const RestoredTable& table, std::vector<WriteRequest>& requests);

  Store& store_;
  ServicePropertiesCheck is_service_properties_;
  SnapshotReader reader_;
  std::vector<std::unique_ptr<RestoredTable>> tables_;  // in the order of folded names
  Ticks newest_ = 0;
  bool ended_ = false;
  struct Merged {
    std::size_t tables = 0;
    std::optional<EntityKey> next;  // the next row of the current table; absent: the first row
  };
  Merged merged_;
};

}  // namespace entitable
