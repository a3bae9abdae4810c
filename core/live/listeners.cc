#include "core/live/listeners.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace entitable {
namespace {

// Rows reserved before matching.
constexpr std::size_t rows_expected_max = 100;

bool same_row(const RowChange& a, const RowChange& b) {
  return a.table->id == b.table->id && a.key == b.key;
}

// Returns all changes, by table and key, and the changes of one row in the order of the commits.
std::vector<RowChange*> in_key_order(ChangeBatches& batches) {
  std::vector<RowChange*> changes;
  for (ChangeBatch& batch : batches) {
    for (RowChange& change : batch.rows) changes.push_back(&change);
  }
  const auto is_before = [](const RowChange* a, const RowChange* b) {
    if (a->table->id != b->table->id) return a->table->id < b->table->id;
    return compare(a->key.view(), b->key.view()) < 0;
  };
  // Most groups are written in this order. Sorting allocates memory.
  if (!std::is_sorted(changes.begin(), changes.end(), is_before))
    std::stable_sort(changes.begin(), changes.end(), is_before);
  return changes;
}

// Returns the row with this key, or nothing if its part is not in memory. Starts at the path of the
// last write, which usually leads to the row.
std::optional<RowView> find_changed(const TableIndex& index, const KeyView& key) {
  const TableIndex::Found found = index.find_for_update(key);
  return found.row.has_value() ? found.row : index.find_in_memory(key).row;
}

// Returns the rows of a table that was dropped after its last change.
const TableIndex* dropped_rows(const ChangeBatches& batches, TableId table) {
  for (const ChangeBatch& batch : batches) {
    for (const TableChange& change : batch.tables) {
      if (change.table->id == table && change.dropped.has_value()) return &*change.dropped;
    }
  }
  return nullptr;
}

}  // namespace

bool Listeners::covers(std::string_view table, const KeyView& key) const {
  if (watches_.covers(table, key)) return true;
  return std::any_of(feeds_.begin(), feeds_.end(),
                     [&](const auto& feed) { return feed.second.covers(table, key); });
}

bool Listeners::close_watch(WatchId id) {
  const bool was_open = watches_.close(id);
  forget_if_unused();
  return was_open;
}

FeedId Listeners::open_feed(FeedQuery query) {
  feeds_.emplace(last_feed_ + 1, FeedSelection(std::move(query)));
  return ++last_feed_;
}

bool Listeners::close_feed(FeedId id) {
  const bool was_open = feeds_.erase(id) == 1;
  forget_if_unused();
  return was_open;
}

// What was not taken is for listeners that were open. Later ones begin with the published version.
void Listeners::forget_if_unused() {
  if (any()) return;
  recorded_.clear();
  unknown_origin_.reset();
  watches_to_reset_.reset();
}

const FeedSelection* Listeners::feed(FeedId id) const {
  const auto at = feeds_.find(id);
  return at == feeds_.end() ? nullptr : &at->second;
}

void Listeners::publish(RecordedChanges&& changes, WatchId recorded_for, std::uint64_t epoch) {
  if (!any()) return;
  changes.set_epoch(epoch);
  recorded_.append(std::move(changes));
  if (recorded_for == last_watch()) return;
  if (!watches_to_reset_.has_value()) watches_to_reset_ = WatchIds{recorded_for, 0};
  watches_to_reset_->last = last_watch();
}

TakenChanges Listeners::take(const Published& published) {
  if (!unknown_origin_.has_value() && recorded_.known()) return take_recorded(published);
  if (!unknown_origin_.has_value()) unknown_origin_ = CommitOrigin::local;
  return take_unknown(published.position);
}

