// Requests about durable readers of the change feed: "feed reader" (LAYOUT.md).
#pragma once

#include "core/rpc/message.h"
#include "core/store/store.h"

namespace entitable::rpc {

// Replaces the content of `out` by the response. REQUIRES: the store is open.
void handle_feed_reader(Store& store, MessageReader& in, ResponseBuffer& out);

}  // namespace entitable::rpc
