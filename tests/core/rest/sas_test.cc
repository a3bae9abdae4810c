#include "core/rest/sas.h"

#include "core/filter/evaluate.h"
#include "core/filter/parser.h"
#include "tests/core/rest/signed_urls.h"
#include "tests/support/catch.h"
#include "tests/support/filter_text.h"

using namespace entitable;
using namespace entitable::rest;
using namespace entitable::test;

namespace {

Ticks at(const char* text) {
  const auto ticks = parse_date_time(text, {});
  REQUIRE(ticks.ok());
  return *ticks;
}
const char* const usual_time = "2026-01-01T12:00:00Z";

std::optional<AccessPolicy> no_policy(std::string_view, std::string_view) {
  return std::nullopt;
}

Result<SasGrant> verify(const SasFields& fields, const SasRequestContext& caller,
                        const FindPolicy& find = no_policy) {
  return verify_sas(fields, locked_account(), find, caller);
}

SasRequestContext in_page(const char* time = usual_time) {
  return {at(time), true, {}};
}

// "ok", or the service's error code.
std::string outcome(const SasFields& fields, const SasRequestContext& caller,
                    const FindPolicy& find = no_policy) {
  const auto grant = verify(fields, caller, find);
  if (grant.ok()) return "ok";
  switch (grant.error().code) {
    case ErrorCode::authentication_failed:
      return "authentication";
    case ErrorCode::protocol_mismatch:
      return "protocol";
    case ErrorCode::source_ip_mismatch:
      return "address";
    default:
      return "other";
  }
}

std::string outcome(const SasFields& fields) {
  return outcome(with_signature(fields), in_page());
}

SasFields table_sas() {
  return sas_of_table("people", "raud");
}

// Finds only this policy, in the table "people".
FindPolicy one_policy(AccessPolicy policy) {
  return [policy](std::string_view table, std::string_view id) {
    return table == "people" && id == policy.id ? std::optional(policy) : std::nullopt;
  };
}

SasFields by_policy() {
  SasFields fields = sas_of_table("people", "");
  fields.si = "pol";
  return fields;
}

}  // namespace

// ---- Reading ------------------------------------------------------------------------------------

TEST_CASE("the fields of a signature are parsed from the query") {
  SasFields fields = with_signature(table_sas());
  fields.spk = "o'x \xC3\xBC&=%+";
  const auto read = parse_sas_fields(query_of(fields) + "&$top=1&timeout=5&nothing&x=%zz");
  REQUIRE(read.ok());
  REQUIRE(read->has_value());
  CHECK(query_of(**read) == query_of(fields));
  CHECK((*read)->spk == "o'x \xC3\xBC&=%+");
  CHECK((*read)->sig == fields.sig);
}

TEST_CASE("a plus is itself, and a space in the signature is a plus too") {
  const auto read = parse_sas_fields("se=2030-01-01T00:00+01:00&sig=a+b%20c%2Bd&spk=a+b%20c");
  REQUIRE((read.ok() && read->has_value()));
  CHECK((*read)->se == "2030-01-01T00:00+01:00");
  CHECK((*read)->sig == "a+b+c+d");
  CHECK((*read)->spk == "a+b c");
}

TEST_CASE("a plus is a blank on request, but not in the signature") {
  const auto read = parse_sas_fields("si=a+b%20c%2Bd&sig=a+b%20c%2Bd", true);
  REQUIRE((read.ok() && read->has_value()));
  CHECK((*read)->si == "a b c+d");
  CHECK((*read)->sig == "a+b+c+d");
}

TEST_CASE("names may be escaped, and are case-sensitive") {
  const auto read = parse_sas_fields("%73ig=x&SP=r&sp=a");
  REQUIRE((read.ok() && read->has_value()));
  CHECK((*read)->sig == "x");
  CHECK((*read)->sp == "a");
}

TEST_CASE("without sig there is no signature") {
  for (const char* query : {"", "&", "sv=2019-02-02&tn=t", "sig=", "sig", "tn=a&tn=b"}) {
    CAPTURE(query);
    const auto read = parse_sas_fields(query);
    REQUIRE(read.ok());
    CHECK_FALSE(read->has_value());
  }
}

