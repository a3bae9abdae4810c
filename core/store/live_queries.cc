#include "core/store/live_queries.h"

#include <utility>

#include "core/base/check.h"
#include "core/model/limits.h"
#include "core/store/open_listeners.h"
#include "core/store/store_state.h"

namespace entitable {

OpenListeners& LiveQueries::open_listeners() {
  ENTITABLE_CHECK(state_.is_open());
  if (state_.listeners == nullptr)
    state_.listeners = std::make_unique<OpenListeners>(state_.memory_limit);
  return static_cast<OpenListeners&>(*state_.listeners);
}

Listeners* LiveQueries::listeners() const {
  if (state_.listeners == nullptr) return nullptr;
  return &static_cast<OpenListeners&>(*state_.listeners).all();
}

WatchId LiveQueries::open_watch(std::string_view table, WatchQuery query) {
  return open_listeners().all().watches().open(table, std::move(query));
}

bool LiveQueries::close_watch(WatchId watch) {
  Listeners* const open = listeners();
  return open != nullptr && open->close_watch(watch);
}

bool LiveQueries::covers_all_keys(WatchId watch) const {
  Listeners* const open = listeners();
  if (open == nullptr) return false;
  const auto found = open->watches().find(watch);
  return found.has_value() && found->watch->covers_all_keys();
}

std::variant<WatchPage, Error, PartsNeeded, WatchRefusal> LiveQueries::read_watch(
    WatchId id, std::uint32_t rows_max) {
  ENTITABLE_CHECK(rows_max > 0 && rows_max <= limits::page_rows_max);
  Listeners* const all = listeners();
  if (all == nullptr) return WatchRefusal::closed;
  const auto open = all->watches().find(id);
  if (!open.has_value()) return WatchRefusal::closed;
  if (all->has_changes()) return WatchRefusal::changes_not_taken;
  const auto [name, watch] = *open;
  const Table* const table = state_.published.catalog.find(name);
  if (table == nullptr) return Error(ErrorCode::table_not_found);
  auto answer = watch->read(table->index, rows_max, OnUnloaded::return_parts_needed);
  if (std::holds_alternative<PartsNeeded>(answer) && state_.exceeds_memory_limit()) {
    answer = watch->read(table->index, rows_max, OnUnloaded::end_page);
  }
  if (auto* need = std::get_if<PartsNeeded>(&answer)) return state_.await(std::move(*need));
  return WatchPage{std::move(std::get<Page>(answer)), watch->is_complete(), state_.position()};
}

std::optional<FeedId> LiveQueries::open_feed(FeedQuery query) {
  ENTITABLE_CHECK(state_.is_open());
  if (state_.candidate.has_value()) return std::nullopt;
  return open_listeners().all().open_feed(std::move(query));
}

bool LiveQueries::close_feed(FeedId feed) {
  Listeners* const open = listeners();
  return open != nullptr && open->close_feed(feed);
}

const FeedSelection* LiveQueries::feed(FeedId feed) const {
  const Listeners* const open = listeners();
  return open == nullptr ? nullptr : open->feed(feed);
}

LogReaders& LiveQueries::log_readers() {
  return state_.log_readers;
}

TakenChanges LiveQueries::take_changes() {
  Listeners* const open = listeners();
  if (open == nullptr || !open->has_changes()) return {};
  const Catalog& catalog = state_.published.catalog;
  const auto rows_of = [&catalog](auto table) -> const TableIndex* {
    const Table* const found = catalog.find(table);
    return found == nullptr ? nullptr : &found->index;
  };
  return open->take({rows_of, rows_of, state_.position()});
}

}  // namespace entitable
