// Stored access policies of a table, and the rules that they obey. The entry points and the
// decoders of stored files apply the same rules.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/model/date_time.h"

namespace entitable {

// A stored access policy, set by Set Table ACL. Absent fields stay absent.
struct AccessPolicy {
  std::string id;
  std::optional<Ticks> start;
  std::optional<Ticks> expiry;
  std::optional<std::string> permission;
  friend bool operator==(const AccessPolicy&, const AccessPolicy&) = default;
};

// Returns whether the text consists of letters of "raud" in this order, each at most once.
bool is_policy_permission(std::string_view text);

struct PolicyViolation {
  ErrorCode code;      // the service's error
  const char* reason;  // a literal that names the field
};

// Returns the first violated rule of a table's policies, or nothing. The rules: at most
// access_policies_max policies; ids are WTF-8, not empty, unique, and at most
// access_policy_id_units_max long; dates are in the DateTime range; is_policy_permission().
std::optional<PolicyViolation> check_policies(const std::vector<AccessPolicy>& policies);

}  // namespace entitable
