// A message may be wrapped in a *call*, so that the client can retry it safely if the response is
// lost:
//
//     call = 32:u8 1:u8 0:u16 0:u32 number:u64 client:16 bytes message
//
// 1 is the version. The message is an RPC message or an HTTP request. core/store/call_window.h
// describes how a call that was already applied is answered.
#pragma once

#include <optional>
#include <string_view>

#include "core/store/requests.h"

namespace entitable::dispatch {

bool is_call(std::string_view message);  // checks the first byte only

// Removes the call's header from `message` and returns it. Returns nothing if the call is
// malformed.
std::optional<ClientCall> unwrap_call(std::string_view& message);

}  // namespace entitable::dispatch
