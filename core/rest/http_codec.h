// The binary encoding of one HTTP request or response as a message. JavaScript and the core
// exchange these messages.
//
// A message is a head of fixed size, then the lengths of the headers, then the texts and the body.
// All numbers are little-endian; lengths are in bytes (`headers`: a count). Texts are octets as in
// HTTP, in no particular character encoding.
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
// `version` is 1. `flags` is a sum: 1 if the request is trusted, 2 if its body is pending (http.h).
// The first byte distinguishes these messages from RPC messages (core/rpc/LAYOUT.md), so that both
// kinds can wait in one queue. Messages are never stored. web/src/rest/http-message.ts is the other
// side.
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
  std::string_view id;  // RequestContext::id
};

// Returns whether the first byte is that of an HTTP request message. Checks nothing else.
bool is_http_request_message(std::string_view message);

// Returns views into `message`. Returns nothing if the message is malformed: lengths that do not
// fit, another version, or bytes left over. Only a bug in the package can send such a message.
std::optional<HttpRequestMessage> decode_http_request(std::string_view message);

std::string encode_http_response(const Response& response);

// A decoded response, as views into its message.
struct ResponseView {
  std::uint16_t status = 0;
  std::vector<HeaderView> headers;
  std::string_view body;
};
// REQUIRES: encode_http_response made `message`.
ResponseView decode_http_response(std::string_view message);

}  // namespace entitable::rest
