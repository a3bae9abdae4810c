// May this request do that? Finds out who asks (Shared Key, Shared Key Lite, a shared access
// signature of a table or of the account), and what they may.
//
//   Result<Access> access = authorize(account, store, request, uri, now, need);
//   if (!access.ok()) return refuse(access.error());
//   query.filter = access->cut(std::move(query.filter));
//
// A batch is authorized as `batch`, and each of its operations by Access::check.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "core/filter/ast.h"
#include "core/model/key.h"
#include "core/rest/account.h"
#include "core/rest/http.h"
#include "core/rest/sas.h"
#include "core/rest/uri.h"
#include "core/store/store.h"

namespace entitable::rest {

enum class Action : std::uint8_t {
  read_entities,  // one or a query
  insert,
  upsert,  // insert or replace, insert or merge
  update,  // replace, merge
  remove,
  batch,  // nothing by itself
  read_tables,
  create_table,
  drop_table,
  table_acl,     // get or set
  read_service,  // properties, stats
  write_service,
};

struct RequiredAccess {
  Action action;
  std::string_view table = {};      // of entities: as the URL spells it
  std::optional<KeyView> key = {};  // of one entity
};

// What whoever asks may do.
class Access {
 public:
  Access() = default;  // everything
  explicit Access(SasGrant grant) : grant_(std::move(grant)) {}

  // In this order: AuthenticationFailed (a signature for another table), AuthorizationFailure (what
  // no such signature allows), AuthorizationServiceMismatch, AuthorizationResourceTypeMismatch,
  // AuthorizationPermissionMismatch, AuthorizationFailure (the key is outside of the range).
  Result<void> check(const RequiredAccess& required_access) const;

  // The filter of a query, cut to the keys that may be read.
  Filter restrict_filter(Filter filter) const;

 private:
  std::optional<SasGrant> grant_;  // nothing: everything
};

// Everything if the account does not authorize, or the request is trusted. An Authorization header
// counts before a signature in the URL.
//
// InvalidAuthenticationInfo: a malformed Authorization header. AuthenticationFailed: no or wrong
// credentials, another account, a date that is none or (strict_dates) more than 15 minutes off.
// Those of verify_sas and of Access::check.
Result<Access> authorize(const Account& account, const Store& store, const Request& request,
                         const Uri& uri, Ticks now, const RequiredAccess& required_access);

}  // namespace entitable::rest
