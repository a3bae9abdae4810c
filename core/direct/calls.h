// The calls of the direct door: block in, store call, block out.
//
// Nothing here fails: what cannot be answered is answered by an error block, in the service's
// words.
#pragma once

#include <string_view>
#include <vector>

#include "core/direct/block.h"
#include "core/direct/page.h"
#include "core/store/store.h"

namespace entitable::direct {

// get, query, explain, list tables. Replaces what `out` holds; `pages` only lends its memory.
void read(const Store& store, std::string_view request, PageWriter& pages, ReplyBuffer& out);

struct StagedReplies {
  std::vector<ReplyBuffer> replies;  // one per block, in order
  std::vector<bool> failed;          // whether the reply is an error
  bool changes = false;              // false: there is nothing to store or publish
};

// Entities and tables: every block in order on one candidate, which publish() or discard() of the
// store ends. A block that the door refuses itself is answered and doesn't reach the store.
StagedReplies stage(Store& store, const std::vector<std::string_view>& blocks, Ticks now);

// The ticks of a host's clock, in milliseconds since 1970 with their fraction. What is no time at
// all is the epoch: the store's clock rises anyway.
Ticks ticks_from_unix_ms(double milliseconds);

void write_error(ReplyBuffer& out, const Error& error);
void write_error(ReplyBuffer& out, const GroupFailure& failure);

}  // namespace entitable::direct
