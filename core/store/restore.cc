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

constexpr std::size_t merge_bytes = 1'000'000;

}  // namespace

Restore::Restore(Store& store, ServicePropertiesCheck is_service_properties)
    : store_(store), state_(store.state()), is_service_properties_(is_service_properties) {
  ENTITABLE_CHECK(!state_.recovery.has_value() && state_.restored == nullptr);
  state_.restored = &content_;
}

Restore::~Restore() {
  if (state_.restored == &content_) state_.restored = nullptr;
}

Result<std::optional<CheckpointPart>> Restore::next_part() {
  mark_part_stored();
  while (true) {
    const auto step = reader_.next();
    if (!step.ok()) return step.error();
    switch (*step) {
      case SnapshotReader::Step::chunk_needed:
        return std::optional<CheckpointPart>();
      case SnapshotReader::Step::table:
        if (auto error = begin_table()) return std::move(*error);
        break;
      case SnapshotReader::Step::row:
        if (!keeps_rows_) break;
        if (!part_.has_value()) begin_part();
        part_->loader->add(reader_.key(), reader_.timestamp(), reader_.properties());
        newest_ = std::max(newest_, reader_.timestamp());
        break;
      case SnapshotReader::Step::part_end:
        if (!keeps_rows_) break;
        return std::optional<CheckpointPart>(end_part());
      case SnapshotReader::Step::end:
        ended_ = true;
        return std::optional<CheckpointPart>();
    }
  }
}

void Restore::mark_part_stored() {
  content_.set_pending(false);
  if (state_.memory_limit != 0 && !state_.branched) content_.unload_above(state_.memory_limit / 8);
}

// The tables of the content that is replaced may get the same ids meanwhile. No segment refers to
// both, because the new manifest covers all segments.
std::optional<Error> Restore::begin_table() {
  if (!first_table_.has_value()) {
    first_table_ = state_.published.next_table;
    const TableId id_max = synced_.has_value() ? synced_table_id_max : table_id_max;
    if (reader_.header().tables + *first_table_ > std::uint64_t{id_max} + 1) {
      return Error(ErrorCode::corrupted, "there are more tables than the store has ids left");
    }
  }
  auto name = TableName::parse(reader_.table().name);
  ENTITABLE_CHECK(name.ok());
  keeps_rows_ = keeps(*name);
  if (!keeps_rows_) return std::nullopt;
  const std::size_t tables = content_.catalog().tables().size();
  Table& table = content_.catalog().restore_table(*first_table_ + static_cast<TableId>(tables),
                                                  std::move(*name), reader_.table().acl);
  table.synced = synced_.has_value();
  return std::nullopt;
}

bool Restore::keeps(const TableName& name) const {
  if (!synced_.has_value()) return true;
  return std::any_of(synced_->begin(), synced_->end(), [&](const std::string& kept) {
    return compare_folded(name.folded(), kept) == 0;
  });
}

Table& Restore::last_table() {
  return *content_.catalog().mutable_table(content_.catalog().tables().back()->id());
}

// Begins a part with the row that was read last. The part covers the keys up to the next part.
void Restore::begin_part() {
  TableIndex& index = last_table().index;
  EntityKey lower;
  if (index.row_count() > 0) lower = EntityKey(reader_.key().partition, reader_.key().row);
  const PartId id = state_.parts.take_next_part();
  index.add_unloaded(KeyRange{lower, std::nullopt}, id, 1, 0);
  part_ = ReadPart{id, std::move(lower), std::make_unique<PartLoader>(index, id)};
}

CheckpointPart Restore::end_part() {
  part_->loader->finish();
  const Table& table = last_table();
  const KeyRange range{part_->lower, std::nullopt};
  WrittenPart written = write_stored_part(table.index, range, part_->id, table.id());
  part_.reset();
  const PartId id = written.part.id;
  content_.add_part({table.id(), std::move(written.part), range});
  content_.set_pending(true);
  return {id, std::move(written.bytes)};
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
  return RestoreReport{header.tables, header.rows};
}

std::vector<PartId> Restore::unused_parts() const {
  std::vector<PartId> unused;
  for (const auto& [id, part] : content_.parts()) unused.push_back(id);
  return unused;
}

