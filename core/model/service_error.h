// The table that maps an ErrorCode to what a caller sees: HTTP status, service error code and
// standard message. Both entry points use it.
//
// Most entries are the service's. TableHasPendingOperations, OutOfMemory, Corrupted, FormatTooNew
// and ReadOnly are our own: they can only happen to a store on this machine.
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

const ServiceError& service_error_of(ErrorCode code);

// Returns the entry of a service code ("ServerBusy"), or nullptr if there is none. Also finds codes
// that no request to this store can cause, because callers simulate faults with them.
const ServiceError* find_service_error(std::string_view code);

// Returns the error's own message, or else the standard one.
std::string_view error_message(const Error& error);

// Returns whether the service finds the error only when it commits a transaction. The message of
// such an error has no "0:" prefix if the transaction has exactly one operation
// (core/rest/SERVICE.md §6.3).
bool is_commit_time_error(ErrorCode code);

}  // namespace entitable
