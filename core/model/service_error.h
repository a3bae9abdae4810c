// THE table from an ErrorCode to what a caller sees: HTTP status, service error code, standard
// message. Both doors render from here.
//
// Most lines are the service's. Our own are OutOfMemory, Corrupted, FormatTooNew and ReadOnly: what
// can only happen to a store on this machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace entitable {

struct ServiceError {
  std::uint16_t status;      // HTTP status
  std::string_view code;     // "EntityAlreadyExists"
  std::string_view message;  // the standard text
};

const ServiceError& service_error(ErrorCode code);

// The line of a service code ("ServerBusy"); nullptr if there is none. It also knows codes that the
// service gives and no request to this store can bring about, for those who act them.
const ServiceError* find_service_error(std::string_view code);

// The text of one error: its own message, or the standard one.
std::string_view error_message(const Error& error);

// Whether an error of a transaction is found at commit: with exactly one operation its message then
// has no "0:" prefix (spec §6.3).
bool is_commit_time_error(ErrorCode code);

}  // namespace entitable
