// Both doors before one store: writes that came through either are staged together, in order, as
// one group.
//
// A block is of the direct door (core/rpc/LAYOUT.md) or an HTTP request
// (core/rest/http_codec.h); its first byte says which. Nothing here fails: what cannot be
// answered is answered by an error, as an HTTP response to a request and as an error block
// otherwise. A block may be in a call (call.h): its answer is the block's, and if it was applied
// before, what it was then.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "core/rest/account.h"
#include "core/rest/http.h"
#include "core/rpc/message.h"
#include "core/rpc/timestamp_formatter.h"
#include "core/store/store.h"

namespace entitable::dispatch {

// An HTTP request that reads (GET, HEAD, OPTIONS). Replaces what `out` holds, by its response, or
// by an error block if the block is malformed or its request is a write after all. Gives the parts
// to load before it is asked again (query.h, PartsNeeded); none: `out` is the reply, and `rows`, if
// it is asked for, what it took.
std::vector<PartId> handle_rest_read(const rest::Account& account, const Store& store,
                                     std::string_view message, Ticks now, rpc::ResponseBuffer& out,
                                     RowCounts* rows = nullptr);

// The store's answer to an HTTP request.
using MakeResponse = std::function<rest::Response(const WriteResult&)>;

struct StagedResponses {
  std::vector<rpc::ResponseBuffer> responses;  // one per block, in order
  std::vector<char> failed;  // whether the block changes nothing: it was refused, or only read
  bool changes = false;      // false: there is nothing to store or publish
  // Not empty: nothing was staged and nothing answered; load all of these and stage again.
  std::vector<PartId> parts_needed;

  // Memory for the group on its way; what is in it means nothing between calls.
  struct Pending {
    std::size_t at;              // among the blocks
    MakeResponse make_response;  // empty: the direct door asked
  };
  struct Scratch {
    std::vector<WriteRequest> requests;
    std::vector<Pending> pending;  // one per request
    StageResult single;            // what a write alone was answered
    rpc::TimestampFormatter timestamps;
  };
  Scratch scratch;
};

// Writes: every block in order on one candidate, which publish() or discard() of the store ends. A
// block that its door answers itself (a refusal, a batch that reads) doesn't reach the store.
// Replaces what `out` holds, and uses its memory again.
void stage(const rest::Account& account, Store& store,
           const std::vector<std::string_view>& messages, Ticks now, StagedResponses& out);
// stage() and, if there are changes, publish() at once. What throws has not been published.
void stage_and_publish(const rest::Account& account, Store& store,
                       const std::vector<std::string_view>& messages, Ticks now,
                       StagedResponses& out);

}  // namespace entitable::dispatch
