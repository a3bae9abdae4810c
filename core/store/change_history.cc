#include "core/store/change_history.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/log/commit_codec.h"
#include "core/log/commit_effects.h"
#include "core/store/store_state.h"

namespace entitable {

ChangeHistory::ChangeHistory(Store& store, const FeedPosition& since)
    : state_(store.state()),
      epoch_min_(since.epoch),
      next_(since.commit + 1),
      last_(store.last_commit()) {
  ENTITABLE_CHECK(state_.is_open());
  truncated_ = since.epoch > state_.feed_epoch || since.commit > last_ ||
               next_ < state_.first_known_commit() || !state_.claims.has_survived(since);
  for (const Ref<Table>& table : state_.published.catalog.tables()) {
    if (is_hidden_table(table->id())) break;  // they are last
    tables_.emplace(table->id(), KnownTable{table->identity});
  }
  for (const DroppedTable& table : state_.history.dropped()) {
    auto name = TableName::parse(table.name);
    ENTITABLE_CHECK(name.ok());
    tables_.emplace(table.id, KnownTable{make_ref<TableIdentity>(table.id, std::move(*name))});
  }
}

std::uint64_t ChangeHistory::first_segment() const {
  return state_.history.segment_before(next_);
}

FeedPosition ChangeHistory::first_known() const {
  const std::uint64_t first = state_.first_known_commit();
  return {state_.claims.epoch_of(first), first};
}

Result<PastChanges> ChangeHistory::read_segment(std::uint64_t sequence, std::string_view bytes) {
  const Result<Segment> segment = decode_segment(bytes, sequence);
  if (!segment.ok()) return segment.error();
  PastChanges changes;
  std::uint64_t next = next_;
  for (const Commit& commit : segment->commits) read(commit, segment->epoch, next, changes);
  next_ = next;
  return changes;
}

PastChanges ChangeHistory::read_pending() {
  PastChanges changes;
  std::uint64_t next = next_;
  for (std::size_t i = 0; i < state_.pending.size(); ++i) {
    ShapeDictionary shapes;
    PropertyViewArena rows;
    const CommitEffects effects = state_.pending.effects_at(i);
    Result<Commit> commit =
        decode_commit(state_.pending[i], shapes, rows, effects.uses_hidden_tables);
    ENTITABLE_CHECK(commit.ok() && apply_effects(effects, *commit));
    read(*commit, state_.feed_epoch, next, changes);
  }
  next_ = next;
  if (next_ <= last_) truncated_ = true;
  return changes;
}

// `next`: the first commit that was not read yet; the caller keeps it once nothing can fail any
// more. Creating a table makes its name known also for commits that were skipped.
void ChangeHistory::read(const Commit& commit, std::uint64_t epoch, std::uint64_t& next,
                         PastChanges& changes) {
  if (commit.number > last_ || truncated_) return;
  ChangeBatch batch;
  batch.position = {std::max(epoch, epoch_min_), commit.number};
  batch.origin = commit.origin;
  batch.last_timestamp = commit.last_timestamp;
  read_tables(commit, batch);
  if (commit.number < next) return;
  // A restore takes a number without a commit. The log does not have the names of dropped tables.
  const bool all_known =
      std::all_of(commit.mutations.begin(), commit.mutations.end(),
                  [this](const Mutation& mutation) { return is_known(mutation); });
  if (commit.number > next || !all_known) {
    truncated_ = true;
    return;
  }
  ++next;
  read_rows(commit, batch, changes);
  if (!batch.rows.empty() || !batch.tables.empty()) changes.batches.push_back(std::move(batch));
}

bool ChangeHistory::is_known(const Mutation& mutation) const {
  const auto known = [this](TableId table) {
    return is_hidden_table(table) || tables_.count(table) != 0;
  };
  if (const auto* put = std::get_if<PutRow>(&mutation)) return known(put->table);
  if (const auto* erase = std::get_if<DeleteRow>(&mutation)) return known(erase->table);
  if (const auto* drop = std::get_if<DropTable>(&mutation)) return known(drop->table);
  return true;
}

void ChangeHistory::read_tables(const Commit& commit, ChangeBatch& batch) {
  for (const Mutation& mutation : commit.mutations) {
    if (const auto* create = std::get_if<CreateTable>(&mutation)) {
      auto name = TableName::parse(create->name);
      ENTITABLE_CHECK(name.ok());
      auto identity = make_ref<TableIdentity>(create->table, std::move(*name));
      tables_.emplace(create->table, KnownTable{identity});
      batch.tables.push_back({std::move(identity), true});
    } else if (const auto* drop = std::get_if<DropTable>(&mutation)) {
      const auto at = tables_.find(drop->table);
      if (at != tables_.end()) batch.tables.push_back({at->second.identity, false});
    }
  }
}

void ChangeHistory::read_rows(const Commit& commit, ChangeBatch& batch, PastChanges& changes) {
  std::map<TableId, TableIndex> rows;
  for (const Mutation& mutation : commit.mutations) {
    const auto* put = std::get_if<PutRow>(&mutation);
    const auto* erase = std::get_if<DeleteRow>(&mutation);
    if (put == nullptr && erase == nullptr) continue;
    const TableId table = put != nullptr ? put->table : erase->table;
    if (is_hidden_table(table)) continue;
    const KeyView key = put != nullptr ? put->key : erase->key.view();
    const KnownTable& known = tables_.at(table);
    if (put != nullptr) {
      rows.try_emplace(table, known.empty)
          .first->second.put(put->key, put->timestamp, put->properties);
    }
    RowChange& change = batch.rows.emplace_back();
    change.table = known.identity;
    change.key = EntityKey(key.partition, key.row);
    change.existed_before = put == nullptr || put->effect != PutEffect::insert;
    change.exists_after = put != nullptr;
  }
  for (RowChange& change : batch.rows) {
    if (change.exists_after) change.after = rows.at(change.table->id).find(change.key.view()).row;
  }
  for (auto& [table, index] : rows) changes.pins.push_back(std::move(index));
}

}  // namespace entitable
