// Tables that are synced with a remote, for the code that syncs them (web/src/sync): begins and
// ends syncing, reads hidden tables, and commits what the remote has and what sync remembers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/model/hidden_table.h"
#include "core/store/store.h"
#include "core/txn/property_list.h"

namespace entitable {

// A row to put or to delete in one commit with others.
struct SyncedRow {
  std::optional<HiddenTable> hidden;  // nothing: a row of the synced table
  EntityKey key;
  bool erase = false;
  Ticks timestamp = 0;  // 0: the next of the store
  PropertyList properties;
};

// Changes of a synced table and of its hidden tables that were decided on by reading a version.
// Only memory limits their number: an answer of the remote may settle any number of operations at
// once.
struct SyncedChanges {
  std::string table;
  std::uint64_t seen_commit = 0;  // the last commit of that version
  std::vector<SyncedRow> rows;
  // Own text to which rows refer, if the messages do not (WriteEntities::texts).
  std::vector<std::shared_ptr<const void>> texts{};
};

class SyncTables {
 public:
  // REQUIRES: the store outlives this object and is not moved.
  explicit SyncTables(Store& store);

  // From now on, synced tables can be written. REQUIRES: there is no candidate.
  void enable();

  bool is_synced(std::string_view table) const;
  // Makes a request that begins syncing the table, from the next write on. Errors: TableNotFound;
  // TableAlreadyExists if it is synced already; InvalidInput if it has rows: only the remote's rows
  // and those that the outbox records may be in it; ReadOnly if its id is above
  // synced_table_id_max, which only a store from crafted files can reach.
  static WriteRequest start(std::string table);
  // Makes a request that ends syncing the table. Its rows stay; what sync knows of them is deleted.
  // Errors: TableNotFound, also if it is not synced; TableHasPendingOperations if the remote does
  // not have all local writes, unless `discards`.
  static WriteRequest stop(std::string table, bool discards);
  // Returns whether some synced table has operations that its remote does not have. A restore that
  // replaces the content would lose them.
  std::variant<bool, PartsNeeded> has_pending_operations() const;
  // Makes a request that applies the changes, without recording them in the outbox. Rows to erase
  // may be absent; if nothing is left to change, there is no commit. `changes` must outlive it.
  // Errors: TableNotFound, also if the table is not synced; UpdateConditionNotSatisfied if a commit
  // was made after `seen_commit`; those of check_entity() for a row; InvalidInput if a row is
  // changed twice, or if a timestamp would leave none for later writes.
  static WriteRequest apply(const SyncedChanges& changes);

  // Returns a row, or a page of rows from `from` on, of a hidden table, or of the table itself.
  // Errors: TableNotFound, also if the table is not synced; ResourceNotFound.
  std::variant<PinnedRow, Error, PartsNeeded> get(std::string_view table,
                                                  std::optional<HiddenTable> hidden,
                                                  const KeyView& key) const;
  std::variant<Page, Error, PartsNeeded> query(std::string_view table,
                                               std::optional<HiddenTable> hidden,
                                               const Query& query) const;

 private:
  // Returns null for a hidden table that has never had a row.
  Result<const TableIndex*> find(std::string_view table, std::optional<HiddenTable> hidden) const;

  StoreState& state_;
};

}  // namespace entitable
