// Builds request messages as core/rest/http_codec.h specifies, in the simplest way.
#pragma once

#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/rest/http.h"

namespace entitable::test {

inline std::string http_request_message(const rest::Request& request,
                                        std::string_view id = "0123456789abcdef") {
  const auto size = [](std::string_view text) { return static_cast<std::uint32_t>(text.size()); };
  std::string message;
  ByteWriter out(message);
  out.u8(64);
  out.u8(1);
  out.u16(static_cast<std::uint16_t>((request.trusted ? 1 : 0) + (request.body_pending ? 2 : 0)));
  out.u32(size(request.method));
  out.u32(size(request.url));
  out.u32(size(request.client_ip));
  out.u32(size(request.body));
  out.u32(static_cast<std::uint32_t>(request.headers.size()));
  out.raw(id);
  for (const rest::HeaderView& header : request.headers) {
    out.u32(size(header.name));
    out.u32(size(header.value));
  }
  out.raw(request.method);
  out.raw(request.url);
  out.raw(request.client_ip);
  for (const rest::HeaderView& header : request.headers) {
    out.raw(header.name);
    out.raw(header.value);
  }
  out.raw(request.body);
  return message;
}

}  // namespace entitable::test
