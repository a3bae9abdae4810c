#include "core/live/watches.h"

#include <algorithm>
#include <utility>

#include "core/model/limits.h"
#include "core/model/table_name.h"

namespace entitable {

WatchId Watches::open(std::string_view table, WatchQuery&& query) {
  const auto at = tables_.try_emplace(fold_table_name(table)).first;
  const WatchId id = last_id_ + 1;
  struct EraseUnlessOpen {  // if an exception is thrown
    Watches& all;
    Tables::iterator at;
    WatchId id;
    ~EraseUnlessOpen() {
      if (all.last_id_ != id) all.erase(at, id);
    }
  } erase_unless_open{*this, at, id};
  WatchedTable& watched = at->second;
  watched.watches.try_emplace(id, id, std::move(query), watched.ranges);
  tables_by_watch_.emplace(id, at);
  return last_id_ = id;
}

void Watches::erase(Tables::iterator table, WatchId id) {
  tables_by_watch_.erase(id);
  table->second.watches.erase(id);
  if (table->second.watches.empty()) tables_.erase(table);
}

bool Watches::close(WatchId id) {
  const auto known = tables_by_watch_.find(id);
  if (known == tables_by_watch_.end()) return false;
  erase(known->second, id);
  return true;
}

std::optional<Watches::OpenWatch> Watches::find(WatchId id) {
  const auto known = tables_by_watch_.find(id);
  if (known == tables_by_watch_.end()) return std::nullopt;
  auto& [table, watched] = *known->second;
  return OpenWatch{table, &watched.watches.at(id)};
}

bool Watches::covers(std::string_view table, const KeyView& key) const {
  const auto at = tables_.find(table);
  return at != tables_.end() && at->second.ranges.covers(key);
}

WatchDelta& Watches::DeltaBuilder::delta_of(WatchId id) {
  const auto [at, is_new] = deltas_.try_emplace(id);
  if (is_new) at->second.watch = id;
  return at->second;
}

void Watches::DeltaBuilder::reset_all() {
  for (auto& [table, watched] : all_.tables_) {
    for (auto& [id, watch] : watched.watches) reset(watch);
  }
}

void Watches::DeltaBuilder::reset_table(std::string_view table) {
  const auto at = all_.tables_.find(table);
  if (at == all_.tables_.end()) return;
  for (auto& [id, watch] : at->second.watches) reset(watch);
}

void Watches::DeltaBuilder::reset(const WatchIds& ids) {
  for (const auto& [id, table] : all_.tables_by_watch_) {
    if (id > ids.after && id <= ids.last) reset(table->second.watches.at(id));
  }
}

void Watches::DeltaBuilder::reset(Watch& watch) {
  watch.reset();
  delta_of(watch.id()) = WatchDelta{watch.id(), true, false};
}

void Watches::DeltaBuilder::match(std::string_view table, const RowView* before,
                                  const RowView* after) {
  const auto at = all_.tables_.find(table);
  if (at == all_.tables_.end()) return;
  const KeyView key = before != nullptr ? before->key() : after->key();
  bool listed = false;
  found_.clear();
  at->second.ranges.find(key, found_);
  for (Watch* watch : found_) {
    const std::optional<DeltaKind> kind = watch->match(before, after);
    if (!kind.has_value()) continue;
    if (!listed)
      rows_.push_back(after != nullptr ? ListedRow{{}, *after}
                                       : ListedRow{{key.partition, key.row}, {}});
    listed = true;
    std::vector<DeltaRow>& rows = delta_of(watch->id()).rows;
    if (rows.size() == delta_rows_max) {
      reset(*watch);
    } else {
      rows.push_back({*kind, static_cast<std::uint32_t>(rows_.size() - 1)});
    }
  }
}

std::vector<WatchDelta> Watches::DeltaBuilder::finish(
    const std::function<const TableIndex*(std::string_view)>& index_of) {
  std::vector<WatchDelta> deltas;
  for (auto& [id, delta] : deltas_) {
    const auto [table, watch] = *all_.find(id);
    const bool was_complete = watch->is_complete();
    if (!delta.reset) watch->finish(delta, rows_);
    const TableIndex* const index = was_complete && !delta.complete ? index_of(table) : nullptr;
    if (index != nullptr) refill(delta, *index);
    if (delta.reset || !delta.rows.empty()) deltas.push_back(std::move(delta));
  }
  return deltas;
}

void Watches::DeltaBuilder::refill(WatchDelta& delta, const TableIndex& index) {
  Watch& watch = *all_.find(delta.watch)->watch;
  while (!watch.is_complete() && rows_to_test_ > 0) {
    const auto answer =
        watch.read(index, limits::page_rows_max, OnUnloaded::return_parts_needed, rows_to_test_);
    const Page* const page = std::get_if<Page>(&answer);
    if (page == nullptr) return;
    rows_to_test_ -= std::min(rows_to_test_, page->rows_read + page->ranges_read);
    for (const RowView& row : page->rows) {
      delta.rows.push_back({DeltaKind::enter, static_cast<std::uint32_t>(rows_.size())});
      rows_.push_back({{}, row});
    }
  }
  delta.complete = watch.is_complete();
}

}  // namespace entitable
