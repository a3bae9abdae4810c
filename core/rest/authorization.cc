#include "core/rest/authorization.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "core/rest/bearer_token.h"
#include "core/rest/http_date.h"
#include "core/rest/percent_encoding.h"
#include "core/rest/signature.h"

namespace entitable::rest {
namespace {

// ---- Permissions of each action -----------------------------------------------------------------

// The permissions that a SAS needs for an action, as letters. All of them are needed.
struct Rule {
  AccessKind action;
  std::string_view table_sas;     // in a table SAS; empty: it allows none but a batch
  std::string_view account_sas;   // in an account SAS; empty: no permission is needed
  char resource_type;             // in an account SAS: service, container (table), object (entity)
  std::string_view instead = {};  // in an account SAS: a permission that suffices too
};

constexpr Rule rules_by_action[] = {
    {AccessKind::read_entities, "r", "r", 'o'}, {AccessKind::insert, "a", "a", 'o'},
    {AccessKind::upsert, "au", "au", 'o'},      {AccessKind::update, "u", "u", 'o'},
    {AccessKind::remove, "d", "d", 'o'},        {AccessKind::batch, "", "", 'o'},
    {AccessKind::read_tables, "", "l", 'c'},    {AccessKind::create_table, "", "c", 'c', "w"},
    {AccessKind::drop_table, "", "d", 'c'},     {AccessKind::table_acl, "", "", 'c'},
    {AccessKind::read_service, "", "r", 's'},   {AccessKind::write_service, "", "w", 's'},
};

constexpr bool is_complete() {
  for (std::size_t i = 0; i < std::size(rules_by_action); ++i) {
    if (static_cast<std::size_t>(rules_by_action[i].action) != i) return false;
  }
  return std::size(rules_by_action) == static_cast<std::size_t>(AccessKind::write_service) + 1;
}
static_assert(is_complete(), "one line for each action, in their order");

bool has_all(std::string_view permissions, std::string_view needed) {
  return std::all_of(needed.begin(), needed.end(), [&](char letter) {
    return permissions.find(letter) != std::string_view::npos;
  });
}

bool has(std::string_view letters, char letter) {
  return letters.find(letter) != std::string_view::npos;
}

Result<void> check_table_sas(const SasGrant& grant, const Rule& rule,
                             const RequiredAccess& required_access) {
  if (rule.action == AccessKind::batch) return {};
  if (rule.table_sas.empty()) return Error(ErrorCode::authorization_failure);
  if (!equal_ignoring_case(grant.table, required_access.table))
    return Error(ErrorCode::authorization_failure);
  if (!has_all(grant.permissions, rule.table_sas)) return Error(ErrorCode::permission_mismatch);
  if (required_access.key.has_value() && !grant.keys.contains(*required_access.key)) {
    return Error(ErrorCode::authorization_failure);
  }
  return {};
}

Result<void> check_account_sas(const SasGrant& grant, const Rule& rule) {
  if (rule.action == AccessKind::table_acl) return Error(ErrorCode::authorization_failure);
  if (!has(grant.services, 't')) return Error(ErrorCode::service_mismatch);
  if (!has(grant.resource_types, rule.resource_type))
    return Error(ErrorCode::resource_type_mismatch);
  const bool instead = !rule.instead.empty() && has_all(grant.permissions, rule.instead);
  if (!instead && !has_all(grant.permissions, rule.account_sas)) {
    return Error(ErrorCode::permission_mismatch);
  }
  return {};
}

// ---- Shared Key ---------------------------------------------------------------------------------

Error failed() {
  return Error(ErrorCode::authentication_failed);
}

struct Credentials {
  bool lite = false;
  std::string_view account;
  std::string_view signature;
};

// Parses an Authorization header "SharedKey account:signature".
Result<Credentials> parse_credentials(std::string_view text) {
  const std::size_t space = text.find(' ');
  const std::string_view scheme = text.substr(0, space);
  const bool lite = equal_ignoring_case(scheme, "SharedKeyLite");
  const std::size_t colon = text.find(':');
  if ((!lite && !equal_ignoring_case(scheme, "SharedKey")) || colon == std::string_view::npos ||
      colon <= space + 1 || colon + 1 == text.size() ||
      text.find(' ', space + 1) != std::string_view::npos) {
    return Error(ErrorCode::invalid_authentication_info);
  }
  return Credentials{lite, text.substr(space + 1, colon - space - 1), text.substr(colon + 1)};
}

bool is_date_good(const Account& account, std::string_view date, Ticks now) {
  constexpr Ticks minutes_15 = Ticks{15} * 60 * 1000 * ticks_per_millisecond;
  const auto ticks = parse_http_date(date);
  if (!ticks.has_value()) return false;
  return !account.strict_dates || (*ticks - now <= minutes_15 && now - *ticks <= minutes_15);
}

// Returns the value of `comp`, decoded as for routing. Otherwise a differently encoded `comp` could
// select an operation that was not signed.
std::optional<std::string> comp_of(std::string_view query) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (percent_decode(pair.substr(0, equals)) != "comp") continue;
    return percent_decode(pair.substr(std::min(equals + 1, pair.size())));
  }
  return std::nullopt;
}

