#include "core/dispatch/call_header.h"

#include <algorithm>
#include <cstdint>

#include "core/base/bytes.h"

namespace entitable::dispatch {
namespace {

constexpr std::uint8_t call_kind = 32;
constexpr std::uint8_t call_version = 1;

}  // namespace

bool has_call_header(std::string_view message) {
  return !message.empty() && static_cast<std::uint8_t>(message.front()) == call_kind;
}

std::optional<ClientCall> unwrap_call(std::string_view& message) {
  ByteReader in(message);
  in.u8();
  const bool known = in.u8() == call_version && in.u16() == 0 && in.u32() == 0;
  ClientCall call;
  call.number = in.u64();
  const std::string_view client = in.raw(call.client.size());
  const std::string_view inner = in.raw(in.remaining());
  if (!in.ok() || !known || has_call_header(inner)) return std::nullopt;
  std::copy(client.begin(), client.end(), call.client.begin());
  message = inner;
  return call;
}

}  // namespace entitable::dispatch