TEST_CASE("ambiguous and unreadable fields are rejected") {
  for (const char* query : {"sig=x&sp=r&sp=raud", "sig=x&sig=y", "sig=x&spk=%zz", "sig=x&spk=%4",
                            "sig=x&spk=%", "sig=x&spk=%FF", "sig=x&spk=a%0Ab", "sig=x&spk=%00",
                            "sig=x&spk=%7F", "sig=x%0A", "sig=x&tn=%ED%A0%80%ED%B0%80"}) {
    CAPTURE(query);
    const auto read = parse_sas_fields(query);
    REQUIRE_FALSE(read.ok());
    CHECK(read.error() == Error(ErrorCode::authentication_failed));
  }
}

// ---- Verification -------------------------------------------------------------------------------

TEST_CASE("a table SAS grants its permissions") {
  SasFields fields = table_sas();
  fields.spk = "a";
  fields.srk = "1";
  fields.epk = "b";
  fields.erk = "9";
  const auto grant = verify(with_signature(fields), in_page());
  REQUIRE(grant.ok());
  CHECK_FALSE(grant->whole_account);
  CHECK(grant->table == "people");
  CHECK(grant->permissions == "raud");
  CHECK(grant->keys.first_partition == "a");
  CHECK(grant->keys.first_row == "1");
  CHECK(grant->keys.last_partition == "b");
  CHECK(grant->keys.last_row == "9");
}

TEST_CASE("an account SAS grants its permissions") {
  SasFields fields = sas_of_account("rw", "sc", "bt");
  fields.spk = "ignored";
  const auto grant = verify(with_signature(fields), in_page());
  REQUIRE(grant.ok());
  CHECK(grant->whole_account);
  CHECK(grant->permissions == "rw");
  CHECK(grant->services == "bt");
  CHECK(grant->resource_types == "sc");
  CHECK(grant->keys.is_unbounded());
}

TEST_CASE("any key of the account makes a SAS, other keys do not") {
  CHECK(outcome(with_signature(table_sas(), secret), in_page()) == "ok");
  CHECK(outcome(with_signature(table_sas(), "another key"), in_page()) == "ok");
  CHECK(outcome(with_signature(table_sas(), "a third key"), in_page()) == "authentication");
  SasFields cut = with_signature(table_sas());
  cut.sig.pop_back();
  CHECK(outcome(cut, in_page()) == "authentication");
}

TEST_CASE("the signature covers every field") {
  SasFields table = table_sas();
  table.st = "2024-01-01";
  table.sip = "1.2.3.4";
  table.spr = "https";
  table.spk = "a";
  table.srk = "1";
  table.epk = "b";
  table.erk = "9";
  CHECK(outcome(table) == "ok");
  std::string SasFields::*const of_table[] = {&SasFields::sv,  &SasFields::sp,  &SasFields::st,
                                              &SasFields::se,  &SasFields::sip, &SasFields::spr,
                                              &SasFields::tn,  &SasFields::si,  &SasFields::spk,
                                              &SasFields::srk, &SasFields::epk, &SasFields::erk};
  for (const auto field : of_table) {
    SasFields changed = with_signature(table);
    changed.*field = changed.*field == "2019-02-02" ? "2019-02-03" : "2023-01-01";
    CHECK(outcome(changed, in_page(), one_policy({"2023-01-01", {}, {}, {}})) == "authentication");
  }
  SasFields account = sas_of_account("rw", "sco");
  account.st = "2024-01-01";
  account.sip = "1.2.3.4";
  account.spr = "https";
  CHECK(outcome(account) == "ok");
  std::string SasFields::*const of_account[] = {&SasFields::sp,  &SasFields::ss,  &SasFields::srt,
                                                &SasFields::st,  &SasFields::se,  &SasFields::sip,
                                                &SasFields::spr, &SasFields::ses, &SasFields::sv};
  for (const auto field : of_account) {
    SasFields changed = with_signature(account);
    changed.*field = changed.*field == "2020-12-06" ? "2020-12-07" : "2023-01-01";
    CHECK(outcome(changed, in_page()) == "authentication");
  }
}

TEST_CASE("the table's name is signed case-insensitively") {
  SasFields fields = with_signature(table_sas());
  fields.tn = "PEOPLE";
  CHECK(outcome(fields, in_page()) == "ok");
}

