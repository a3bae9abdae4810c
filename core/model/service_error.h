// The table that maps an ErrorCode to what a caller sees: HTTP status, service error code and
// standard message. Both entry points use it.
//
// Most entries are the service's. OutOfMemory, Corrupted, FormatTooNew and ReadOnly are our own:
// they can only happen to a store on this machine.
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

// Returns the entry of a service code ("ServerBusy"), or nullptr. Also knows service codes that no
// request to this store can cause, for code that simulates faults.
const ServiceError* find_service_error(std::string_view code);

// Returns the error's own message, or else the standard one.
std::string_view error_message(const Error& error);

// Returns whether the error, in a transaction, is detected at commit. With exactly one operation,
// its message then has no "0:" prefix (core/rest/SERVICE.md §6.3).
bool is_commit_time_error(ErrorCode code);

}  // namespace entitable
