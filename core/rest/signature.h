// The texts that signatures are made of, byte for byte (docs: Authorize with Shared Key, Create a
// service SAS, Create an account SAS). Nothing here decides anything.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/rest/account.h"

namespace entitable::rest {

// base64(HMAC-SHA256(key, text)).
std::string sign(const Hmac& hmac, std::string_view key, std::string_view text);

// Whether both are equal, in a time that does not tell where they differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// ---- Shared Key ---------------------------------------------------------------------------------

struct SharedKeyParts {
  std::string_view method;  // the verb of the request line
  std::string_view content_md5;
  std::string_view content_type;
  std::string_view date;            // x-ms-date, else Date
  std::string_view account;         // of the Authorization header
  std::string_view raw_path;        // as sent, still percent-encoded; empty counts as "/"
  std::optional<std::string> comp;  // the value of that query parameter
};

std::string shared_key_text(const SharedKeyParts& parts);
std::string shared_key_lite_text(const SharedKeyParts& parts);

// ---- Shared access signatures -------------------------------------------------------------------

// The query parameters by their names on the wire, decoded. Absent and empty are the same: a
// signature cannot tell them apart.
struct SasFields {
  std::string sv, sp, st, se, sip, spr, sig;  // both kinds
  std::string tn, si, spk, srk, epk, erk;     // of a table
  std::string ss, srt, ses;                   // of an account
};

// The oldest version that shared access signatures of tables have.
inline constexpr std::string_view sas_version_min = "2012-02-12";

// REQUIRES: fields.sv is a date yyyy-mm-dd, at least sas_version_min.
std::string table_sas_text(const SasFields& fields, std::string_view account);
std::string account_sas_text(const SasFields& fields, std::string_view account);

}  // namespace entitable::rest