TEST_CASE("missing mandatory fields are reported") {
  for (const auto field : {&SasFields::sv, &SasFields::se}) {
    SasFields fields = table_sas();
    (fields.*field).clear();
    CHECK(outcome(fields) == "authentication");
    SasFields account = sas_of_account("r", "o");
    (account.*field).clear();
    CHECK(outcome(account) == "authentication");
  }
  SasFields nameless = table_sas();
  nameless.tn.clear();
  CHECK(outcome(nameless) == "authentication");
  // A SAS without permissions is valid, although it allows nothing.
  SasFields without_permission = table_sas();
  without_permission.sp.clear();
  CHECK(outcome(without_permission) == "ok");
}

TEST_CASE("malformed fields are rejected even if they are signed") {
  const auto with = [](std::string SasFields::*field, const char* value) {
    SasFields fields = table_sas();
    fields.*field = value;
    return outcome(fields);
  };
  for (const char* version : {"2012-02-11", "2019-2-2", "2019-02-02Z", "x", "2019-13-01", "9"}) {
    CAPTURE(version);
    CHECK(with(&SasFields::sv, version) == "authentication");
  }
  for (const char* version : {"2012-02-12", "2015-02-21", "2015-04-05", "2099-01-01"}) {
    CAPTURE(version);
    CHECK(with(&SasFields::sv, version) == "ok");
  }
  for (const char* date : {"x", "2024-01-01T00:00:00", "01/01/2024"}) {
    CAPTURE(date);
    CHECK(with(&SasFields::st, date) == "authentication");
    CHECK(with(&SasFields::se, date) == "authentication");
  }
  for (const char* protocol : {"http", "https,https", "HTTPS", "ftp", "https, http"}) {
    CAPTURE(protocol);
    CHECK(with(&SasFields::spr, protocol) == "authentication");
  }
  for (const char* address : {"1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.x", "::1", "1.2.3.4-",
                              "-1.2.3.4", "1.2.3.4-x", "1..2.3", "1.2.3.0004", "1.2.3.+4", "a"}) {
    CAPTURE(address);
    CHECK(with(&SasFields::sip, address) == "authentication");
  }
  CHECK(with(&SasFields::srk, "1") == "authentication");
  CHECK(with(&SasFields::erk, "1") == "authentication");
  SasFields both = sas_of_account("r", "o");
  both.tn = "people";
  CHECK(outcome(both) == "authentication");
}

TEST_CASE("a signature is valid from its start until before its expiry") {
  SasFields fields = table_sas();
  fields.st = "2024-01-01T00:00:00Z";
  fields.se = "2024-01-02T00:00:00.0000001Z";
  fields = with_signature(fields);
  CHECK(outcome(fields, in_page("2023-12-31T23:59:59.9999999Z")) == "authentication");
  CHECK(outcome(fields, in_page("2024-01-01T00:00:00Z")) == "ok");
  CHECK(outcome(fields, in_page("2024-01-02T00:00:00Z")) == "ok");
  CHECK(outcome(fields, in_page("2024-01-02T00:00:00.0000001Z")) == "authentication");
  for (const char* expiry : {"2024-01-02", "2024-01-02T00:00Z", "2024-01-02T01:00+01:00"}) {
    CAPTURE(expiry);
    fields.se = expiry;
    CHECK(outcome(with_signature(fields), in_page("2024-01-01T23:59:59Z")) == "ok");
    CHECK(outcome(with_signature(fields), in_page("2024-01-02T00:00:00Z")) == "authentication");
  }
}

TEST_CASE("https may be required, except without a network") {
  const auto with = [](const char* protocol, bool secure) {
    SasFields fields = table_sas();
    fields.spr = protocol;
    return outcome(with_signature(fields), {at(usual_time), secure, "1.2.3.4"});
  };
  CHECK(with("https", true) == "ok");
  CHECK(with("https", false) == "protocol");
  CHECK(with("https,http", false) == "ok");
  CHECK(with("http,https", false) == "ok");
  CHECK(with("", false) == "ok");
}