TakenChanges Listeners::take_recorded(const Published& published) {
  unknown_origin_ = CommitOrigin::local;  // in case of an exception
  TakenChanges taken;
  taken.batches = recorded_.release();
  std::vector<RowChange*> changes = in_key_order(taken.batches);
  if (!find_rows_after(taken, changes, published)) {
    // Perhaps only rows are missing that were recorded for a listener that was closed meanwhile.
    drop_uncovered(taken.batches);
    changes = in_key_order(taken.batches);
    if (!find_rows_after(taken, changes, published)) return take_unknown(published.position);
  }
  taken.rows.reserve(std::min(changes.size(), rows_expected_max));
  Watches::DeltaBuilder builder(watches_, taken.rows);
  match(taken, changes, builder);
  if (watches_to_reset_.has_value()) builder.reset(*watches_to_reset_);
  taken.deltas = builder.finish([&](std::string_view table) {
    const TableIndex* const index = published.by_name(table);
    if (index != nullptr) taken.pins.push_back(*index);
    return index;
  });
  watches_to_reset_.reset();
  unknown_origin_.reset();
  return taken;
}

TakenChanges Listeners::take_unknown(const FeedPosition& position) {
  TakenChanges taken;
  ChangeBatch& batch = taken.batches.emplace_back();
  batch.position = position;
  batch.origin = *unknown_origin_;
  batch.unknown = true;
  Watches::DeltaBuilder builder(watches_, taken.rows);
  builder.reset_all();
  taken.deltas = builder.finish(nullptr);
  recorded_.clear();
  watches_to_reset_.reset();
  unknown_origin_.reset();
  return taken;
}

// Drops the changes of rows that no listener covers any more.
void Listeners::drop_uncovered(ChangeBatches& batches) const {
  for (ChangeBatch& batch : batches) {
    const auto is_uncovered = [this](const RowChange& change) {
      return !covers(change.table->name.folded(), change.key.view());
    };
    batch.rows.erase(std::remove_if(batch.rows.begin(), batch.rows.end(), is_uncovered),
                     batch.rows.end());
  }
  batches.remove_if(
      [](const ChangeBatch& batch) { return batch.rows.empty() && batch.tables.empty(); });
}

// Sets RowChange::after. The row after a change is the row before the next change of the same row.
// After the last change, it is the row in the published version. Returns false if a row is not
// found: its part is not in memory any more, or a listener that covered it was closed meanwhile.
bool Listeners::find_rows_after(TakenChanges& taken, std::vector<RowChange*>& changes,
                                const Published& published) const {
  const TableIndex* index = nullptr;
  TableId table = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    RowChange& change = *changes[i];
    if (!change.exists_after) continue;
    if (i + 1 < changes.size() && same_row(change, *changes[i + 1])) {
      if (!changes[i + 1]->before.has_value()) return false;
      change.after = changes[i + 1]->before->view();
      continue;
    }
    if (change.table->id != table) {
      table = change.table->id;
      index = published.by_id(table);
      if (index == nullptr) index = dropped_rows(taken.batches, table);
      if (index == nullptr) return false;
      taken.pins.push_back(*index);
    }
    change.after = find_changed(*index, change.key.view());
    if (!change.after.has_value()) return false;
  }
  return true;
}

// Matches each row once: the row before its first change with the row after its last one.
void Listeners::match(const TakenChanges& taken, const std::vector<RowChange*>& changes,
                      Watches::DeltaBuilder& builder) {
  for (const ChangeBatch& batch : taken.batches) {
    for (const TableChange& change : batch.tables) builder.reset_table(change.table->name.folded());
  }
  for (std::size_t first = 0; first < changes.size();) {
    std::size_t last = first;
    while (last + 1 < changes.size() && same_row(*changes[first], *changes[last + 1])) ++last;
    const RowView* const before =
        changes[first]->before.has_value() ? &changes[first]->before->view() : nullptr;
    const RowView* const after =
        changes[last]->after.has_value() ? &*changes[last]->after : nullptr;
    if (before != nullptr || after != nullptr)
      builder.match(changes[first]->table->name.folded(), before, after);
    first = last + 1;
  }
}

}  // namespace entitable
