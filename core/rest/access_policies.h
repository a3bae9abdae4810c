// The XML document of Get and Set Table ACL. It holds a table's stored access policies
// (AccessPolicy in core/model/commit.h):
//
//   <SignedIdentifiers><SignedIdentifier><Id>p</Id><AccessPolicy>
//     <Start>…</Start><Expiry>…</Expiry><Permission>raud</Permission>
//   </AccessPolicy></SignedIdentifier></SignedIdentifiers>
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/commit.h"

namespace entitable::rest {

// Returns the policies. Empty Start, Expiry and Permission elements count as absent. An empty body
// is an empty list.
//
// InvalidXmlDocument: another document, more than 5 policies, or an Id that is missing or not
// unique. InvalidXmlNodeValue: an Id of more than 64 UTF-16 units, or an invalid date or
// permission.
Result<std::vector<AccessPolicy>> parse_access_policies(std::string_view body);

// Returns the document. parse_access_policies() parses it to the same policies.
std::string access_policies_document(const std::vector<AccessPolicy>& policies);

// Parses a date of a policy or of a shared access signature. The form is yyyy-mm-dd, or yyyy-mm-dd
// followed by a time (Thh:mm, Thh:mm:ss or Thh:mm:ss.f with 1 to 7 digits) and a time zone (Z or
// ±hh:mm). Returns nothing for any other form.
std::optional<Ticks> parse_policy_date(std::string_view text);

}  // namespace entitable::rest
