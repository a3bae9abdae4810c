// Authorization: verifies the credentials of a request (Shared Key, Shared Key Lite, a bearer
// token, or a shared access signature (SAS) of a table or an account) and returns the access that
// they grant.
//
//   Result<Access> access = authorize(account, store, request, uri, now, required_access);
//   if (!access.ok()) return make_error_response(access.error());
//   query.filter = access->restrict_filter(std::move(query.filter));
//
// A batch is authorized for AccessKind::batch; then GrantedAccess::check authorizes each of its
// operations.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "core/filter/ast.h"
#include "core/model/key.h"
#include "core/rest/account_settings.h"
#include "core/rest/http.h"
#include "core/rest/resource_uri.h"
#include "core/rest/sas.h"
#include "core/store/store.h"

namespace entitable::rest {

enum class AccessKind : std::uint8_t {
  read_entities,  // get one entity, or query
  insert,
  upsert,  // insert or replace, insert or merge
  update,  // replace, merge
  remove,
  batch,  // the $batch request itself; its operations are checked one by one
  read_tables,
  create_table,
  drop_table,
  table_acl,     // get or set
  read_service,  // properties, stats
  write_service,
};

struct RequiredAccess {
  AccessKind action;
  std::string_view table = {};      // as the URL spells it; empty if the URL names no table
  std::optional<KeyView> key = {};  // if the action is on one entity
};

// The access that a caller has.
class GrantedAccess {
 public:
  GrantedAccess() = default;  // may do everything
  explicit GrantedAccess(SasGrant grant) : grant_(std::move(grant)) {}
  // May do everything except for stored access policies.
  static GrantedAccess by_bearer_token() {
    GrantedAccess access;
    access.by_bearer_token_ = true;
    return access;
  }

  // Returns an error if the caller may not do this. For a table SAS, in this order:
  // AuthorizationFailure (no table SAS can allow the action, or the SAS is for another table),
  // AuthorizationPermissionMismatch, AuthorizationFailure (the key is outside of
  // the range). For an account SAS, in this order: AuthorizationFailure (no account SAS can allow
  // the action), AuthorizationServiceMismatch, AuthorizationResourceTypeMismatch,
  // AuthorizationPermissionMismatch. For a bearer token: AuthorizationFailure (stored access
  // policies).
  Result<void> check(const RequiredAccess& required_access) const;

  // Returns `filter` restricted to the keys that the caller may read.
  Filter restrict_filter(Filter filter) const;

 private:
  std::optional<SasGrant> grant_;  // nothing: no SAS restricts the access
  bool by_bearer_token_ = false;
};

// Returns the access that the request's credentials grant. Grants everything if the account does
// not authorize or the request is trusted. An Authorization header takes precedence over a SAS in
// the URL.
//
// InvalidAuthenticationInfo: a malformed Authorization header. AuthenticationFailed: no or wrong
// credentials, another account, an invalid date, or (strict_dates) one more than 15 minutes off.
// Also returns the errors of verify_sas and GrantedAccess::check.
Result<GrantedAccess> authorize(const Account& account, const Store& store, const Request& request,
                                const ResourceUri& uri, Ticks now,
                                const RequiredAccess& required_access);

}  // namespace entitable::rest
