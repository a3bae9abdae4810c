#include "core/store/sync_tables.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "core/base/check.h"
#include "core/index/cursor.h"
#include "core/store/outbox.h"
#include "core/store/pending_operations.h"
#include "core/store/store_state.h"

namespace entitable {
namespace {

using Failure = WriteSynced::Failure;

GroupFailure failure(ErrorCode code) {
  return GroupFailure{Error(code), 0, false};
}

const Table* find_synced(const Catalog& catalog, std::string_view name) {
  const Table* const table = catalog.find(name);
  return table != nullptr && table->synced ? table : nullptr;
}

std::optional<Failure> stage_start(const Catalog& catalog, std::string_view name,
                                   StagedMutations& staged) {
  const Table* const table = catalog.find(name);
  if (table == nullptr) return failure(ErrorCode::table_not_found);
  if (table->synced) return failure(ErrorCode::table_already_exists);
  if (table->id() > synced_table_id_max) return failure(ErrorCode::read_only);
  const Cursor rows(table->index, KeyRange());
  if (rows.part_needed() != 0) return PartsNeeded{{rows.part_needed()}};
  if (rows.valid()) return failure(ErrorCode::invalid_input);
  staged.mutations.emplace_back(SetSynced{table->id(), true});
  return std::nullopt;
}

// Stages the changes of one SyncedChanges.
class ChangeStager {
 public:
  ChangeStager(const SyncedChanges& changes, const StoreVersion& version, const Catalog* base,
               Ticks now, StagedMutations& staged)
      : changes_(changes),
        catalog_(version.catalog),
        base_(base),
        clock_(version.clock),
        now_(now),
        staged_(staged) {}

  // Sets `clock` to the time of the commit unless it fails.
  std::optional<Failure> stage(CommitClock& clock) {
    table_ = find_synced(catalog_, changes_.table);
    if (table_ == nullptr) return failure(ErrorCode::table_not_found);
    for (const SyncedRow& row : changes_.rows) {
      if (auto error = add(row)) return GroupFailure{std::move(*error), 0, false};
    }
    if (!parts_needed_.empty()) return PartsNeeded{{parts_needed_.begin(), parts_needed_.end()}};
    if (clock_.is_exhausted()) return failure(ErrorCode::invalid_input);
    clock = clock_;
    return std::nullopt;
  }

 private:
  std::optional<Error> add(const SyncedRow& row) {
    const TableId id = row.hidden ? hidden_table_of(table_->id(), *row.hidden) : table_->id();
    if (!changed_.emplace(id, row.key.partition, row.key.row).second)
      return Error(ErrorCode::invalid_input);
    if (const auto checked = check_key(row.key.view()); !checked.ok()) return checked.error();
    const std::span<const PropertyView> properties = row.properties;
    if (const auto checked = check_properties(properties); !checked.ok()) return checked.error();
    if (entity_size(row.key.view(), properties) > limits::entity_bytes_max)
      return Error(ErrorCode::entity_too_large);
    const TableIndex::Found found = find(id, row.key.view());
    // A hidden row can be put without its part: neither the feed nor row counts have it.
    const bool is_blind = row.hidden && !row.erase && !found.needs_part_for_any_change;
    if (found.part_needed != 0 && !is_blind) parts_needed_.insert(found.part_needed);
    if (row.erase) {
      if (found.row.has_value()) staged_.mutations.emplace_back(DeleteRow{id, row.key});
      return std::nullopt;
    }
    if (row.timestamp < 0 || row.timestamp > limits::date_time_ticks_max)
      return Error(ErrorCode::invalid_input);
    const Ticks timestamp = row.timestamp != 0 ? row.timestamp : clock_.next(now_);
    clock_.advance_to(timestamp);
    staged_.mutations.emplace_back(
        PutRow{id, row.key.view(), timestamp, properties, false, 0, {}, effect_of(found)});
    return std::nullopt;
  }

  static PutEffect effect_of(const TableIndex::Found& found) {
    if (found.part_needed != 0) return PutEffect::unknown;
    return found.row.has_value() ? PutEffect::update : PutEffect::insert;
  }

  TableIndex::Found find(TableId id, const KeyView& key) const {
    const Table* const table = catalog_.find(id);
    if (table == nullptr) return {};
    const Table* const base = base_ == nullptr ? nullptr : base_->find(id);
    return table->index.find_for_update(key, base == nullptr ? nullptr : &base->index);
  }

