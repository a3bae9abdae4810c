#include "core/store/restore.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/index/cursor.h"
#include "core/log/field_codec.h"
#include "core/model/limits.h"
#include "core/store/store_state.h"

namespace entitable {
namespace {

// PartLoader needs a part id. Each restored table is loaded as one part, which is in no manifest.
constexpr PartId whole_table = 1;
constexpr std::size_t merge_bytes = 1'000'000;

}  // namespace

Restore::Restore(Store& store, ServicePropertiesCheck is_service_properties)
    : store_(store), is_service_properties_(is_service_properties) {
  ENTITABLE_CHECK(!store.state().recovery.has_value());
}

Result<void> Restore::add(std::string_view chunk) {
  reader_.add_chunk(chunk);
  while (!ended_) {
    const auto step = reader_.next();
    if (!step.ok()) return step.error();
    switch (*step) {
      case SnapshotReader::Step::chunk_needed:
        return {};
      case SnapshotReader::Step::table:
        end_table();
        begin_table();
        break;
      case SnapshotReader::Step::row:
        tables_.back()->loader->add(reader_.key(), reader_.timestamp(), reader_.properties());
        newest_ = std::max(newest_, reader_.timestamp());
        break;
      case SnapshotReader::Step::end:
        end_table();
        ended_ = true;
    }
  }
  return {};
}

void Restore::begin_table() {
  auto table = std::make_unique<RestoredTable>();
  table->info = reader_.table();
  if (table->info.rows > 0) {
    table->index.add_unloaded(KeyRange(), whole_table, table->info.rows, 0);
    table->loader = std::make_unique<PartLoader>(table->index, whole_table);
  }
  tables_.push_back(std::move(table));
}

void Restore::end_table() {
  if (tables_.empty() || tables_.back()->loader == nullptr) return;
  tables_.back()->loader->finish();
  tables_.back()->loader.reset();
  TableIndex::clear_part(tables_.back()->index, KeyRange());
}

Result<RestoreReport> Restore::finish_reading() {
  if (auto whole = reader_.check_complete(); !whole.ok()) return whole.error();
  ENTITABLE_CHECK(ended_);
  const SnapshotHeader& header = reader_.header();
  if (is_service_properties_ != nullptr && !is_service_properties_(header.service_properties)) {
    return Error(ErrorCode::corrupted, "the service properties are not such a document");
  }
  if (CommitClock(newest_).is_exhausted()) {
    return Error(ErrorCode::corrupted, "the timestamp of a row is later than any that is issued");
  }
  if (header.tables > std::uint64_t{table_id_max} + 1 - store_.state().published.next_table) {
    return Error(ErrorCode::corrupted, "there are more tables than the store has ids left");
  }
  return RestoreReport{header.tables, header.rows};
}

bool Restore::begin_replace(const std::optional<ClientCall>& call) {
  StoreState& state = store_.state();
  ENTITABLE_CHECK(!state.checkpoint.has_value() && !state.candidate.has_value() &&
                  state.snapshot == nullptr && state.pending.empty() && !store_.is_damaged());
  if (call.has_value() && state.window.find(call->client, call->number) != nullptr) return false;
  StoreState::Replacement next{make_replacement(state.published), state.window};
  if (call.has_value()) {
    next.window.reserve(call->client);
    // A restore has no commit of its own: it is later than the last one.
    next.window.add(ClientCall(*call), next.version.last_commit + 1);
  }
  state.checkpoint.emplace(next.version, next.window, state.parts.manifest(), state.next_sequence,
                           state.epoch, state.part_bytes);
  state.replacement.emplace(std::move(next));
  state.segment_bytes_at_checkpoint = state.segment_bytes;
  state.checkpoint_baseline = memory_of(state.checkpoint->tables());
  return true;
}

// Returns `now` with its content replaced by the snapshot's. Timestamps issued later are newer than
// all timestamps of `now` and of the snapshot.
StoreVersion Restore::make_replacement(const StoreVersion& now) {
  StoreVersion version = now;
  version.catalog = Catalog();
  for (const auto& table : std::exchange(tables_, {})) {
    auto name = TableName::parse(table->info.name);
    ENTITABLE_CHECK(name.ok());
    Table& restored = version.catalog.restore_table(version.next_table++, std::move(*name),
                                                    std::move(table->info.acl));
    restored.index = std::move(table->index);
  }
  version.catalog.restore_service_properties(reader_.header().service_properties);
  version.clock.advance_to(std::max(newest_, now.clock.last_issued()));
  return version;
}

std::variant<Restore::Merge, Error, PartsNeeded> Restore::stage_merge_chunk(Ticks now) {
  const Merged before = merged_;
  const std::vector<WriteRequest> requests = next_merge(store_.state().published.catalog);
  if (requests.empty()) return Merge::done;
  StageResult staged = store_.stage(requests, now);
  if (!staged.parts_needed.empty()) {
    merged_ = before;
    return PartsNeeded{std::move(staged.parts_needed)};
  }
  for (const WriteResult& answer : staged.results) {
    if (const auto* failed = std::get_if<GroupFailure>(&answer)) {
      store_.discard();
      return failed->error;
    }
  }
  return Merge::staged;
}

// Returns the next requests of a merge; empty when all rows were returned. Each request inserts or
// replaces rows of one partition, within the limits of a transaction. Tables that are missing in
// `now` are created first. REQUIRES: `now` holds the effect of all requests returned before.
std::vector<WriteRequest> Restore::next_merge(const Catalog& now) {
  std::vector<WriteRequest> requests;
  while (requests.empty() && merged_.tables < tables_.size()) {
    const RestoredTable& table = *tables_[merged_.tables];
    if (now.find(table.info.name) == nullptr) {
      requests.push_back({std::nullopt, WriteCreateTable{table.info.name}});
      if (!table.info.acl.empty()) {
        requests.push_back({std::nullopt, WriteTableAcl{table.info.name, table.info.acl}});
      }
    }
    append_merge_requests(table, requests);
  }
  return requests;
}

void Restore::append_merge_requests(const RestoredTable& table,
                                    std::vector<WriteRequest>& requests) {
  KeyRange range;
  if (merged_.next.has_value()) range.lower = *merged_.next;
  Cursor rows(table.index, range);
  std::size_t bytes = 0;
  WriteEntities write{table.info.name, {}, true, false};
  std::size_t group_bytes = 0;
  const auto end_group = [&] {
    if (!write.operations.empty()) requests.push_back({std::nullopt, write});
    write.operations.clear();
    group_bytes = 0;
  };
  for (; rows.valid() && bytes < merge_bytes; rows.next()) {
    Entity entity = rows.row().materialize();
    const std::size_t size = entity_size(entity);
    const bool full = write.operations.size() == limits::group_operations_max ||
                      group_bytes + size > limits::group_bytes_max;
    const bool same_partition =
        !write.operations.empty() && write.operations.back().key.partition == entity.key.partition;
    if (full || !same_partition) end_group();
    group_bytes += size;
    bytes += size;
    write.operations.push_back({OperationKind::insert_or_replace,
                                std::move(entity.key),
                                std::move(entity.properties),
                                {}});
  }
  end_group();
  merged_.next.reset();
  if (rows.valid())
    merged_.next = rows.position();
  else
    ++merged_.tables;
}

}  // namespace entitable
