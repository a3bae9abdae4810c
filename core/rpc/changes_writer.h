// Writes what one client has to know of the changes that were taken, as a response message
// (LAYOUT.md).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "core/live/listeners.h"
#include "core/rpc/message.h"
#include "core/rpc/page_writer.h"

namespace entitable::rpc {

struct ClientWatch {
  std::string_view table;
  bool counts;  // the client counts the rows and does not get them
};

struct ClientFeed {
  FeedId id;
  const FeedSelection* selection;
  FeedPosition opened_at;  // batches up to this one are not for it
  bool wants_before;       // also gets the rows before the changes
};

// The listeners of one client. `id`: in the calls of that client's writes; zeros: its writes have
// no calls. `find_watch`: returns nothing for a watch of another client.
struct ClientListeners {
  ClientId id{};
  std::function<std::optional<ClientWatch>(WatchId)> find_watch;
  std::vector<ClientFeed> feeds;
};

struct FeedProgress {
  FeedPosition last;    // of the last commit
  FeedPosition stored;  // of the last one that is stored
};

class ChangesWriter {
 public:
  // Replaces the content of `out`.
  void write(ResponseBuffer& out, const TakenChanges& taken, const FeedProgress& progress,
             const ClientListeners& listeners);

 private:
  PageWriter pages_;  // of its own, to keep the shapes of listed rows cached
  ResponseBuffer page_;
};

}  // namespace entitable::rpc
