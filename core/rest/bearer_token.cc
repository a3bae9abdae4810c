#include "core/rest/bearer_token.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>

#include "core/base/base64.h"
#include "core/base/number_text.h"
#include "core/json/object_parser.h"
#include "core/model/service_error.h"

namespace entitable::rest {
namespace {

constexpr std::string_view issuers[] = {
    "https://sts.windows.net/", "https://sts.microsoftonline.de/", "https://sts.chinacloudapi.cn/",
    "https://sts.windows-ppe.net"};

// Audiences for every account: the service's address, and its application id.
constexpr std::string_view storage_audience = "https://storage.azure.com";
constexpr std::string_view storage_application = "e406a681-f3d4-42a8-90b6-c2b029497af1";

// Audiences for one account: its address, with one of these after the account's name.
constexpr std::string_view account_suffixes[] = {
    ".table.core.windows.net", ".table.core.chinacloudapi.cn", ".table.core.usgovcloudapi.net",
    ".table.core.cloudapi.de"};

Error not_a_token() {
  return bearer_token_error("Authentication scheme Bearer is not supported.");
}

// Decodes one part of a token: base64 text in the URL-safe alphabet, without padding.
std::optional<std::string> decode_part(std::string_view text) {
  if (text.empty() || text.find('=') != std::string_view::npos) return std::nullopt;
  std::string padded(text);
  while (padded.size() % 4 != 0) padded.push_back('=');
  return base64url_decode(padded);
}

struct Claims {
  std::optional<double> not_before, expiry, issued_at;  // seconds since 1970
  std::string issuer, audience;
};

// Returns the claims of a token "header.payload.signature", or nothing if it is malformed. If a
// claim occurs twice, the last one counts.
std::optional<Claims> parse_claims(std::string_view token) {
  const std::size_t first = std::min(token.find('.'), token.size());
  const std::size_t second = token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos)
    return std::nullopt;
  const auto header = decode_part(token.substr(0, first));
  const auto payload = decode_part(token.substr(first + 1, second - first - 1));
  if (!header.has_value() || !payload.has_value() || !json::parse_object(*header).ok())
    return std::nullopt;
  const Result<json::Object> object = json::parse_object(*payload);
  if (!object.ok()) return std::nullopt;
  Claims claims;
  for (const json::Member& member : object->members) {
    const auto number = member.kind == json::ValueKind::number ? parse_double(member.text)
                                                               : std::optional<double>();
    if (member.name == "nbf") claims.not_before = number;
    if (member.name == "exp") claims.expiry = number;
    if (member.name == "iat") claims.issued_at = number;
    if (member.name == "iss") claims.issuer = member.text;
    if (member.name == "aud") claims.audience = member.text;
  }
  return claims;
}

bool is_issuer_known(std::string_view issuer) {
  return std::any_of(std::begin(issuers), std::end(issuers),
                     [&](std::string_view prefix) { return issuer.starts_with(prefix); });
}

bool is_audience(std::string_view audience, std::string_view account) {
  if (audience == storage_application) return true;
  if (audience.ends_with('/')) audience.remove_suffix(1);
  if (audience == storage_audience) return true;
  const std::string address = "https://" + std::string(account);
  if (!audience.starts_with(address)) return false;
  return std::find(std::begin(account_suffixes), std::end(account_suffixes),
                   audience.substr(address.size())) != std::end(account_suffixes);
}

}  // namespace

Error bearer_token_error(std::string_view detail) {
  return Error(ErrorCode::authentication_failed,
               std::string(service_error_of(ErrorCode::authentication_failed).message) + " " +
                   std::string(detail));
}

Result<void> check_bearer_token(std::string_view token, std::string_view account, Ticks now) {
  const std::optional<Claims> claims = parse_claims(token);
  if (!claims.has_value() || !claims->not_before.has_value() || !claims->expiry.has_value() ||
      !claims->issued_at.has_value()) {
    return not_a_token();
  }
  const auto whole_milliseconds = (now - ticks_at_unix_epoch) / ticks_per_millisecond;
  const auto milliseconds = static_cast<double>(whole_milliseconds);
  if (milliseconds < *claims->not_before * 1000)
    return bearer_token_error("Lifetime validation failed.");
  if (milliseconds > *claims->expiry * 1000)
    return bearer_token_error("Lifetime validation failed. The token is expired.");
  if (claims->issuer.empty()) return not_a_token();
  if (!is_issuer_known(claims->issuer)) return bearer_token_error("Invalid token issuer.");
  if (claims->audience.empty()) return not_a_token();
  if (!is_audience(claims->audience, account)) return bearer_token_error("Invalid token audience.");
  return {};
}

}  // namespace entitable::rest
