// A block that may be sent again, since whoever sends it may not hear the answer, is in a *call*:
//
//     call = 32:u8 1:u8 0:u16 0:u32 number:u64 client:16 bytes block
//
// 1 is the version; the block is of either door. What becomes of one that was applied before is
// said in core/store/call_window.h.
#pragma once

#include <optional>
#include <string_view>

#include "core/store/requests.h"

namespace entitable::dispatch {

bool is_call(std::string_view message);  // by its first byte

// Takes the head of a call off its block. Nothing: it is malformed.
std::optional<ClientCall> unwrap_call(std::string_view& message);

}  // namespace entitable::dispatch
