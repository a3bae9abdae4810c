#include "core/model/access_policy.h"

#include <set>

#include "core/base/utf8.h"
#include "core/model/limits.h"

namespace entitable {
namespace {

bool is_in_range(const std::optional<Ticks>& ticks) {
  return !ticks.has_value() || is_date_time_in_range(*ticks);
}

}  // namespace

bool is_policy_permission(std::string_view text) {
  std::string_view left = "raud";
  for (const char c : text) {
    const std::size_t at = left.find(c);
    if (at == std::string_view::npos) return false;
    left.remove_prefix(at + 1);
  }
  return true;
}

std::optional<PolicyViolation> check_policies(const std::vector<AccessPolicy>& policies) {
  constexpr ErrorCode bad_document = ErrorCode::invalid_xml_document;
  constexpr ErrorCode bad_value = ErrorCode::invalid_xml_node_value;
  if (policies.size() > limits::access_policies_max) {
    return PolicyViolation{bad_document, "there are too many access policies"};
  }
  std::set<std::string_view> ids;
  for (const AccessPolicy& policy : policies) {
    if (policy.id.empty()) return PolicyViolation{bad_document, "an access policy has an empty id"};
    if (!is_wtf8(policy.id)) {
      return PolicyViolation{bad_document, "the id of an access policy is not valid text"};
    }
    if (utf16_length(policy.id) > limits::access_policy_id_units_max) {
      return PolicyViolation{bad_value, "the id of an access policy is too long"};
    }
    if (!ids.insert(policy.id).second) {
      return PolicyViolation{bad_document, "two access policies have the same id"};
    }
    if (!is_in_range(policy.start) || !is_in_range(policy.expiry)) {
      return PolicyViolation{bad_value, "a date of an access policy is out of range"};
    }
    if (!is_policy_permission(policy.permission.value_or(""))) {
      return PolicyViolation{bad_value, "the permission of an access policy is not allowed"};
    }
  }
  return std::nullopt;
}

}  // namespace entitable
