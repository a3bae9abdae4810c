// The account that a store answers for, and how strict it is. Set once, by whoever opens the door.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace entitable::rest {

// HMAC-SHA256: 32 bytes. Given in, since cryptography is a library's business.
using Hmac = std::function<std::string(std::string_view key, std::string_view message)>;

struct Account {
  std::string name = "devstoreaccount1";
  std::vector<std::string> keys;  // decoded; a signature by any of them is good
  Hmac hmac;                      // needed if `authorize`

  // Off: every request may do everything, and credentials are not looked at.
  bool authorize = false;
  // Refuse what the service would but future clients may need: versions that are not known.
  bool strict_versions = false;
  // Refuse a Shared Key request whose date is more than 15 minutes off.
  bool strict_dates = false;
  // Refuse a $filter of more than 15 comparisons, as documented (limits.h).
  bool limit_comparisons = false;
  // Answer CORS as if one rule allowed everything when there are no rules: for development.
  bool permissive_cors = false;
};

}  // namespace entitable::rest