TEST_CASE("an address or a range of addresses may be required") {
  const auto with = [](const char* range, const char* client) {
    SasFields fields = table_sas();
    fields.sip = range;
    return outcome(with_signature(fields), {at(usual_time), true, client});
  };
  CHECK(with("10.0.0.1", "10.0.0.1") == "ok");
  CHECK(with("10.0.0.1", "10.0.0.2") == "address");
  CHECK(with("10.0.0.9-10.0.1.3", "10.0.0.8") == "address");
  CHECK(with("10.0.0.9-10.0.1.3", "10.0.0.9") == "ok");
  CHECK(with("10.0.0.9-10.0.1.3", "10.0.0.255") == "ok");
  CHECK(with("10.0.0.9-10.0.1.3", "10.0.1.3") == "ok");
  CHECK(with("10.0.0.9-10.0.1.3", "10.0.1.4") == "address");
  CHECK(with("10.0.0.2-10.0.0.1", "10.0.0.1") == "address");
  CHECK(with("0.0.0.0-255.255.255.255", "200.1.1.1") == "ok");
  CHECK(with("10.0.0.1", "::ffff:10.0.0.1") == "ok");
  CHECK(with("10.0.0.1", "::1") == "address");
  CHECK(with("10.0.0.1", "") == "ok");  // the request did not come over a network
  const auto refused = verify(
      [] {
        SasFields fields = table_sas();
        fields.sip = "10.0.0.1";
        return with_signature(fields);
      }(),
      {at(usual_time), true, "10.0.0.2"});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message ==
        "This request is not authorized to perform this operation using this source IP 10.0.0.2.");
}

TEST_CASE("the first failed check of a SAS is reported: time, protocol, address") {
  SasFields fields = table_sas();
  fields.spr = "https";
  fields.sip = "10.0.0.1";
  fields.se = "2025-01-01";
  const SasRequestContext wrong_everything{at(usual_time), false, "1.1.1.1"};
  CHECK(outcome(with_signature(fields), wrong_everything) == "authentication");
  fields.se = "2030-01-01";
  CHECK(outcome(with_signature(fields), wrong_everything) == "protocol");
  fields.spr = "";
  CHECK(outcome(with_signature(fields), wrong_everything) == "address");
}

// ---- Stored policies ----------------------------------------------------------------------------

TEST_CASE("a stored policy supplies the fields that the signature leaves out") {
  const auto policy = one_policy({"pol", at("2024-01-01"), at("2030-01-01"), "ra"});
  const auto grant = verify(with_signature(by_policy()), in_page(), policy);
  REQUIRE(grant.ok());
  CHECK(grant->permissions == "ra");
  CHECK(outcome(with_signature(by_policy()), in_page("2023-01-01"), policy) == "authentication");
  CHECK(outcome(with_signature(by_policy()), in_page("2031-01-01"), policy) == "authentication");
}

TEST_CASE("a stored policy may leave fields to the signature") {
  SasFields fields = by_policy();
  fields.se = "2030-01-01";
  fields.sp = "r";
  const auto grant = verify(with_signature(fields), in_page(), one_policy({"pol", {}, {}, {}}));
  REQUIRE(grant.ok());
  CHECK(grant->permissions == "r");
  CHECK(outcome(with_signature(by_policy()), in_page(), one_policy({"pol", {}, {}, "r"})) ==
        "authentication");  // neither the policy nor the SAS has an expiry
}

TEST_CASE("the signature may not repeat the policy's fields") {
  const AccessPolicy policy = {"pol", at("2024-01-01"), at("2030-01-01"), "r"};
  SasFields start = by_policy();
  start.st = "2024-01-01";
  CHECK(outcome(with_signature(start), in_page(), one_policy(policy)) == "authentication");
  SasFields expiry = by_policy();
  expiry.se = "2030-01-01";
  CHECK(outcome(with_signature(expiry), in_page(), one_policy(policy)) == "authentication");
  SasFields permission = by_policy();
  permission.sp = "r";
  CHECK(outcome(with_signature(permission), in_page(), one_policy(policy)) == "authentication");
}

TEST_CASE("an unknown policy grants nothing") {
  CHECK(outcome(with_signature(by_policy()), in_page()) == "authentication");
  SasFields other = by_policy();
  other.tn = "animals";
  CHECK(outcome(with_signature(other), in_page(), one_policy({"pol", {}, at("2030-01-01"), "r"})) ==
        "authentication");
}

