// Requests of readers of the change feed for commits that were published before: "read past"
// (LAYOUT.md). Each request stands for itself, so nothing is kept between two of them.
#pragma once

#include "core/rpc/changes_writer.h"
#include "core/rpc/message.h"
#include "core/store/change_history.h"

namespace entitable::rpc {

// Of one response. The client keeps its batches until its user has read them.
inline constexpr std::size_t past_batches_max = 500;
inline constexpr std::size_t past_row_bytes_max = 1024 * 1024;

// Replaces the content of `out` by the response. REQUIRES: the store is open.
void read_past_changes(Store& store, MessageReader& in, ResponseBuffer& out);

}  // namespace entitable::rpc
