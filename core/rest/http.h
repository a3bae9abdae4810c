// HTTP requests and responses as plain data. A Request views bytes that the caller owns; its URL,
// header values and body are not parsed yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/date_time.h"
#include "core/query/query.h"

namespace entitable::rest {

struct HeaderView {
  std::string_view name;
  std::string_view value;
};

struct Request {
  // As sent. If an X-HTTP-Method header overrides the method, it is still among `headers`.
  std::string_view method;
  // Absolute and still percent-encoded: "http://127.0.0.1:10002/devstoreaccount1/Tables?$top=1".
  std::string_view url;
  std::vector<HeaderView> headers;
  std::string_view body;
  std::string_view client_ip;  // empty: the request did not come over a network
  // True if the request comes from the code that opened the store. Then it is authorized for
  // everything, whatever account its URL names.
  bool trusted = false;
  // True if the body has not been received yet; `body` is then empty. The request only gets a final
  // response if that response does not depend on the body (request_handler.h).
  bool body_pending = false;
};

struct Header {
  std::string_view name;  // views a string literal
  std::string value;
  friend bool operator==(const Header&, const Header&) = default;
};

struct Response {
  std::uint16_t status = 0;
  std::string reason;  // the reason phrase, without line ends
  std::vector<Header> headers;
  std::string body;
  RowCounts rows = {};  // rows that a read of entities examined and returned; not sent
};

// Values that the host supplies, because the core reads no clock and makes no random choice.
struct RequestContext {
  Ticks now = 0;
  // 16 random bytes. The request's id and the boundaries of a batch response are made from them.
  std::string_view id;
};

// Returns the text without spaces and tabs at its ends.
std::string_view without_blanks(std::string_view text);

// Returns the value of the first header of that name, without blanks around it. Case of the name
// does not matter.
std::optional<std::string_view> find_header(const Request& request, std::string_view name);
// Returns how many headers have that name.
std::size_t count_headers(const Request& request, std::string_view name);

// The slow part of equal_ignoring_case. REQUIRES: a.size() == b.size().
bool equal_ignoring_case_slow(std::string_view a, std::string_view b);
// Returns whether both are equal if the case of ASCII letters is ignored.
inline bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && equal_ignoring_case_slow(a, b);
}

}  // namespace entitable::rest