  const SyncedChanges& changes_;
  const Catalog& catalog_;
  const Catalog* base_;
  CommitClock clock_;
  Ticks now_;
  StagedMutations& staged_;
  const Table* table_ = nullptr;
  std::set<PartId> parts_needed_;
  std::set<std::tuple<TableId, std::string_view, std::string_view>> changed_;
};

WriteRequest request_of(decltype(WriteSynced::stage) stage) {
  WriteRequest request;
  request.body = WriteSynced{std::move(stage)};
  request.origin = CommitOrigin::sync;
  return request;
}

}  // namespace

SyncTables::SyncTables(Store& store) : state_(store.state()) {}

void SyncTables::enable() {
  ENTITABLE_CHECK(!state_.candidate.has_value());
  if (state_.scratch.outbox == nullptr) state_.scratch.outbox = std::make_unique<Outbox>();
}

bool SyncTables::is_synced(std::string_view table) const {
  return find_synced(state_.published.catalog, table) != nullptr;
}

WriteRequest SyncTables::start(std::string table) {
  return request_of([table = std::move(table)](const StoreVersion& version, CommitClock&,
                                               const Catalog*, Ticks, StagedMutations& staged) {
    return stage_start(version.catalog, table, staged);
  });
}

WriteRequest SyncTables::stop(std::string table, bool discards) {
  return request_of([table = std::move(table), discards](
                        const StoreVersion& version, CommitClock&, const Catalog*, Ticks,
                        StagedMutations& staged) -> std::optional<Failure> {
    const Table* const found = find_synced(version.catalog, table);
    if (found == nullptr) return failure(ErrorCode::table_not_found);
    if (!discards) {
      if (auto refused = refuse_if_pending(version.catalog, *found)) return refused;
    }
    staged.mutations.emplace_back(SetSynced{found->id(), false});
    return std::nullopt;
  });
}

std::variant<bool, PartsNeeded> SyncTables::has_pending_operations() const {
  const Catalog& catalog = state_.published.catalog;
  for (const Ref<Table>& table : catalog.tables()) {
    auto refused = refuse_if_pending(catalog, *table);
    if (!refused.has_value()) continue;
    if (auto* need = std::get_if<PartsNeeded>(&*refused)) return state_.await(std::move(*need));
    return true;
  }
  return false;
}

WriteRequest SyncTables::apply(const SyncedChanges& changes) {
  return request_of([&changes](const StoreVersion& version, CommitClock& clock, const Catalog* base,
                               Ticks now, StagedMutations& staged) -> std::optional<Failure> {
    if (version.last_commit != changes.seen_commit)
      return failure(ErrorCode::update_condition_not_satisfied);
    return ChangeStager(changes, version, base, now, staged).stage(clock);
  });
}

Result<const TableIndex*> SyncTables::find(std::string_view table,
                                           std::optional<HiddenTable> hidden) const {
  const Catalog& catalog = state_.published.catalog;
  const Table* const synced = find_synced(catalog, table);
  if (synced == nullptr) return Error(ErrorCode::table_not_found);
  if (!hidden) return &synced->index;
  const Table* const there = catalog.find_hidden(synced->id(), *hidden);
  return there == nullptr ? nullptr : &there->index;
}

std::variant<PinnedRow, Error, PartsNeeded> SyncTables::get(std::string_view table,
                                                            std::optional<HiddenTable> hidden,
                                                            const KeyView& key) const {
  const Result<const TableIndex*> index = find(table, hidden);
  if (!index.ok()) return index.error();
  if (*index == nullptr) return Error(ErrorCode::resource_not_found);
  auto answer = get_row(**index, key);
  if (auto* need = std::get_if<PartsNeeded>(&answer)) return state_.await(std::move(*need));
  return answer;
}

std::variant<Page, Error, PartsNeeded> SyncTables::query(std::string_view table,
                                                         std::optional<HiddenTable> hidden,
                                                         const Query& query) const {
  const Result<const TableIndex*> index = find(table, hidden);
  if (!index.ok()) return index.error();
  if (*index == nullptr) return Page();
  auto page = execute(**index, query);
  if (auto* need = std::get_if<PartsNeeded>(&page)) return state_.await(std::move(*need));
  return std::move(std::get<Page>(page));
}

}  // namespace entitable
