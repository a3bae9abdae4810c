// Shared access signatures: reading them, finding out whether they hold, and what they allow.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/filter/ast.h"
#include "core/model/commit.h"
#include "core/model/key.h"
#include "core/rest/account.h"
#include "core/rest/signature.h"

namespace entitable::rest {

// The keys that a signature allows, both ends included. A row key only bounds the partition of its
// own end; those between are allowed whole. Empty: no bound.
struct SasKeyRange {
  std::string first_partition, first_row;
  std::string last_partition, last_row;

  bool is_all() const { return first_partition.empty() && last_partition.empty(); }
  bool contains(const KeyView& key) const;
  // The filter, for these keys only.
  Filter restrict_filter(Filter filter) const;
};

struct SasGrant {
  bool whole_account = false;  // an account SAS; else that of one table
  std::string table;           // as it is spelled there
  std::string permissions;
  std::string services;        // of an account SAS
  std::string resource_types;  // the same
  SasKeyRange keys;
};

// Who asks, and when.
struct SasCaller {
  Ticks now = 0;
  bool secure = false;         // HTTPS, or there is no network
  std::string_view client_ip;  // empty: there is no network
};

// The stored access policy of a table.
using FindPolicy =
    std::function<std::optional<AccessPolicy>(std::string_view table, std::string_view id)>;

// The fields in a raw query, percent-decoded. A '+' is itself, or a blank as in forms; a space in
// `sig` is always a '+'.
// Nothing if there is no `sig`. AuthenticationFailed: a field twice, or one that is no UTF-8 or
// holds control characters.
Result<std::optional<SasFields>> parse_sas_fields(std::string_view raw_query,
                                                  bool plus_is_space = false);

// In this order: AuthenticationFailed (a field that is missing or malformed, the signature, the
// time, an unknown policy, a field given by both the policy and the signature),
// AuthorizationProtocolMismatch, AuthorizationSourceIPMismatch.
Result<SasGrant> verify_sas(const SasFields& fields, const Account& account,
                            const FindPolicy& find_policy, const SasCaller& caller);

}  // namespace entitable::rest