// Returns "/account/…" for "/account-secondary/…", or nothing for any other path.
std::optional<std::string> primary_path(std::string_view path, const std::string& account) {
  const std::string secondary = "/" + account + "-secondary";
  if (path.substr(0, secondary.size()) != secondary) return std::nullopt;
  const std::string_view rest = path.substr(secondary.size());
  if (!rest.empty() && rest.front() != '/') return std::nullopt;
  return "/" + account + std::string(rest);
}

bool is_signed_by_key(const Account& account, const Credentials& credentials,
                      const SharedKeyParts& parts) {
  const std::string text =
      credentials.lite ? shared_key_lite_string_to_sign(parts) : shared_key_string_to_sign(parts);
  return std::any_of(account.keys.begin(), account.keys.end(), [&](const std::string& key) {
    return equal_in_constant_time(credentials.signature, sign(account.hmac, key, text));
  });
}

Result<void> check_shared_key(const Account& account, const Request& request,
                              const ResourceUri& uri, std::string_view authorization, Ticks now) {
  const auto credentials = parse_credentials(authorization);
  if (!credentials.ok()) return credentials.error();
  auto date = find_header(request, "x-ms-date");
  if (!date.has_value()) date = find_header(request, "Date");
  if (credentials->account != account.name || !is_date_good(account, date.value_or(""), now)) {
    return failed();
  }
  SharedKeyParts parts;
  parts.method = request.method;
  parts.content_md5 = find_header(request, "Content-MD5").value_or("");
  parts.content_type = find_header(request, "Content-Type").value_or("");
  parts.date = *date;
  parts.account = account.name;
  parts.raw_path = uri.raw_path;
  parts.comp = comp_of(uri.raw_query);
  if (is_signed_by_key(account, *credentials, parts)) return {};
  // Some clients send a request to the secondary location but sign the primary's URL.
  const auto primary = primary_path(uri.raw_path, account.name);
  if (!primary.has_value()) return failed();
  parts.raw_path = *primary;
  if (is_signed_by_key(account, *credentials, parts)) return {};
  return failed();
}

// ---- Bearer tokens ------------------------------------------------------------------------------

// Returns whether the request came over HTTPS, or not over a network.
bool is_secure(const Request& request, const ResourceUri& uri) {
  return uri.https || request.client_ip.empty();
}

// Returns the token of an Authorization header "Bearer token", or nothing for another scheme.
std::optional<std::string_view> bearer_token_of(std::string_view authorization) {
  const std::size_t space = std::min(authorization.find(' '), authorization.size());
  if (!equal_ignoring_case(authorization.substr(0, space), "Bearer")) return std::nullopt;
  return authorization.substr(std::min(space + 1, authorization.size()));
}

