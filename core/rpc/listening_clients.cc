#include "core/rpc/listening_clients.h"

#include <utility>
#include <variant>

#include "core/base/check.h"
#include "core/model/limits.h"
#include "core/rpc/feed_reader_requests.h"
#include "core/rpc/listener_request_fields.h"
#include "core/rpc/operations.h"

namespace entitable::rpc {
namespace {

constexpr std::uint32_t flag_counts = 1;  // of "open watch"
constexpr std::uint32_t flag_before = 1;  // of "open feed"

// Encodes the id of a listener that was opened or closed; 0: it was not. `opened_at`: the position
// after which a feed that was opened has all changes.
void encode_listener(ResponseBuffer& out, std::uint32_t id, bool covers_all_keys = false,
                     const FeedPosition& opened_at = {}) {
  ResponseWriter writer(out, ResponseKind::listener, 4);
  writer.word(id);
  writer.word(covers_all_keys ? 1 : 0);
  writer.two_words(sequence_of(opened_at));
  writer.finish();
}

}  // namespace

std::vector<PartId> ListeningClients::handle(Store& store, std::uint32_t client,
                                             std::string_view request, PageWriter& pages,
                                             ResponseBuffer& out) {
  MessageReader in(request);
  const auto kind = static_cast<RequestKind>(in.kind());
  if (in.ok() && kind == RequestKind::read_watch) return read_watch(store, client, in, pages, out);
  if (in.ok() && kind == RequestKind::open_watch) {
    open_watch(store, client, in, out);
  } else if (in.ok() && kind == RequestKind::close_watch) {
    close_watch(store, client, in, out);
  } else if (in.ok() && kind == RequestKind::open_feed) {
    open_feed(store, client, in, out);
  } else if (in.ok() && kind == RequestKind::close_feed) {
    close_feed(store, client, in, out);
  } else if (in.ok() && kind == RequestKind::read_past) {
    const auto opened_at = [&](std::uint32_t number) { return feed_position(client, number); };
    past_.read(store, client, opened_at, in, out);
  } else if (in.ok() && kind == RequestKind::feed_reader) {
    handle_feed_reader(store, in, out);
  } else if (in.ok() && kind == RequestKind::close_listeners) {
    close_all(store, client, out);
  } else if (in.ok() && kind == RequestKind::take_changes) {
    take_changes(store, client, in, out);
  } else {
    encode_error(out, malformed_error());
  }
  return {};
}

// ---- Watches ------------------------------------------------------------------------------------

void ListeningClients::open_watch(Store& store, std::uint32_t client, MessageReader& in,
                                  ResponseBuffer& out) {
  const OpenWatchFields fields = read_open_watch_fields(in);
  if (!in.ok() || (fields.flags & ~flag_counts) != 0 || fields.limit == 0)
    return encode_error(out, malformed_error());
  Result<Filter> filter = parse_optional_filter(fields.filter);
  if (!filter.ok()) return encode_error(out, filter.error());
  WatchQuery query;
  query.filter = std::move(*filter);
  if (fields.limit != none) query.limit = fields.limit;
  if (fields.partition.has_value())
    query.from = EntityKey(*fields.partition, fields.row.value_or(std::string_view()));
  const auto table = tables_.emplace(fields.table).first;
  watches_.reserve(watches_.size() + 1);
  const WatchId id = LiveQueries(store).open_watch(fields.table, std::move(query));
  try {
    watches_.emplace(id, OpenWatch{client, (fields.flags & flag_counts) != 0, &*table});
    encode_listener(out, id, LiveQueries(store).covers_all_keys(id));
  } catch (...) {
    watches_.erase(id);
    LiveQueries(store).close_watch(id);
    throw;
  }
}

std::vector<PartId> ListeningClients::read_watch(Store& store, std::uint32_t client,
                                                 MessageReader& in, PageWriter& pages,
                                                 ResponseBuffer& out) {
  const ReadWatchFields fields = read_read_watch_fields(in);
  const OpenWatch* const watch = find_watch(client, fields.watch);
  const bool fits = fields.rows_max > 0 && fields.rows_max <= limits::page_rows_max;
  if (!in.ok() || watch == nullptr || !fits) {
    encode_error(out, malformed_error());
    return {};
  }
  const auto answer = LiveQueries(store).read_watch(fields.watch, fields.rows_max);
  if (const auto* page = std::get_if<WatchPage>(&answer)) {
    const std::size_t count = page->page.rows.size();
    pages.write_watch_page(
        out, *watch->table,
        watch->counts ? std::span<const RowView>() : std::span<const RowView>(page->page.rows),
        {count, page->complete, sequence_of(page->position)});
  } else if (const auto* error = std::get_if<Error>(&answer)) {
    encode_error(out, *error);
  } else if (const auto* need = std::get_if<PartsNeeded>(&answer)) {
    return need->ids;
  } else {
    encode_error(out, Error(ErrorCode::internal_error, "The changes were not taken."));
  }
  return {};
}

void ListeningClients::close_watch(Store& store, std::uint32_t client, MessageReader& in,
                                   ResponseBuffer& out) {
  const WatchId id = in.word();
  if (!in.ok()) return encode_error(out, malformed_error());
  if (find_watch(client, id) == nullptr) return encode_listener(out, 0);
  encode_listener(out, id);
  watches_.erase(id);
  LiveQueries(store).close_watch(id);
}

const ListeningClients::OpenWatch* ListeningClients::find_watch(std::uint32_t client,
                                                                WatchId id) const {
  const auto at = watches_.find(id);
  return at == watches_.end() || at->second.client != client ? nullptr : &at->second;
}

// ---- Feeds --------------------------------------------------------------------------------------

void ListeningClients::open_feed(Store& store, std::uint32_t client, MessageReader& in,
                                 ResponseBuffer& out) {
  const OpenFeedFields fields = read_open_feed_fields(in);
  Result<Filter> filter = parse_optional_filter(fields.filter);
  if (!in.ok() || (fields.flags & ~flag_before) != 0) return encode_error(out, malformed_error());
  if (!filter.ok()) return encode_error(out, filter.error());
  const std::optional<FeedId> id =
      LiveQueries(store).open_feed(feed_query(fields, std::move(*filter)));
  if (!id.has_value()) return encode_listener(out, 0);
  try {
    const bool wants_before = (fields.flags & flag_before) != 0;
    feeds_.emplace(*id, OpenFeed{client, fields.number, wants_before, store.position()});
    encode_listener(out, *id, false, store.position());
    LiveQueries(store).log_readers().erase_if_at({client, fields.number}, store.last_commit());
  } catch (...) {
    feeds_.erase(*id);
    LiveQueries(store).close_feed(*id);
    throw;
  }
}

void ListeningClients::close_feed(Store& store, std::uint32_t client, MessageReader& in,
                                  ResponseBuffer& out) {
  const CloseFeedFields fields = read_close_feed_fields(in);
  if (!in.ok()) return encode_error(out, malformed_error());
  LogReaders& readers = LiveQueries(store).log_readers();
  const LogReaders::Id reader{client, fields.number};
  if (fields.since == sequence_max) {
    readers.erase(reader);
  } else {
    readers.set(reader, position_of(fields.since).commit);
  }
  const auto at = feeds_.find(fields.feed);
  if (at == feeds_.end() || at->second.client != client) return encode_listener(out, 0);
  encode_listener(out, fields.feed);
  feeds_.erase(at);
  LiveQueries(store).close_feed(fields.feed);
}

std::optional<FeedPosition> ListeningClients::feed_position(std::uint32_t client,
                                                            std::uint32_t number) const {
  for (const auto& [id, feed] : feeds_) {
    if (feed.client == client && feed.number == number) return feed.opened_at;
  }
  return std::nullopt;
}

// ---- Clients ------------------------------------------------------------------------------------

void ListeningClients::close_all(Store& store, std::uint32_t client, ResponseBuffer& out) {
  LiveQueries live(store);
  for (auto at = watches_.begin(); at != watches_.end();) {
    if (at->second.client != client) {
      ++at;
      continue;
    }
    live.close_watch(at->first);
    at = watches_.erase(at);
  }
  for (auto at = feeds_.begin(); at != feeds_.end();) {
    if (at->second.client != client) {
      ++at;
      continue;
    }
    live.close_feed(at->first);
    at = feeds_.erase(at);
  }
  if (watches_.empty()) tables_.clear();
  past_.forget();
  live.log_readers().erase_client(client);
  encode_listener(out, 0);
}

void ListeningClients::take_changes(Store& store, std::uint32_t client, MessageReader& in,
                                    ResponseBuffer& out) {
  const bool is_last = in.word() != 0;
  const ClientId client_id = read_client_id(in);
  if (!in.ok()) return encode_error(out, malformed_error());
  LiveQueries live(store);
  std::optional<TakenChanges> taken = std::exchange(taken_, std::nullopt);
  if (!taken.has_value()) taken = live.take_changes();
  ClientListeners listeners{client_id,
                            [&](WatchId id) -> std::optional<ClientWatch> {
                              const OpenWatch* const watch = find_watch(client, id);
                              if (watch == nullptr) return std::nullopt;
                              return ClientWatch{*watch->table, watch->counts};
                            },
                            {}};
  for (const auto& [id, feed] : feeds_) {
    if (feed.client == client)
      listeners.feeds.push_back({id, live.feed(id), feed.opened_at, feed.wants_before});
  }
  changes_.write(out, *taken, {store.position(), store.stored_position()}, listeners);
  if (!is_last) taken_ = std::move(taken);
}

}  // namespace entitable::rpc
