#include "core/rest/signature.h"

#include <cstddef>
#include <initializer_list>

#include "core/base/base64.h"

namespace entitable::rest {
namespace {

// The versions that added fields to the string to sign of a SAS.
constexpr std::string_view with_service_name = "2015-02-21";
constexpr std::string_view with_ip_and_protocol = "2015-04-05";
constexpr std::string_view with_encryption_scope = "2020-12-06";

std::string lines(std::initializer_list<std::string_view> values) {
  std::string text;
  for (const std::string_view* value = values.begin(); value != values.end(); ++value) {
    if (value != values.begin()) text += '\n';
    text += *value;
  }
  return text;
}

std::string canonical_resource(const SharedKeyParts& parts) {
  std::string resource = "/" + std::string(parts.account);
  resource += parts.raw_path.empty() ? "/" : parts.raw_path;
  if (parts.comp.has_value()) resource += "?comp=" + *parts.comp;
  return resource;
}

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace

std::string sign(const Hmac& hmac, std::string_view key, std::string_view text) {
  return base64_encode(hmac(key, text));
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

std::string shared_key_string_to_sign(const SharedKeyParts& parts) {
  return lines(
      {parts.method, parts.content_md5, parts.content_type, parts.date, canonical_resource(parts)});
}

std::string shared_key_lite_string_to_sign(const SharedKeyParts& parts) {
  return lines({parts.date, canonical_resource(parts)});
}

std::string table_sas_string_to_sign(const SasFields& fields, std::string_view account) {
  const SasFields& f = fields;
  const std::string resource =
      (f.sv >= with_service_name ? "/table/" : "/") + std::string(account) + "/" + lower_case(f.tn);
  if (f.sv >= with_ip_and_protocol) {
    return lines(
        {f.sp, f.st, f.se, resource, f.si, f.sip, f.spr, f.sv, f.spk, f.srk, f.epk, f.erk});
  }
  return lines({f.sp, f.st, f.se, resource, f.si, f.sv, f.spk, f.srk, f.epk, f.erk});
}

std::string account_sas_string_to_sign(const SasFields& fields, std::string_view account) {
  const SasFields& f = fields;
  std::string text = lines({account, f.sp, f.ss, f.srt, f.st, f.se, f.sip, f.spr, f.sv, ""});
  if (f.sv >= with_encryption_scope) text += f.ses + "\n";
  return text;
}

}  // namespace entitable::rest