Result<GrantedAccess> access_by_token(const Account& account, const Request& request,
                                      const ResourceUri& uri, std::string_view token, Ticks now) {
  if (!account.bearer_tokens) return failed();
  if (!is_secure(request, uri))
    return bearer_token_error("Authentication scheme Bearer is not allowed with HTTP.");
  if (const auto valid = check_bearer_token(token, account.name, now); !valid.ok())
    return valid.error();
  return GrantedAccess::by_bearer_token();
}

// ---- The Authorization header or a SAS ----------------------------------------------------------

Result<GrantedAccess> access_by_header(const Account& account, const Request& request,
                                       const ResourceUri& uri, Ticks now) {
  if (count_headers(request, "Authorization") > 1) {
    return Error(ErrorCode::invalid_authentication_info);
  }
  const std::string_view authorization = find_header(request, "Authorization").value_or("");
  if (const auto token = bearer_token_of(authorization); token.has_value())
    return access_by_token(account, request, uri, *token, now);
  const auto checked = check_shared_key(account, request, uri, authorization, now);
  if (!checked.ok()) return checked.error();
  return GrantedAccess();
}

std::optional<AccessPolicy> find_policy(const Store& store, std::string_view table,
                                        std::string_view id) {
  const auto policies = store.table_acl(table);
  if (!policies.ok()) return std::nullopt;
  const auto at = std::find_if(policies->begin(), policies->end(),
                               [&](const AccessPolicy& policy) { return policy.id == id; });
  if (at == policies->end()) return std::nullopt;
  return *at;
}

Result<GrantedAccess> authenticate(const Account& account, const Store& store,
                                   const Request& request, const ResourceUri& uri, Ticks now) {
  if (uri.account != account.name) return failed();
  if (count_headers(request, "Authorization") > 0)
    return access_by_header(account, request, uri, now);
  const auto grant = [&](bool plus_is_space) -> Result<SasGrant> {
    const auto fields = parse_sas_fields(uri.raw_query, plus_is_space);
    if (!fields.ok()) return fields.error();
    if (!fields->has_value()) return failed();
    return verify_sas(
        **fields, account,
        [&](std::string_view table, std::string_view id) { return find_policy(store, table, id); },
        {now, is_secure(request, uri), request.client_ip});
  };
  // Some clients encode a space in the query as '+', others leave a plus sign unencoded. The
  // signature is only valid for the client's meaning, so try both.
  auto granted = grant(false);
  if (!granted.ok() && granted.error().code == ErrorCode::authentication_failed &&
      uri.raw_query.find('+') != std::string_view::npos) {
    granted = grant(true);
  }
  if (!granted.ok()) return granted.error();
  return GrantedAccess(std::move(*granted));
}

}  // namespace

Result<void> GrantedAccess::check(const RequiredAccess& required_access) const {
  if (by_bearer_token_ && required_access.action == AccessKind::table_acl)
    return Error(ErrorCode::authorization_failure);
  if (!grant_.has_value()) return {};
  const Rule& rule = rules_by_action[static_cast<std::size_t>(required_access.action)];
  return grant_->whole_account ? check_account_sas(*grant_, rule)
                               : check_table_sas(*grant_, rule, required_access);
}

Filter GrantedAccess::restrict_filter(Filter filter) const {
  return grant_.has_value() ? grant_->keys.restrict_filter(std::move(filter)) : filter;
}

Result<GrantedAccess> authorize(const Account& account, const Store& store, const Request& request,
                                const ResourceUri& uri, Ticks now,
                                const RequiredAccess& required_access) {
  if (!account.authorize || request.trusted) return GrantedAccess();
  Result<GrantedAccess> access = authenticate(account, store, request, uri, now);
  if (!access.ok()) return access;
  if (const auto checked = access->check(required_access); !checked.ok()) return checked.error();
  return access;
}

}  // namespace entitable::rest
