// Messages wrapped in calls (core/dispatch/call_header.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/model/commit.h"

namespace entitable::test {

// Returns an id of 16 equal bytes.
inline ClientId client_id(char byte) {
  ClientId id{};
  id.fill(static_cast<std::uint8_t>(byte));
  return id;
}

// Wraps the message in a call of client_id(client).
inline std::string in_call(std::uint64_t number, std::string_view message, char client = 'a',
                           std::uint8_t version = 1) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(32);
  out.u8(version);
  out.u16(0);
  out.u32(0);
  out.u64(number);
  for (const std::uint8_t byte : client_id(client)) out.u8(byte);
  out.raw(message);
  return bytes;
}

}  // namespace entitable::test