bool Restore::begin_replace(const std::optional<ClientCall>& call) {
  ENTITABLE_CHECK(!state_.checkpoint.has_value() && !state_.candidate.has_value() &&
                  state_.pending.empty() && !store_.is_damaged());
  if (call.has_value() && state_.window.find(call->client, call->number) != nullptr) return false;
  StoreState::Replacement next{make_replacement(state_.published), state_.window, unused_parts()};
  if (call.has_value()) {
    next.window.reserve(call->client);
    next.window.add(ClientCall(*call), next.version.last_commit);
  }
  for (const auto& [id, part] : content_.parts()) state_.parts.add_unlisted(part);
  content_ = RestoredContent();
  state_.restored = nullptr;
  state_.open_checkpoint(next.version, next.window);
  state_.replacement.emplace(std::move(next));
  return true;
}

// Returns `now` with its content replaced by the snapshot's. Timestamps issued later are newer than
// all timestamps of `now` and of the snapshot. The restore takes a commit number, although it has
// no commit: a reader of the change feed that continues after an earlier commit finds it missing.
StoreVersion Restore::make_replacement(const StoreVersion& now) {
  StoreVersion version = now;
  version.catalog = content_.catalog();
  version.last_commit = std::min(version.last_commit + 1, counter_max);
  version.last_commit_in_feed = version.last_commit;
  version.catalog.restore_service_properties(reader_.header().service_properties);
  const auto tables = static_cast<TableId>(version.catalog.tables().size());
  version.next_table = std::max(version.next_table, first_table_.value_or(1) + tables);
  version.clock.advance_to(std::max(newest_, now.clock.last_issued()));
  return version;
}

std::variant<Restore::Merge, Error, PartsNeeded> Restore::stage_merge_chunk(Ticks now) {
  const Merged before = merged_;
  const std::vector<WriteRequest> requests = next_merge(state_.published.catalog);
  if (content_.is_damaged()) {
    return Error(ErrorCode::corrupted, "a part of the snapshot could not be read back");
  }
  if (const PartId needed = std::exchange(merged_.part_needed, 0)) {
    merged_ = before;
    return PartsNeeded{{needed}};
  }
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
// replaces rows of one partition, within the limits of a transaction; of a synced table, a single
// row, because the remote may have narrower limits. Tables that are missing in `now` are created
// first. REQUIRES: `now` holds the effect of all requests returned before.
std::vector<WriteRequest> Restore::next_merge(const Catalog& now) {
  std::vector<WriteRequest> requests;
  const std::vector<Ref<Table>>& tables = content_.catalog().tables();
  while (requests.empty() && merged_.part_needed == 0 && merged_.tables < tables.size()) {
    const Table& table = *tables[merged_.tables];
    if (now.find(table.name()) == nullptr) {
      requests.push_back({std::nullopt, WriteCreateTable{table.name()}, CommitOrigin::restore});
      if (!table.acl.empty()) {
        requests.push_back(
            {std::nullopt, WriteTableAcl{table.name(), table.acl}, CommitOrigin::restore});
      }
    }
    const Table* const target = now.find(table.name());
    append_merge_requests(
        table, target != nullptr && target->synced ? 1 : limits::group_operations_max, requests);
  }
  return requests;
}

void Restore::append_merge_requests(const Table& table, std::size_t group_operations,
                                    std::vector<WriteRequest>& requests) {
  KeyRange range;
  if (merged_.next.has_value()) range.lower = *merged_.next;
  Cursor rows(table.index, range);
  std::size_t bytes = 0;
  WriteEntities write{table.name(), {}, true, false};
  std::size_t group_bytes = 0;
  const auto end_group = [&] {
    if (!write.operations.empty()) requests.push_back({std::nullopt, write, CommitOrigin::restore});
    write.operations.clear();
    group_bytes = 0;
  };
  for (; rows.valid() && bytes < merge_bytes; rows.next()) {
    Entity entity = rows.row().materialize();
    const std::size_t size = entity_size(entity);
    const bool full =
        write.operations.size() == group_operations || group_bytes + size > limits::group_bytes_max;
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
  if (bytes == 0) merged_.part_needed = rows.part_needed();
  if (!rows.at_end())
    merged_.next = rows.position();
  else
    ++merged_.tables;
}

}  // namespace entitable
