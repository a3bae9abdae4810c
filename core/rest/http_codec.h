// A request and a response as one block of bytes each: what crosses the wasm boundary.
//
// Everything is little-endian; lengths are in bytes and count what follows the last of them, in
// the order in which they stand. `text` is as on the wire: names, values and URLs are octets.
//
//   request  = 64:u8 version:u8 flags:u16
//              method:u32 url:u32 client_ip:u32 body:u32 headers:u32  id:16 bytes
//              (name:u32 value:u32) * headers
//              method url client_ip (name value)* text, body
//   response = 65:u8 version:u8 status:u16
//              reason:u32 body:u32 headers:u32
//              (name:u32 value:u32) * headers
//              reason (name value)* text, body
//
// `version` is 1. `flags` is 1 if the request is trusted (http.h), else 0. The first byte tells
// these messages from RPC messages (core/rpc/LAYOUT.md), so that both kinds can wait
// in one queue. Blocks are never stored. web/src/rest/http-message.ts is the other side.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/rest/http.h"

namespace entitable::rest {

inline constexpr std::uint8_t http_request_kind = 64;
inline constexpr std::uint8_t http_response_kind = 65;
inline constexpr std::uint8_t http_message_version = 1;
inline constexpr std::size_t request_id_bytes = 16;

struct HttpRequestMessage {
  Request request;
  std::string_view id;  // random: RequestContext::id
};

bool is_http_request_message(std::string_view message);  // by its first byte

// Nothing if the block is malformed, which only our own code can bring about: lengths that do not
// fit, another version, bytes left over. The views are into `block`.
std::optional<HttpRequestMessage> decode_http_request(std::string_view message);

std::string encode_http_response(const Response& response);

// Status, headers and body of a block that encode_http_response made, the views into it. REQUIRES:
// such a block.
struct ResponseView {
  std::uint16_t status = 0;
  std::vector<HeaderView> headers;
  std::string_view body;
};
ResponseView decode_http_response(std::string_view message);

}  // namespace entitable::rest
