// Shared access signatures (SAS): parses and verifies them, and returns what they allow.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/filter/ast.h"
#include "core/model/commit.h"
#include "core/model/key.h"
#include "core/rest/account_settings.h"
#include "core/rest/signature.h"

namespace entitable::rest {

// The keys that a SAS allows, both ends included. first_row only applies in first_partition, and
// last_row only in last_partition; all rows of partitions in between are allowed. An empty string
// means no bound.
struct SasKeyRange {
  std::string first_partition, first_row;
  std::string last_partition, last_row;

  bool is_unbounded() const { return first_partition.empty() && last_partition.empty(); }
  bool contains(const KeyView& key) const;
  // Returns `filter`, restricted to these keys.
  Filter restrict_filter(Filter filter) const;
};

// What a verified SAS allows.
struct SasGrant {
  bool whole_account = false;  // true: an account SAS; false: a table SAS
  std::string table;           // of a table SAS: the table, as spelled in the SAS
  std::string permissions;     // one letter each
  std::string services;        // of an account SAS: one letter each
  std::string resource_types;  // of an account SAS: one letter each
  SasKeyRange keys;            // of a table SAS
};

// The circumstances of a request that a SAS may restrict.
struct SasRequestContext {
  Ticks now = 0;
  bool secure = false;         // the request came over HTTPS, or not over a network
  std::string_view client_ip;  // empty: the request did not come over a network
};

// Returns a table's stored access policy with that id, or nothing if there is none.
using FindPolicy =
    std::function<std::optional<AccessPolicy>(std::string_view table, std::string_view id)>;

// Returns the percent-decoded fields of a SAS in a query string, or nothing if there is no `sig`.
// `plus_is_space`: decodes '+' to a space, as in forms. `sig` never contains spaces, so they become
// '+' again. AuthenticationFailed: a field occurs twice, has malformed escapes, is not WTF-8 or
// contains control characters.
Result<std::optional<SasFields>> parse_sas_fields(std::string_view raw_query,
                                                  bool plus_is_space = false);

// Verifies a SAS and returns what it allows. Errors, in this order: AuthenticationFailed (a missing
// or malformed field, a wrong signature, outside of the valid time, an unknown policy, or a value
// that both the policy and the SAS give), AuthorizationProtocolMismatch,
// AuthorizationSourceIPMismatch.
Result<SasGrant> verify_sas(const SasFields& fields, const Account& account,
                            const FindPolicy& find_policy, const SasRequestContext& caller);

}  // namespace entitable::rest