// ---- Key ranges ---------------------------------------------------------------------------------

TEST_CASE("a key range includes both ends, and rows bound the partitions at the ends only") {
  const SasKeyRange range{"b", "2", "d", "5"};
  const auto in = [&](const char* partition, const char* row) {
    return range.contains({partition, row});
  };
  CHECK_FALSE(in("a", "3"));
  CHECK_FALSE(in("b", "1"));
  CHECK(in("b", "2"));
  CHECK(in("b", "9"));
  CHECK(in("c", "0"));
  CHECK(in("c", "9"));
  CHECK(in("d", "0"));
  CHECK(in("d", "5"));
  CHECK_FALSE(in("d", "50"));
  CHECK_FALSE(in("d", "6"));
  CHECK_FALSE(in("da", "0"));
}

TEST_CASE("a key range may be open") {
  CHECK(SasKeyRange{}.is_unbounded());
  CHECK(SasKeyRange{}.contains({"", ""}));
  const SasKeyRange from{"b", "", "", ""};
  CHECK_FALSE(from.contains({"a", "z"}));
  CHECK(from.contains({"b", ""}));
  CHECK(from.contains({"\xF0\x9F\x98\x80", ""}));
  const SasKeyRange up_to{"", "", "b", ""};
  CHECK(up_to.contains({"", ""}));
  CHECK(up_to.contains({"b", "zzz"}));
  CHECK_FALSE(up_to.contains({"ba", ""}));
  const SasKeyRange nothing{"b", "", "a", ""};
  CHECK_FALSE(nothing.contains({"a", ""}));
  CHECK_FALSE(nothing.contains({"b", ""}));
}

TEST_CASE("keys are ordered by UTF-16 units") {
  // U+1F600 is before U+FF5E in UTF-16 units, but after it in UTF-8 bytes.
  const SasKeyRange range{"\xF0\x9F\x98\x80", "", "", ""};
  CHECK(range.contains({"\xEF\xBD\x9E", ""}));
}

TEST_CASE("a query is cut to the key range") {
  const char* const bounds[] = {"", "a", "b", "c"};
  const char* const keys[] = {"", "a", "aa", "b", "bb", "c", "d"};
  for (const char* text : {"", "v eq 1", "v eq 2 or PartitionKey eq 'b'", "not (v eq 2)"}) {
    const auto filter = parse_filter(text);
    REQUIRE(filter.ok());
    for (int i = 0; i < 256; ++i) {
      const SasKeyRange range{bounds[i & 3], bounds[i & 3] == bounds[0] ? "" : bounds[i >> 2 & 3],
                              bounds[i >> 4 & 3],
                              bounds[i >> 4 & 3] == bounds[0] ? "" : bounds[i >> 6 & 3]};
      const Filter restricted = range.restrict_filter(*filter);
      CAPTURE(text, to_sexpr(restricted));
      CHECK(restricted.empty() == (filter->empty() && range.is_unbounded()));
      if (!restricted.empty()) REQUIRE(check_structure(restricted) == "sound");
      bool same = true;
      for (const char* partition : keys) {
        for (const char* row : keys) {
          Entity entity;
          entity.key = EntityKey(partition, row);
          entity.properties.push_back({"v", Value::of_int32(1)});
          same = same && (restricted.empty() || matches_unbound(restricted, entity)) ==
                             ((filter->empty() || matches_unbound(*filter, entity)) &&
                              range.contains({partition, row}));
        }
      }
      CHECK(same);
    }
  }
}

TEST_CASE("the key range is added to the filter as bounds") {
  const auto filter = parse_filter("v eq 1");
  CHECK(to_sexpr(SasKeyRange{"a", "1", "b", ""}.restrict_filter(*filter)) ==
        "(and (and (eq v 1) (or (gt PartitionKey 'a') (and (eq PartitionKey 'a') (ge RowKey "
        "'1')))) (le PartitionKey 'b'))");
  CHECK(to_sexpr(SasKeyRange{}.restrict_filter(*filter)) == "(eq v 1)");
  CHECK(to_sexpr(SasKeyRange{}.restrict_filter({})) == "()");
}
