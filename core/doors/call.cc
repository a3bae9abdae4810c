#include "core/doors/call.h"

#include <algorithm>
#include <cstdint>

#include "core/base/bytes.h"

namespace entitable::doors {
namespace {

constexpr std::uint8_t kind_call = 32;
constexpr std::uint8_t call_version = 1;

}  // namespace

bool is_call(std::string_view block) {
  return !block.empty() && static_cast<std::uint8_t>(block.front()) == kind_call;
}

std::optional<ClientCall> take_call(std::string_view& block) {
  ByteReader in(block);
  in.u8();
  const bool known = in.u8() == call_version && in.u16() == 0 && in.u32() == 0;
  ClientCall call;
  call.number = in.u64();
  const std::string_view client = in.raw(call.client.size());
  const std::string_view inner = in.raw(in.remaining());
  if (!in.ok() || !known || is_call(inner)) return std::nullopt;
  std::copy(client.begin(), client.end(), call.client.begin());
  block = inner;
  return call;
}

}  // namespace entitable::doors
