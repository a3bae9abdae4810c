#include "bindings/handle.h"

#include <utility>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/model/service_error.h"

namespace entitable::bindings {

std::uint32_t address_of(const void* pointer) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

const CallResult* Handle::give(std::string_view out, std::uint32_t value, std::uint64_t number) {
  result = CallResult{Status::done, address_of(out.data()), static_cast<std::uint32_t>(out.size()),
                      value, number};
  return &result;
}

const CallResult* Handle::give_bytes(std::string out, std::uint32_t value, std::uint64_t number) {
  bytes = std::move(out);
  return give(bytes, value, number);
}

const CallResult* Handle::nothing() {
  result = CallResult{Status::nothing};
  return &result;
}

const CallResult* Handle::need(const std::vector<PartId>& parts) {
  std::string ids;
  ByteWriter out(ids);
  for (const PartId part : parts) out.u64(part);
  give_bytes(std::move(ids));
  result.status = Status::need_parts;
  return &result;
}

const CallResult* Handle::fail(const Error& error) {
  bytes = std::string(service_error(error.code).code) + "\n" + std::string(message_of(error));
  give(bytes);
  result.status = Status::failed;
  return &result;
}

const CallResult* Handle::fail_in_reply(const Error& error) {
  direct::write_error(reply, error);
  return give(reply.view());
}

void catch_failed_checks() {
  set_check_handler([](const char* condition, const char* file, int line) {
    throw CheckFailure{std::string(file) + ":" + std::to_string(line) + ": " + condition};
  });
}

Error caught(Handle& handle) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Error(Code::out_of_memory);
  } catch (const std::length_error&) {  // a container that could never be so big: memory again
    return Error(Code::out_of_memory);
  } catch (const CheckFailure& failure) {
    handle.poisoned = true;
    return Error(Code::internal_error, failure.what);
  } catch (const std::exception& exception) {
    handle.poisoned = true;
    return Error(Code::internal_error, exception.what());
  } catch (...) {
    handle.poisoned = true;
    return Error(Code::internal_error);
  }
}

namespace {

template <typename Fail>
const CallResult* failed_or_out_of_memory(Handle& handle, Fail fail) noexcept {
  try {
    return fail();
  } catch (...) {  // not even memory for the error
    handle.result = CallResult{Status::out_of_memory};
    return &handle.result;
  }
}

}  // namespace

const CallResult* thrown(Handle& handle) noexcept {
  return failed_or_out_of_memory(handle, [&] { return handle.fail(caught(handle)); });
}

const CallResult* thrown_in_reply(Handle& handle) noexcept {
  return failed_or_out_of_memory(handle, [&] { return handle.fail_in_reply(caught(handle)); });
}

}  // namespace entitable::bindings
