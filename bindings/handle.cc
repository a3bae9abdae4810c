#include "bindings/handle.h"

#include <utility>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/model/service_error.h"

namespace entitable::bindings {

std::uint32_t address_of(const void* pointer) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

const CallResult* Handle::return_view(std::string_view out, std::uint32_t value,
                                      std::uint64_t number) {
  result = CallResult{Status::done, address_of(out.data()), static_cast<std::uint32_t>(out.size()),
                      value, number};
  return &result;
}

const CallResult* Handle::return_bytes(std::string out, std::uint32_t value, std::uint64_t number) {
  bytes = std::move(out);
  return return_view(bytes, value, number);
}

const CallResult* Handle::return_nothing() {
  result = CallResult{Status::nothing};
  return &result;
}

const CallResult* Handle::return_parts_needed(const std::vector<PartId>& parts) {
  std::string ids;
  ByteWriter out(ids);
  for (const PartId part : parts) out.u64(part);
  return_bytes(std::move(ids));
  result.status = Status::parts_needed;
  return &result;
}

const CallResult* Handle::return_error(const Error& error) {
  const ServiceError& service = service_error_of(error.code);
  bytes = std::to_string(service.status) + " " + std::string(service.code) + "\n" +
          std::string(error_message(error));
  return_view(bytes);
  result.status = Status::failed;
  return &result;
}

const CallResult* Handle::return_rpc_error(const Error& error) {
  rpc::encode_error(response, error);
  return return_view(response.view());
}

void throw_on_failed_checks() {
  set_check_handler([](const char* condition, const char* file, int line) {
    throw CheckFailure{std::string(file) + ":" + std::to_string(line) + ": " + condition};
  });
}

Error error_from_exception(Handle& handle) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::out_of_memory);
  } catch (const std::length_error&) {  // a container would exceed the address space
    return Error(ErrorCode::out_of_memory);
  } catch (const CheckFailure& failure) {
    handle.poisoned = true;
    return Error(ErrorCode::internal_error, failure.what);
  } catch (const std::exception& exception) {
    handle.poisoned = true;
    return Error(ErrorCode::internal_error, exception.what());
  } catch (...) {
    handle.poisoned = true;
    return Error(ErrorCode::internal_error);
  }
}

namespace {

template <typename Fail>
const CallResult* failed_or_out_of_memory(Handle& handle, Fail return_error) noexcept {
  try {
    return return_error();
  } catch (...) {  // no memory for the error message
    handle.result = CallResult{Status::out_of_memory};
    return &handle.result;
  }
}

}  // namespace

const CallResult* result_from_exception(Handle& handle) noexcept {
  return failed_or_out_of_memory(handle,
                                 [&] { return handle.return_error(error_from_exception(handle)); });
}

const CallResult* rpc_error_from_exception(Handle& handle) noexcept {
  return failed_or_out_of_memory(
      handle, [&] { return handle.return_rpc_error(error_from_exception(handle)); });
}

}  // namespace entitable::bindings
