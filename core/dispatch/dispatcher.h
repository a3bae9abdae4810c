// Dispatches messages to the RPC or the REST entry point, and stages the writes of both in order,
// as one group.
//
// The first byte of a message says whether the message is an RPC message (core/rpc/LAYOUT.md) or an
// HTTP request (core/rest/http_codec.h). No function here fails: the response to a message that
// cannot be served is an error, either an HTTP response or an RPC error response. A message may be
// wrapped in a call (call.h). The response to a call is the response to its message; a call that
// was already applied gets its first response again.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "core/rest/account_settings.h"
#include "core/rest/http.h"
#include "core/rpc/message.h"
#include "core/rpc/timestamp_formatter.h"
#include "core/store/store.h"

namespace entitable::dispatch {

// Handles an HTTP request that reads (GET, HEAD, OPTIONS), or one of any method whose body is
// pending (rest/request_handler.h). If the request needs rows that are not in memory, returns the
// parts to load before the caller repeats the request (PartsNeeded in core/query/query.h).
// Otherwise returns no parts; `out` then holds the response, and `rows`, if not null, the number of
// rows read and returned. The response to a malformed message, or to an HTTP request that writes,
// is an RPC error.
std::vector<PartId> handle_rest_read(const rest::Account& account, const Store& store,
                                     std::string_view message, Ticks now, rpc::ResponseBuffer& out,
                                     RowCounts* rows = nullptr);

// Returns the HTTP response for the store's result.
using MakeResponse = std::function<rest::Response(const WriteResult&)>;

struct StagedResponses {
  std::vector<rpc::ResponseBuffer> responses;  // one per message, in order
  std::vector<char> failed;        // one per message: true if it changed nothing (error or read)
  std::vector<char> only_deletes;  // one per message: true if it only deleted rows or a table
  bool changes = false;            // false: there is nothing to store or publish
  // If not empty, nothing was staged and there are no responses: the caller must load all these
  // parts and stage again.
  std::vector<PartId> parts_needed;

  // Reusable memory for staging. Its content is unspecified between calls.
  struct Pending {
    std::size_t at;              // position of the message
    MakeResponse make_response;  // empty for an RPC message
  };
  struct Scratch {
    std::vector<WriteRequest> requests;
    std::vector<Pending> pending;  // one per request
    StageResult single;            // the result of a single write
    rpc::TimestampFormatter timestamps;
  };
  Scratch scratch;
};

// Stages all messages in order as one candidate version of the store. The caller then calls
// store.publish() or store.discard(). A message that changes nothing (a malformed message, a batch
// that reads) gets its response without being staged. Replaces the content of `out` and reuses its
// memory.
void stage(const rest::Account& account, Store& store,
           const std::vector<std::string_view>& messages, Ticks now, StagedResponses& out);
// Stages as stage() does and, if there are changes, publishes them at once. If it throws, nothing
// was published.
void stage_and_publish(const rest::Account& account, Store& store,
                       const std::vector<std::string_view>& messages, Ticks now,
                       StagedResponses& out);

}  // namespace entitable::dispatch
