// The stored access policies of a table as the document of Get and Set Table ACL:
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

// Start, Expiry and Permission may be absent or empty, which is the same. An empty body is an empty
// list.
//
// InvalidXmlDocument: not this document, more than 5 policies, an Id that is missing or there
// twice. InvalidXmlNodeValue: an Id of more than 64 units, a date or a permission that is none.
Result<std::vector<AccessPolicy>> parse_access_policies(std::string_view body);

std::string access_policies_document(const std::vector<AccessPolicy>& policies);

// Dates of policies and of shared access signatures: yyyy-mm-dd, or with Thh:mm, Thh:mm:ss or
// Thh:mm:ss.f (1 to 7 digits) and then a time zone, Z or ±hh:mm. Nothing for any other form.
std::optional<Ticks> parse_policy_date(std::string_view text);

}  // namespace entitable::rest
