// What a store handle of JavaScript points to, and the guard around every call: no exception leaves
// the module.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/dispatch/dispatcher.h"
#include "core/dispatch/instrumentation.h"
#include "core/rpc/operations.h"
#include "core/store/store.h"

namespace entitable::bindings {

enum class Status : std::uint32_t {
  done = 0,
  nothing = 1,        // nothing to give: no candidate, no more parts
  failed = 2,         // bytes: "<service code>\n<message>", UTF-8
  out_of_memory = 3,  // not even memory for an error
  parts_needed = 4,   // nothing was done; bytes: the parts to load before the same call, u64 each
};

// What every call gives back; JavaScript reads it as six words. Overwritten by the next call on
// the same handle.
struct CallResult {
  Status status = Status::done;
  std::uint32_t address = 0;  // of the bytes, valid until the next call on the same handle
  std::uint32_t size = 0;
  std::uint32_t value = 0;   // a small number, where the call says so
  std::uint64_t number = 0;  // a sequence or id, where the call says so
};

// The check that failed, on its way from core/base/check to the guard.
struct CheckFailure {
  std::string what;
};

struct Handle {
  Store store;
  rest::Account account;  // whom the REST door answers for
  bool poisoned = false;  // a check failed or something threw: memory can't be trusted, so nothing
                          // more is written
  CallResult result;
  std::vector<char> input;  // what JavaScript writes before a call
  rpc::PageWriter page_writer;
  rpc::ResponseBuffer response;                   // what a read or an HTTP request gives
  RowCounts rows;                                 // what the last of these took
  std::vector<std::string_view> messages;         // in the input of a stage
  dispatch::StagedResponses staged;               // what a stage gives
  std::vector<std::uint32_t> response_locations;  // where its replies are
  std::string bytes;                              // what any other call gives

  static constexpr std::size_t retained_bytes_max = 16 << 10;

  std::string_view input_view(std::uint32_t size) const { return {input.data(), size}; }
  const CallResult* return_view(std::string_view out, std::uint32_t value = 0,
                                std::uint64_t number = 0);
  const CallResult* return_bytes(std::string out, std::uint32_t value = 0,
                                 std::uint64_t number = 0);
  // Nobody looks any more at what the last call gave. While a segment of megabytes is being stored,
  // rows come to stand in its place, and not behind it.
  void release_bytes() {
    if (bytes.capacity() > retained_bytes_max) std::string().swap(bytes);
  }
  const CallResult* return_nothing();
  const CallResult* return_parts_needed(const std::vector<PartId>& parts);  // REQUIRES: not empty
  const CallResult* return_error(const Error& error);
  const CallResult* return_error_response(const Error& error);  // as an error block
};

// An address as JavaScript knows it.
std::uint32_t address_of(const void* pointer);

// Makes failed checks throw CheckFailure. Once per module.
void throw_on_failed_checks();

// The error that an exception means; poisons the handle unless it is only about memory. REQUIRES:
// in a catch block.
Error error_from_exception(Handle& handle);

// What a call gives that threw: the error, as Status::failed or as an error block. REQUIRES: in a
// catch block.
[[gnu::cold, gnu::noinline]] const CallResult* result_from_exception(Handle& handle) noexcept;
[[gnu::cold, gnu::noinline]] const CallResult* response_from_exception(Handle& handle) noexcept;

// Runs a call; an exception becomes Status::failed.
template <typename Call>
const CallResult* guarded(Handle* handle, Call call) {
  try {
    return call(*handle);
  } catch (...) {
    return result_from_exception(*handle);
  }
}

// The same for calls whose answer is a reply block: an exception becomes an error block.
template <typename Call>
const CallResult* guarded_response(Handle* handle, Call call) {
  try {
    return call(*handle);
  } catch (...) {
    return response_from_exception(*handle);
  }
}

}  // namespace entitable::bindings
