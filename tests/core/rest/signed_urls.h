// An account that authorizes requests, and shared access signatures made with its key.
#pragma once

#include <string>
#include <string_view>

#include "core/rest/account_settings.h"
#include "core/rest/signature.h"
#include "tests/support/hmac.h"

namespace entitable::test {

inline constexpr const char* secret = "a key of the account";

inline rest::Account locked_account() {
  rest::Account account;
  account.name = "acct";
  account.keys = {"another key", secret};
  account.hmac = hmac;
  account.authorize = true;
  return account;
}

inline rest::SasFields sas_of_table(std::string_view table, std::string_view permissions) {
  rest::SasFields fields;
  fields.sv = "2019-02-02";
  fields.tn = table;
  fields.sp = permissions;
  if (!permissions.empty()) fields.se = "2030-01-01T00:00:00Z";
  return fields;
}

inline rest::SasFields sas_of_account(std::string_view permissions, std::string_view resource_types,
                                      std::string_view services = "t") {
  rest::SasFields fields;
  fields.sv = "2020-12-06";
  fields.sp = permissions;
  fields.ss = services;
  fields.srt = resource_types;
  fields.se = "2030-01-01";
  return fields;
}

inline rest::SasFields with_signature(rest::SasFields fields, std::string_view key = secret) {
  const std::string text = fields.ss.empty() && fields.srt.empty()
                               ? rest::table_sas_string_to_sign(fields, "acct")
                               : rest::account_sas_string_to_sign(fields, "acct");
  fields.sig = rest::sign(hmac, key, text);
  return fields;
}

// The fields as a query string. Every byte that is not a letter or digit is percent-encoded.
inline std::string query_of(const rest::SasFields& fields) {
  std::string query;
  const auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    query += (query.empty() ? "" : "&") + std::string(name) + "=";
    constexpr const char* hex = "0123456789ABCDEF";
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (plain) {
        query += c;
      } else {
        query += {'%', hex[byte >> 4], hex[byte & 15]};
      }
    }
  };
  const rest::SasFields& f = fields;
  add("sv", f.sv), add("tn", f.tn), add("sp", f.sp), add("st", f.st), add("se", f.se);
  add("si", f.si), add("sip", f.sip), add("spr", f.spr), add("ss", f.ss), add("srt", f.srt);
  add("spk", f.spk), add("srk", f.srk), add("epk", f.epk), add("erk", f.erk), add("ses", f.ses);
  add("sig", f.sig);
  return query;
}

}  // namespace entitable::test
