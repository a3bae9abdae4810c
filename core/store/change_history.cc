#include "core/store/change_history.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/log/commit_codec.h"
#include "core/log/commit_effects.h"
#include "core/store/store_state.h"

namespace entitable {

ChangeHistory::ChangeHistory(Store& store, const FeedPosition& since,
                             const HistoryReadLimits& limits)
    : state_(store.state()),
      epoch_min_(since.epoch),
      progress_{since, limits, since.commit},
      last_(store.last_commit()) {
  ENTITABLE_CHECK(state_.is_open());
  truncated_ =
      since.epoch > state_.feed_epoch || since.commit > last_ || !state_.claims.has_survived(since);
  if (!truncated_ && since.commit + 1 < state_.first_known_commit()) {
    truncated_ = since.commit < state_.published.last_commit_in_feed;
    if (!truncated_) progress_.position = state_.position();
  }
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
  return state_.history.segment_before(position().commit + 1);
}

bool ChangeHistory::needs_segment() const {
  const std::uint64_t first_pending = last_ - state_.pending.count_through(last_) + 1;
  return !truncated_ && position().commit + 1 < first_pending;
}

FeedPosition ChangeHistory::first_known() const {
  const std::uint64_t first = std::max(state_.first_known_commit(), last_unreadable_ + 1);
  FeedPosition known{state_.claims.epoch_of(first), first};
  known = std::max(known, state_.claims.first_after_loss(position()).value_or(FeedPosition{}));
  // Until this owner's claim is stored, no reader can have a position in its epoch.
  return {std::min(known.epoch, state_.feed_epoch), known.commit};
}

Result<PastChanges> ChangeHistory::read_segment(std::uint64_t sequence, std::string_view bytes) {
  if (is_at_end() || is_full()) return PastChanges();
  const Result<Segment> segment = decode_segment(bytes, sequence);
  if (!segment.ok()) return segment.error();
  return read_segment(*segment);
}

PastChanges ChangeHistory::read_segment(const Segment& segment) {
  PastChanges changes;
  Progress progress = progress_;
  const std::vector<Commit>& commits = segment.commits;
  const std::uint64_t first = commits.empty() ? 0 : commits.front().number;
  const std::uint64_t next = progress.position.commit + 1;
  const std::uint64_t skipped =
      next > first ? std::min<std::uint64_t>(next - first, commits.size()) : 0;
  for (auto i = static_cast<std::size_t>(skipped); i < commits.size(); ++i) {
    if (truncated_ || progress.is_full()) break;
    read(commits[i], segment.epoch, progress, changes);
  }
  progress_ = progress;
  remember_last_in_feed();
  return changes;
}

PastChanges ChangeHistory::read_pending() {
  PastChanges changes;
  Progress progress = progress_;
  const std::size_t end = state_.pending.count_through(last_);
  for (std::size_t i = state_.pending.count_through(position().commit); i < end; ++i) {
    if (truncated_ || progress.is_full()) break;
    ShapeDictionary shapes;
    PropertyViewArena rows;
    const CommitEffects effects = state_.pending.effects_at(i);
    Result<Commit> commit =
        decode_commit(state_.pending[i], shapes, rows, effects.uses_hidden_tables);
    ENTITABLE_CHECK(commit.ok() && apply_effects(effects, *commit));
    read(*commit, state_.feed_epoch, progress, changes);
  }
  progress_ = progress;
  if (position().commit < last_ && !is_full() && !truncated_) {
    truncated_ = true;
    last_unreadable_ = last_;
  }
  remember_last_in_feed();
  return changes;
}

void ChangeHistory::remember_last_in_feed() {
  std::uint64_t& known = state_.published.last_commit_in_feed;
  if (is_at_end() && known <= last_) known = std::min(known, progress_.last_shown);
}

// `progress`: the caller keeps it once nothing can fail any more. Tables of commits that were read
// before are known: they exist, or were dropped later.
void ChangeHistory::read(const Commit& commit, std::uint64_t epoch, Progress& progress,
                         PastChanges& changes) {
  const std::uint64_t next = progress.position.commit + 1;
  if (commit.number < next || commit.number > last_ || truncated_ || progress.is_full()) return;
  ChangeBatch batch;
  batch.position = {std::max(epoch, epoch_min_), commit.number};
  batch.origin = commit.origin;
  if (commit.call.has_value()) batch.client = commit.call->client;
  batch.last_timestamp = commit.last_timestamp;
  read_tables(commit, batch);
  // A restore takes a number without a commit. The log does not have the names of dropped tables.
  const bool all_known =
      std::all_of(commit.mutations.begin(), commit.mutations.end(),
                  [this](const Mutation& mutation) { return is_known(mutation); });
  if (commit.number > next || !all_known) {
    truncated_ = true;
    last_unreadable_ = commit.number - (all_known ? 1 : 0);
    return;
  }
  progress.position = batch.position;
  read_rows(commit, batch, changes);
  if (batch.rows.empty() && batch.tables.empty()) return;
  progress.last_shown = commit.number;
  progress.count(batch);
  changes.batches.push_back(std::move(batch));
}

void ChangeHistory::Progress::count(const ChangeBatch& batch) {
  --left.batches;
  for (const RowChange& change : batch.rows) {
    const std::size_t row = change.after.has_value() ? change.after->packed_bytes() : 0;
    const std::size_t keys = change.key.partition.size() + change.key.row.size();
    left.bytes -= std::min(left.bytes, row + keys + sizeof(RowChange));
  }
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
