// Requests of clients that listen: live queries (watches) and readers of the change feed (feeds).
//
// A client is a tab, or a page of a worker, with a number that the host has given to it. Each watch
// and each feed belongs to one client, which cannot use those of others. After calls that may have
// changed what listeners see, the host sends one "take changes" for each client, and passes the
// response to the client.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/rpc/changes_writer.h"
#include "core/rpc/message.h"
#include "core/rpc/page_writer.h"
#include "core/rpc/past_changes_reader.h"
#include "core/store/live_queries.h"

namespace entitable::rpc {

// Refers to the listeners of one store. REQUIRES: all calls are for this store, and all of its
// listeners are opened and closed by this object.
class ListeningClients {
 public:
  ListeningClients() = default;
  // Virtual, so that the owner of the object does not contain the code that destroys it.
  virtual ~ListeningClients() = default;
  ListeningClients(const ListeningClients&) = delete;
  ListeningClients& operator=(const ListeningClients&) = delete;

  // Handles a request of the kinds openWatch to takeChanges, readPast and feedReader. As
  // handle_read() (operations.h), returns the parts that "read watch" needs, and otherwise no
  // parts; `out` then holds the response. If this throws std::bad_alloc in "take changes", the
  // changes are lost: the host must close the listeners of all clients. REQUIRES: the store is
  // open.
  std::vector<PartId> handle(Store& store, std::uint32_t client, std::string_view request,
                             PageWriter& pages, ResponseBuffer& out);

 private:
  struct OpenWatch {
    std::uint32_t client;
    bool counts;
    const std::string* table;  // in `tables_`
  };
  struct OpenFeed {
    std::uint32_t client;
    std::uint32_t number;  // the client's number of the feed
    bool wants_before;
    FeedPosition opened_at;
  };

  void open_watch(Store& store, std::uint32_t client, MessageReader& in, ResponseBuffer& out);
  std::vector<PartId> read_watch(Store& store, std::uint32_t client, MessageReader& in,
                                 PageWriter& pages, ResponseBuffer& out);
  void close_watch(Store& store, std::uint32_t client, MessageReader& in, ResponseBuffer& out);
  void open_feed(Store& store, std::uint32_t client, MessageReader& in, ResponseBuffer& out);
  void close_feed(Store& store, std::uint32_t client, MessageReader& in, ResponseBuffer& out);
  void close_all(Store& store, std::uint32_t client, ResponseBuffer& out);
  void take_changes(Store& store, std::uint32_t client, MessageReader& in, ResponseBuffer& out);
  std::optional<FeedPosition> feed_position(std::uint32_t client, std::uint32_t number) const;
  const OpenWatch* find_watch(std::uint32_t client, WatchId id) const;

  std::unordered_map<WatchId, OpenWatch> watches_;
  std::map<FeedId, OpenFeed> feeds_;
  std::set<std::string, std::less<>> tables_;  // names that watches were opened with
  std::optional<TakenChanges> taken_;          // until the last client has got its changes
  ChangesWriter changes_;
  PastChangesReader past_;
};

}  // namespace entitable::rpc
