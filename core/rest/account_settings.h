// The storage account that the REST entry point serves, and how strictly it checks requests. The
// host sets it when it opens the store.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace entitable::rest {

// HMAC-SHA256: returns 32 bytes. The host supplies the function from a library.
using Hmac = std::function<std::string(std::string_view key, std::string_view message)>;

struct Account {
  std::string name = "devstoreaccount1";
  std::vector<std::string> keys;  // decoded; a signature by any of them is valid
  Hmac hmac;                      // required if `authorize` is set

  // If false, every operation is permitted and credentials are ignored.
  bool authorize = false;
  // Accepts bearer tokens (bearer_token.h) over HTTPS. For development, because the signatures of
  // tokens are not verified.
  bool bearer_tokens = false;
  // Rejects an x-ms-version that the service does not know. Off by default, so that clients of
  // later versions can connect.
  bool strict_versions = false;
  // Rejects a Shared Key request whose date is more than 15 minutes off.
  bool strict_dates = false;
  // Rejects a $filter with more than 15 comparisons, the documented limit (limits.h).
  bool limit_comparisons = false;
  // If there are no CORS rules, behaves as if one rule allowed everything. For development.
  bool permissive_cors = false;
};

}  // namespace entitable::rest
