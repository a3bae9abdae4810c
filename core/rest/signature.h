// The strings to sign of Shared Key and of shared access signatures (SAS), byte for byte as the
// service's documentation defines them ("Authorize with Shared Key", "Create a service SAS",
// "Create an account SAS"). authorization.h and sas.h verify the signatures.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/rest/account_settings.h"

namespace entitable::rest {

// Returns base64(HMAC-SHA256(key, text)).
std::string sign(const Hmac& hmac, std::string_view key, std::string_view text);

// Returns whether both are equal. The time it takes does not depend on where they differ, so an
// attacker cannot guess a signature byte by byte.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// ---- Shared Key ---------------------------------------------------------------------------------

struct SharedKeyParts {
  std::string_view method;  // the verb of the request line
  std::string_view content_md5;
  std::string_view content_type;
  std::string_view date;            // x-ms-date, else Date
  std::string_view account;         // the account in the Authorization header
  std::string_view raw_path;        // as sent, still percent-encoded; empty counts as "/"
  std::optional<std::string> comp;  // the value of the query parameter `comp`
};

// Return the string to sign.
std::string shared_key_string_to_sign(const SharedKeyParts& parts);
std::string shared_key_lite_string_to_sign(const SharedKeyParts& parts);

// ---- Shared access signatures -------------------------------------------------------------------

// The query parameters of a SAS, percent-decoded, under their names in the URL. An absent parameter
// is the same as an empty one, because both give the same string to sign.
struct SasFields {
  std::string sv, sp, st, se, sip, spr, sig;  // in both kinds of SAS
  std::string tn, si, spk, srk, epk, erk;     // only in a table SAS
  std::string ss, srt, ses;                   // only in an account SAS
};

// The first version of the service with shared access signatures for tables.
inline constexpr std::string_view sas_version_min = "2012-02-12";

// Return the string to sign, whose layout depends on the version fields.sv. REQUIRES: fields.sv is
// a date yyyy-mm-dd, at least sas_version_min.
std::string table_sas_string_to_sign(const SasFields& fields, std::string_view account);
std::string account_sas_string_to_sign(const SasFields& fields, std::string_view account);

}  // namespace entitable::rest
