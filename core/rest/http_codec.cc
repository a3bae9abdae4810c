#include "core/rest/http_codec.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/bytes.h"

namespace entitable::rest {
namespace {

constexpr std::size_t header_lengths_bytes = 8;
constexpr std::size_t response_head_bytes = 16;
constexpr std::uint16_t flag_trusted = 1;
constexpr std::uint16_t flag_body_pending = 2;

std::uint32_t length(std::string_view text) {
  return static_cast<std::uint32_t>(text.size());
}

std::vector<HeaderView> take_headers(ByteReader& lengths, ByteReader& text, std::size_t count) {
  std::vector<HeaderView> headers;
  headers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t name = lengths.u32();
    const std::uint32_t value = lengths.u32();
    headers.push_back(HeaderView{text.raw(name), text.raw(value)});
  }
  return headers;
}

}  // namespace

bool is_http_request_message(std::string_view message) {
  return !message.empty() && static_cast<std::uint8_t>(message.front()) == http_request_kind;
}

std::optional<HttpRequestMessage> decode_http_request(std::string_view message) {
  ByteReader in(message);
  const bool known = in.u8() == http_request_kind && in.u8() == http_message_version;
  const std::uint16_t flags = in.u16();
  const bool known_flags = (flags & ~(flag_trusted | flag_body_pending)) == 0;
  const std::uint32_t method = in.u32();
  const std::uint32_t url = in.u32();
  const std::uint32_t client_ip = in.u32();
  const std::uint32_t body = in.u32();
  const std::uint32_t count = in.u32();
  HttpRequestMessage out;
  out.id = in.raw(request_id_bytes);
  if (!in.ok() || !known || !known_flags) return std::nullopt;
  if (count > in.remaining() / header_lengths_bytes) return std::nullopt;

  out.request.trusted = (flags & flag_trusted) != 0;
  out.request.body_pending = (flags & flag_body_pending) != 0;
  ByteReader lengths(in.raw(count * header_lengths_bytes));
  out.request.method = in.raw(method);
  out.request.url = in.raw(url);
  out.request.client_ip = in.raw(client_ip);
  out.request.headers = take_headers(lengths, in, count);
  out.request.body = in.raw(body);
  if (!in.ok() || !in.at_end()) return std::nullopt;
  return out;
}

std::string encode_http_response(const Response& response) {
  std::size_t size = response_head_bytes + header_lengths_bytes * response.headers.size() +
                     response.reason.size() + response.body.size();
  for (const Header& header : response.headers) size += header.name.size() + header.value.size();
  std::string bytes;
  bytes.reserve(size);
  ByteWriter out(bytes);
  out.u8(http_response_kind);
  out.u8(http_message_version);
  out.u16(response.status);
  out.u32(length(response.reason));
  out.u32(length(response.body));
  out.u32(static_cast<std::uint32_t>(response.headers.size()));
  for (const Header& header : response.headers) {
    out.u32(length(header.name));
    out.u32(length(header.value));
  }
  out.raw(response.reason);
  for (const Header& header : response.headers) {
    out.raw(header.name);
    out.raw(header.value);
  }
  out.raw(response.body);
  return bytes;
}

ResponseView decode_http_response(std::string_view message) {
  ByteReader in(message);
  ResponseView out;
  in.u8();
  in.u8();
  out.status = in.u16();
  const std::uint32_t reason = in.u32();
  const std::uint32_t body = in.u32();
  const std::size_t count = std::min<std::size_t>(in.u32(), in.remaining() / header_lengths_bytes);
  ByteReader lengths(in.raw(count * header_lengths_bytes));
  in.raw(reason);
  out.headers = take_headers(lengths, in, count);
  out.body = in.raw(body);
  return out;
}

}  // namespace entitable::rest
