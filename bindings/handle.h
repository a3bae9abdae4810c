// The object behind a store handle of JavaScript, and the guard that keeps C++ exceptions inside
// the module.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/dispatch/dispatcher.h"
#include "core/dispatch/instrumentation.h"
#include "core/rpc/listening_clients.h"
#include "core/rpc/operations.h"
#include "core/rpc/sync_filter.h"
#include "core/store/restore.h"
#include "core/store/snapshot_export.h"
#include "core/store/store.h"

namespace entitable::bindings {

enum class Status : std::uint32_t {
  done = 0,
  nothing = 1,        // there is no result: no candidate, no more parts
  failed = 2,         // bytes: "<HTTP status> <service code>\n<message>", UTF-8
  out_of_memory = 3,  // there was no memory for an error message either
  parts_needed =
      4,  // nothing was done; bytes: a u64 id per part to load before the call is repeated
};

// The result of a call, which JavaScript reads as six 32-bit words. The next call on the same
// handle overwrites it.
struct CallResult {
  Status status = Status::done;
  std::uint32_t address = 0;  // of the bytes, valid until the next call on the same handle
  std::uint32_t size = 0;
  std::uint32_t value = 0;   // a small number, if the function documents one
  std::uint64_t number = 0;  // a sequence or id, if the function documents one
};

// Thrown when a check of core/base/check fails; the guard catches it.
struct CheckFailure {
  std::string what;
};

struct Handle {
  Store store;
  std::map<std::uint32_t, SnapshotExport> snapshots;  // of `store`, those that are being exported
  std::uint32_t last_snapshot = 0;                    // the number of the newest of them
  std::optional<Restore> restore;  // into `store`, while a file is being read or merged
  rest::Account account;           // the account that the REST entry point serves
  // A check failed or an exception was thrown, so memory may be corrupt and all writes are
  // rejected.
  bool poisoned = false;
  CallResult result;
  std::vector<char> input;  // the input of a call, written by JavaScript
  rpc::PageWriter page_writer;
  rpc::SyncFilter sync_filter;
  // Of `store`; null until the first call of entitable_listen().
  std::unique_ptr<rpc::ListeningClients> listening_clients;
  rpc::ResponseBuffer response;                   // the response to a read or an HTTP request
  RowCounts rows;                                 // row counts of the last read
  std::vector<std::string_view> messages;         // views of the staged messages in `input`
  dispatch::StagedResponses staged;               // the result of staging
  std::vector<std::uint32_t> response_locations;  // three words per response in `staged`
  std::string bytes;                              // the bytes that any other call returns

  static constexpr std::size_t retained_bytes_max = 16 << 10;

  std::string_view input_view(std::uint32_t size) const { return {input.data(), size}; }
  const CallResult* return_view(std::string_view out, std::uint32_t value = 0,
                                std::uint64_t number = 0);
  const CallResult* return_bytes(std::string out, std::uint32_t value = 0,
                                 std::uint64_t number = 0);
  // Frees `bytes` if it is large. Sealing returns segments of several megabytes in it; new rows can
  // then use that memory.
  void release_large_bytes() {
    if (bytes.capacity() > retained_bytes_max) std::string().swap(bytes);
  }
  const CallResult* return_nothing();
  const CallResult* return_parts_needed(const std::vector<PartId>& parts);  // REQUIRES: not empty
  const CallResult* return_error(const Error& error);
  const CallResult* return_rpc_error(const Error& error);  // as an error response message
};

// Returns the address in wasm memory.
std::uint32_t address_of(const void* pointer);

// Makes failed checks throw CheckFailure, in the whole module.
void throw_on_failed_checks();

// Returns the error for the current exception. Poisons the handle unless memory ran out. REQUIRES:
// in a catch block.
Error error_from_exception(Handle& handle);

// Returns the error for the current exception as Status::failed. REQUIRES: in a catch block.
[[gnu::cold, gnu::noinline]] const CallResult* result_from_exception(Handle& handle) noexcept;
// Returns the same error as an error response message. REQUIRES: in a catch block.
[[gnu::cold, gnu::noinline]] const CallResult* rpc_error_from_exception(Handle& handle) noexcept;

// Runs `call` and returns its result. An exception becomes Status::failed.
template <typename Call>
const CallResult* guarded(Handle* handle, Call call) {
  try {
    return call(*handle);
  } catch (...) {
    return result_from_exception(*handle);
  }
}

// Runs a call whose result is a response message. An exception becomes an error response message.
template <typename Call>
const CallResult* guarded_response(Handle* handle, Call call) {
  try {
    return call(*handle);
  } catch (...) {
    return rpc_error_from_exception(*handle);
  }
}

}  // namespace entitable::bindings
