// A message may be wrapped in a *call*, so that the client can retry it safely if the response is
// lost:
//
//     call = 32:u8 1:u8 0:u16 0:u32 number:u64 client:16 bytes message
//
// The second byte, 1, is the version. The message is an RPC message or an HTTP request. A call that
// was already applied is not applied again, but gets its first result (core/store/call_window.h).
#pragma once

#include <optional>
#include <string_view>

#include "core/store/write_requests.h"

namespace entitable::dispatch {

// Returns whether the message is wrapped in a call. Checks only the first byte.
bool has_call_header(std::string_view message);

// Removes the header of the call from `message`. Returns the client and the number from the header,
// or nothing if the header is malformed. REQUIRES: has_call_header(message).
std::optional<ClientCall> unwrap_call(std::string_view& message);

}  // namespace entitable::dispatch
