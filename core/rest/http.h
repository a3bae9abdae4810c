// HTTP requests and responses as plain data. Nothing here is parsed yet, and nothing is copied:
// a Request looks at bytes owned by the caller.
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
  std::string_view method;  // as sent: an overriding X-HTTP-Method is among the headers
  // Absolute, raw, still percent-encoded: "http://127.0.0.1:10002/devstoreaccount1/Tables?$top=1".
  std::string_view url;
  std::vector<HeaderView> headers;
  std::string_view body;
  std::string_view client_ip;  // empty: there is no network between client and store
  // Comes from the code that opened the store, not from a client: it may do everything, whichever
  // account it names.
  bool trusted = false;
};

struct Header {
  std::string_view name;  // a literal
  std::string value;
  friend bool operator==(const Header&, const Header&) = default;
};

struct Response {
  std::uint16_t status = 0;
  std::string reason;  // one line
  std::vector<Header> headers;
  std::string body;
  RowCounts rows = {};  // what a read of entities took; not sent
};

// What the core may not find out for itself.
struct RequestContext {
  Ticks now = 0;
  std::string_view id;  // 16 random bytes of this request: its id, and its multipart boundaries
};

// The value of a header, names without regard to case; blanks around it are left out. The first
// one if there are several.
std::optional<std::string_view> header(const Request& request, std::string_view name);
std::size_t count_headers(const Request& request, std::string_view name);

bool equal_letters_ignoring_case(std::string_view a,
                                 std::string_view b);  // REQUIRES: of equal size
inline bool equal_ignoring_case(std::string_view a, std::string_view b) {  // ASCII
  return a.size() == b.size() && equal_letters_ignoring_case(a, b);
}

}  // namespace entitable::rest
