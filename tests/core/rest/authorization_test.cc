#include "core/rest/authorization.h"

#include "core/base/base64.h"
#include "core/model/service_error.h"
#include "core/rest/http_date.h"
#include "tests/core/rest/signed_urls.h"
#include "tests/support/store_helpers.h"

using namespace entitable;
using namespace entitable::rest;
using namespace entitable::test;

namespace {

const std::string base = "https://acct.table.core.windows.net";
const std::string local = "http://127.0.0.1:10002/acct";

// A request, and the circumstances under which authorize() checks it.
struct SignedRequest {
  std::string url;
  std::string method = "GET";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string client_ip = {};
  Account account = locked_account();
  const Store* store = nullptr;
  bool trusted = false;
  Ticks now = *parse_date_time("2026-01-01T12:00:00Z", {});

  Result<GrantedAccess> authorize(const RequiredAccess& required_access) const {
    const Store empty = new_store();
    Request request{method, url, {}, {}, client_ip, trusted};
    for (const auto& [name, value] : headers) request.headers.push_back({name, value});
    const auto uri = parse_resource_uri(url, account.name);
    REQUIRE(uri.ok());
    return rest::authorize(account, store == nullptr ? empty : *store, request, *uri, now,
                           required_access);
  }
};

std::string code_of(const Result<GrantedAccess>& access) {
  return access.ok() ? "ok" : std::string(service_error_of(access.error().code).code);
}
std::string code_of(const Result<void>& checked) {
  return checked.ok() ? "ok" : std::string(service_error_of(checked.error().code).code);
}

const RequiredAccess read_people{AccessKind::read_entities, "people", {}};

std::string outcome(const SignedRequest& asked,
                    const RequiredAccess& required_access = read_people) {
  return code_of(asked.authorize(required_access));
}

std::string outcome(const SasFields& fields, const RequiredAccess& required_access = read_people) {
  return outcome(SignedRequest{base + "/people?" + query_of(with_signature(fields))},
                 required_access);
}

// A Shared Key request to `url`, with a signature for `path` and `comp`.
SignedRequest signed_request(const std::string& url, const std::string& path, bool lite,
                             std::optional<std::string> comp = {}) {
  SignedRequest asked{url};
  SharedKeyParts parts;
  parts.method = asked.method;
  parts.content_type = "application/json";
  const std::string date = http_date_text(asked.now);
  parts.date = date;
  parts.account = "acct";
  parts.raw_path = path;
  parts.comp = std::move(comp);
  const std::string text =
      lite ? shared_key_lite_string_to_sign(parts) : shared_key_string_to_sign(parts);
  asked.headers = {{"x-ms-date", date},
                   {"content-type", "application/json"},
                   {"Authorization",
                    (lite ? "SharedKeyLite acct:" : "SharedKey acct:") + sign(hmac, secret, text)}};
  return asked;
}

SignedRequest with_authorization(const std::string& value) {
  SignedRequest asked = signed_request(base + "/people", "/people", true);
  asked.headers.back().second = value;
  return asked;
}

const AccessKind actions[] = {
    AccessKind::read_entities, AccessKind::insert,       AccessKind::upsert,
    AccessKind::update,        AccessKind::remove,       AccessKind::batch,
    AccessKind::read_tables,   AccessKind::create_table, AccessKind::drop_table,
    AccessKind::table_acl,     AccessKind::read_service, AccessKind::write_service};

RequiredAccess required_access_of(AccessKind action) {
  return {action, "people", {}};
}

}  // namespace

// ---- Credentials --------------------------------------------------------------------------------

TEST_CASE("a trusted request may do everything") {
  SignedRequest asked{base + "/people"};
  asked.trusted = true;
  for (const AccessKind action : actions) CHECK(outcome(asked, required_access_of(action)) == "ok");
  asked.url = "http://[::1]/another";
  CHECK(outcome(asked) == "ok");
}

TEST_CASE("nothing is checked if the account does not authorize") {
  SignedRequest asked{base + "/people?sig=nonsense"};
  asked.headers = {{"Authorization", "nonsense"}};
  asked.account.authorize = false;
  for (const AccessKind action : actions) CHECK(outcome(asked, required_access_of(action)) == "ok");
}

TEST_CASE("requests without credentials are rejected") {
  CHECK(outcome(SignedRequest{base + "/people"}) == "AuthenticationFailed");
  CHECK(outcome(SignedRequest{local + "/people?sv=2019-02-02&sp=r"}) == "AuthenticationFailed");
}

TEST_CASE("Shared Key and Shared Key Lite may do everything") {
  for (const bool lite : {false, true}) {
    const SignedRequest asked = signed_request(base + "/people?$top=1&timeout=5", "/people", lite);
    for (const AccessKind action : actions)
      CHECK(outcome(asked, required_access_of(action)) == "ok");
    CHECK(outcome(signed_request(local + "/people()", "/acct/people()", lite)) == "ok");
    CHECK(outcome(signed_request(base + "/people?comp=acl", "/people", lite, "acl")) == "ok");
    CHECK(outcome(signed_request(base + "/?restype=service&comp=properties", "/", lite,
                                 "properties")) == "ok");
    CHECK(outcome(signed_request(base + "?comp=properties", "/", lite, "properties")) == "ok");
    CHECK(outcome(signed_request(base + "/t(PartitionKey='o''x',RowKey='%C3%BC%201')",
                                 "/t(PartitionKey='o''x',RowKey='%C3%BC%201')", lite)) == "ok");
  }
}

TEST_CASE("the signed values must be those of the request") {
  for (const bool lite : {false, true}) {
    CHECK(outcome(signed_request(base + "/people", "/animals", lite)) == "AuthenticationFailed");
    CHECK(outcome(signed_request(base + "/people?comp=acl", "/people", lite)) ==
          "AuthenticationFailed");
    CHECK(outcome(signed_request(base + "/people", "/people", lite, "acl")) ==
          "AuthenticationFailed");
    // An escaped `comp` selects the same operation, so it must be signed too.
    CHECK(outcome(signed_request(base + "/people?c%6Fmp=acl", "/people", lite)) ==
          "AuthenticationFailed");
    CHECK(outcome(signed_request(base + "/people?c%6Fmp=%61cl", "/people", lite, "acl")) == "ok");
    CHECK(outcome(signed_request(base + "/people(PartitionKey='%61',RowKey='')",
                                 "/people(PartitionKey='a',RowKey='')", lite)) ==
          "AuthenticationFailed");
    SignedRequest other_date = signed_request(base + "/people", "/people", lite);
    other_date.headers[0].second = http_date_text(other_date.now + 10'000'000);
    CHECK(outcome(other_date) == "AuthenticationFailed");
    SignedRequest other_method = signed_request(base + "/people", "/people", lite);
    other_method.method = "POST";
    CHECK(outcome(other_method) == (lite ? "ok" : "AuthenticationFailed"));
    SignedRequest other_type = signed_request(base + "/people", "/people", lite);
    other_type.headers[1].second = "text/plain";
    CHECK(outcome(other_type) == (lite ? "ok" : "AuthenticationFailed"));
    SignedRequest md5 = signed_request(base + "/people", "/people", lite);
    md5.headers.emplace_back("Content-MD5", "x");
    CHECK(outcome(md5) == (lite ? "ok" : "AuthenticationFailed"));
  }
}

TEST_CASE("the secondary address is signed as it is or as the primary") {
  const std::string secondary = "http://127.0.0.1:10002/acct-secondary/people";
  CHECK(outcome(signed_request(secondary, "/acct-secondary/people", true)) == "ok");
  CHECK(outcome(signed_request(secondary, "/acct/people", false)) == "ok");
  CHECK(outcome(signed_request(secondary, "/people", true)) == "AuthenticationFailed");
  CHECK(outcome(signed_request("https://acct-secondary.table.core.windows.net/people", "/people",
                               true)) == "ok");
  CHECK(outcome(signed_request(local + "/people", "/acct-secondary/people", true)) ==
        "AuthenticationFailed");
}

TEST_CASE("any key of the account signs, other keys do not") {
  SignedRequest asked = signed_request(base + "/people", "/people", true);
  asked.account.keys = {secret};
  CHECK(outcome(asked) == "ok");
  asked.account.keys = {"other"};
  CHECK(outcome(asked) == "AuthenticationFailed");
  asked.account.keys = {};
  CHECK(outcome(asked) == "AuthenticationFailed");
}

TEST_CASE("another account is rejected") {
  SignedRequest other =
      signed_request("http://127.0.0.1:10002/other/people", "/other/people", true);
  CHECK(outcome(other) == "AuthenticationFailed");
  CHECK(outcome(with_authorization("SharedKeyLite other:c2ln")) == "AuthenticationFailed");
  const auto sas = query_of(with_signature(sas_of_table("people", "r")));
  CHECK(outcome(SignedRequest{"http://127.0.0.1:10002/other/people?" + sas}) ==
        "AuthenticationFailed");
}

TEST_CASE("the date is x-ms-date, else Date, and must be valid") {
  SignedRequest asked = signed_request(base + "/people", "/people", true);
  asked.headers.emplace_back("Date", "nonsense");
  CHECK(outcome(asked) == "ok");
  asked.headers.pop_back();
  asked.headers[0].first = "Date";
  CHECK(outcome(asked) == "ok");
  asked.headers.erase(asked.headers.begin());
  CHECK(outcome(asked) == "AuthenticationFailed");

  SignedRequest no_date = signed_request(base + "/people", "/people", true);
  SharedKeyParts parts;
  parts.date = "yesterday";
  parts.account = "acct";
  parts.raw_path = "/people";
  no_date.headers[0].second = "yesterday";
  no_date.headers[2].second =
      "SharedKeyLite acct:" + sign(hmac, secret, shared_key_lite_string_to_sign(parts));
  CHECK(outcome(no_date) == "AuthenticationFailed");
}

TEST_CASE("a date may be 15 minutes off if dates are checked") {
  constexpr Ticks second = 10'000'000;
  for (const Ticks sign : {-1, 1}) {
    SignedRequest asked = signed_request(base + "/people", "/people", true);
    asked.now += sign * 901 * second;
    CHECK(outcome(asked) == "ok");
    asked.account.strict_dates = true;
    CHECK(outcome(asked) == "AuthenticationFailed");
    asked.now -= sign * second;
    CHECK(outcome(asked) == "ok");
  }
}

TEST_CASE("a malformed Authorization header is distinguished from a wrong one") {
  for (const char* malformed :
       {"", "SharedKey", "SharedKey ", "SharedKey acct", "SharedKey acct:", "SharedKey :sig",
        "SharedKey:acct sig", "Basic YTpi", "Basic a:b", "acct:sig", "SharedKeyLight acct:sig",
        "SharedKey acct:sig more", "SharedKey  acct:sig"}) {
    CAPTURE(malformed);
    CHECK(outcome(with_authorization(malformed)) == "InvalidAuthenticationInfo");
  }
  for (const char* wrong : {"SharedKey acct:c2ln", "SharedKeyLite acct:sig",
                            "sharedkeylite acct:sig", "SharedKey acct:a:b", "Bearer abc.def"}) {
    CAPTURE(wrong);
    CHECK(outcome(with_authorization(wrong)) == "AuthenticationFailed");
  }
  SignedRequest twice = signed_request(base + "/people", "/people", true);
  twice.headers.push_back(twice.headers.back());
  CHECK(outcome(twice) == "InvalidAuthenticationInfo");
}

TEST_CASE("an Authorization header takes precedence over a signature in the URL") {
  const auto sas = query_of(with_signature(sas_of_table("people", "r")));
  SignedRequest both = signed_request(base + "/people?" + sas, "/people", true);
  CHECK(outcome(both, required_access_of(AccessKind::drop_table)) == "ok");
  both.headers.back().second = "SharedKeyLite acct:c2ln";
  CHECK(outcome(both) == "AuthenticationFailed");
}

TEST_CASE("ambiguous signatures are rejected") {
  const auto sas = query_of(with_signature(sas_of_table("people", "r")));
  CHECK(outcome(SignedRequest{base + "/people?" + sas}) == "ok");
  CHECK(outcome(SignedRequest{base + "/people?" + sas + "&sp=r"}) == "AuthenticationFailed");
}

TEST_CASE("a plus in the URL is the signed plus or blank") {
  const auto plus_for_blank = [](std::string query) {
    for (std::size_t at; (at = query.find("%20")) != std::string::npos;) query.replace(at, 3, "+");
    return query;
  };
  SasFields fields = sas_of_table("people", "r");
  fields.spk = "a b+c";
  const std::string url = base + "/people?";
  const std::string query = query_of(with_signature(fields));
  REQUIRE(query.find("%20") != std::string::npos);
  CHECK(outcome(SignedRequest{url + query}) == "ok");
  CHECK(outcome(SignedRequest{url + plus_for_blank(query)}) == "ok");
  fields.se = "2030-01-01T00:00+01:00";
  fields.spk = "";
  const std::string signature = query_of(with_signature(fields));
  const std::size_t zone = signature.find("%2B01");
  REQUIRE(zone != std::string::npos);
  CHECK(outcome(SignedRequest{url + std::string(signature).replace(zone, 3, "+")}) == "ok");
  CHECK(outcome(SignedRequest{url + std::string(signature).replace(zone, 3, "%20")}) ==
        "AuthenticationFailed");
  fields.spk = "b d";
  CHECK(outcome(SignedRequest{url + plus_for_blank(query_of(fields)) + "&sig=c2ln"}) ==
        "AuthenticationFailed");
}

TEST_CASE("a SAS that requires https is accepted over https and without a network") {
  SasFields fields = sas_of_table("people", "r");
  fields.spr = "https";
  const std::string query = "/people?" + query_of(with_signature(fields));
  SignedRequest asked{local + query};
  CHECK(outcome(asked) == "ok");  // no network
  asked.client_ip = "127.0.0.1";
  CHECK(outcome(asked) == "AuthorizationProtocolMismatch");
  asked.url = base + query;
  CHECK(outcome(asked) == "ok");
}

TEST_CASE("a signature that requires an address checks the client's") {
  SasFields fields = sas_of_table("people", "r");
  fields.sip = "10.0.0.1-10.0.0.3";
  SignedRequest asked{base + "/people?" + query_of(with_signature(fields))};
  asked.client_ip = "10.0.0.2";
  CHECK(outcome(asked) == "ok");
  asked.client_ip = "10.0.0.4";
  CHECK(outcome(asked) == "AuthorizationSourceIPMismatch");
}

// ---- Bearer tokens -----------------------------------------------------------------------------

namespace {

// A token that is valid on 2026-01-01 from 11:00 to 13:00.
const std::string bearer_token = "Bearer e30." + [] {
  std::string payload =
      base64url_encode(R"({"aud":"https://storage.azure.com","iss":"https://sts.windows.net/t/",)"
                       R"("iat":1767265200,"nbf":1767265200,"exp":1767272400})");
  while (payload.ends_with('=')) payload.pop_back();
  return payload;
}() + ".c2ln";

SignedRequest with_bearer_token() {
  SignedRequest asked = with_authorization(bearer_token);
  asked.client_ip = "10.0.0.1";
  asked.account.bearer_tokens = true;
  return asked;
}

}  // namespace

TEST_CASE("a bearer token allows everything but access policies, over HTTPS, if it is enabled") {
  SignedRequest asked = with_bearer_token();
  for (const AccessKind action : actions) {
    CHECK(outcome(asked, required_access_of(action)) ==
          (action == AccessKind::table_acl ? "AuthorizationFailure" : "ok"));
  }
  asked.url = local + "/people";
  CHECK(outcome(asked) == "AuthenticationFailed");
  asked.client_ip.clear();  // no network
  CHECK(outcome(asked) == "ok");
  asked.account.bearer_tokens = false;
  CHECK(outcome(asked) == "AuthenticationFailed");
}

TEST_CASE("an invalid bearer token is not accepted") {
  SignedRequest asked = with_bearer_token();
  asked.now = *parse_date_time("2026-01-01T13:00:01Z", {});
  CHECK(outcome(asked) == "AuthenticationFailed");
  asked = with_bearer_token();
  asked.headers.back().second = "Bearer";
  CHECK(outcome(asked) == "AuthenticationFailed");
  asked.headers.back().second = "bearer" + bearer_token.substr(6);
  CHECK(outcome(asked) == "ok");
  asked.headers.emplace_back("Authorization", bearer_token);
  CHECK(outcome(asked) == "InvalidAuthenticationInfo");
}

// ---- Permissions (SERVICE.md §7.4) -------------------------------------------------------------

TEST_CASE("the permissions of a table SAS") {
  const struct {
    AccessKind action;
    const char* needed;
  } lines[] = {{AccessKind::read_entities, "r"},
               {AccessKind::insert, "a"},
               {AccessKind::upsert, "au"},
               {AccessKind::update, "u"},
               {AccessKind::remove, "d"}};
  for (const auto& line : lines) {
    for (int subset = 0; subset < 16; ++subset) {
      std::string permissions;
      for (int i = 0; i < 4; ++i) {
        if ((subset >> i & 1) != 0) permissions += "raud"[i];
      }
      SasFields fields = sas_of_table("people", permissions);
      fields.se = "2030-01-01";
      bool enough = true;
      for (const char letter : std::string(line.needed)) {
        enough = enough && permissions.find(letter) != std::string::npos;
      }
      CAPTURE(permissions, line.needed);
      CHECK(outcome(fields, required_access_of(line.action)) ==
            (enough ? "ok" : "AuthorizationPermissionMismatch"));
    }
  }
}

TEST_CASE("a table SAS is for the entities of its table only") {
  const SasFields all = sas_of_table("People", "raud");
  CHECK(outcome(all, {AccessKind::read_entities, "pEOPLE", {}}) == "ok");
  CHECK(outcome(all, {AccessKind::read_entities, "animals", {}}) == "AuthorizationFailure");
  CHECK(outcome(all, required_access_of(AccessKind::batch)) == "ok");
  for (const AccessKind action :
       {AccessKind::read_tables, AccessKind::create_table, AccessKind::drop_table,
        AccessKind::table_acl, AccessKind::read_service, AccessKind::write_service}) {
    CHECK(outcome(all, required_access_of(action)) == "AuthorizationFailure");
  }
}

TEST_CASE("the permissions of an account SAS") {
  const struct {
    AccessKind action;
    char type;
    std::vector<std::string> enough;
    std::vector<std::string> too_little;
  } lines[] = {{AccessKind::read_entities, 'o', {"r"}, {"wdlau"}},
               {AccessKind::insert, 'o', {"a"}, {"rwdlu"}},
               {AccessKind::upsert, 'o', {"au", "ua"}, {"rwdla", "rwdlu"}},
               {AccessKind::update, 'o', {"u"}, {"rwdla"}},
               {AccessKind::remove, 'o', {"d"}, {"rwlau"}},
               {AccessKind::batch, 'o', {"r", "w"}, {}},
               {AccessKind::read_tables, 'c', {"l"}, {"rwdauc"}},
               {AccessKind::create_table, 'c', {"c", "w"}, {"rdlau"}},
               {AccessKind::drop_table, 'c', {"d"}, {"rwlauc"}},
               {AccessKind::read_service, 's', {"r"}, {"wdlauc"}},
               {AccessKind::write_service, 's', {"w"}, {"rdlauc"}}};
  for (const auto& line : lines) {
    const std::string type(1, line.type);
    std::string other_types = "sco";
    other_types.erase(other_types.find(type), 1);
    CAPTURE(static_cast<int>(line.action));
    for (const std::string& sp : line.enough) {
      CHECK(outcome(sas_of_account(sp, type), required_access_of(line.action)) == "ok");
      CHECK(outcome(sas_of_account(sp, "sco", "bqtf"), required_access_of(line.action)) == "ok");
      CHECK(outcome(sas_of_account(sp, other_types), required_access_of(line.action)) ==
            "AuthorizationResourceTypeMismatch");
      CHECK(outcome(sas_of_account(sp, type, "bqf"), required_access_of(line.action)) ==
            "AuthorizationServiceMismatch");
    }
    for (const std::string& sp : line.too_little) {
      CHECK(outcome(sas_of_account(sp, "sco"), required_access_of(line.action)) ==
            "AuthorizationPermissionMismatch");
    }
  }
  CHECK(outcome(sas_of_account("rwdlauc", "sco"), required_access_of(AccessKind::table_acl)) ==
        "AuthorizationFailure");
}

TEST_CASE("no signature grants access to access policies") {
  CHECK(outcome(sas_of_table("people", "raud"), required_access_of(AccessKind::table_acl)) ==
        "AuthorizationFailure");
  CHECK(outcome(sas_of_account("rwdlauc", "sco", "b"), required_access_of(AccessKind::table_acl)) ==
        "AuthorizationFailure");
}

TEST_CASE("the first failed check is reported") {
  CHECK(outcome(sas_of_account("r", "s", "b"), required_access_of(AccessKind::insert)) ==
        "AuthorizationServiceMismatch");
  CHECK(outcome(sas_of_account("r", "s", "t"), required_access_of(AccessKind::insert)) ==
        "AuthorizationResourceTypeMismatch");
  CHECK(outcome(sas_of_account("r", "o", "t"), required_access_of(AccessKind::insert)) ==
        "AuthorizationPermissionMismatch");
  SasFields fields = sas_of_table("people", "r");
  fields.spk = "b";
  CHECK(outcome(fields, {AccessKind::insert, "people", KeyView{"a", ""}}) ==
        "AuthorizationPermissionMismatch");
  CHECK(outcome(fields, {AccessKind::read_entities, "people", KeyView{"a", ""}}) ==
        "AuthorizationFailure");
}

// ---- Key ranges and batches ---------------------------------------------------------------------

TEST_CASE("point reads and writes outside the key range are rejected") {
  SasFields fields = sas_of_table("people", "raud");
  fields.spk = "b";
  fields.srk = "2";
  fields.epk = "d";
  for (const AccessKind action : {AccessKind::read_entities, AccessKind::insert, AccessKind::upsert,
                                  AccessKind::update, AccessKind::remove}) {
    const auto at = [&](const char* partition, const char* row) {
      return outcome(fields, {action, "people", KeyView{partition, row}});
    };
    CHECK(at("b", "1") == "AuthorizationFailure");
    CHECK(at("b", "2") == "ok");
    CHECK(at("c", "") == "ok");
    CHECK(at("d", "z") == "ok");
    CHECK(at("da", "") == "AuthorizationFailure");
  }
}

TEST_CASE("queries are cut to the key range, and unrestricted queries are not") {
  SasFields fields = sas_of_table("people", "r");
  fields.spk = "b";
  fields.epk = "c";
  const auto access =
      SignedRequest{base + "/people?" + query_of(with_signature(fields))}.authorize(read_people);
  REQUIRE(access.ok());
  CHECK(to_sexpr(access->restrict_filter(*parse_filter("v eq 1"))) ==
        "(and (and (eq v 1) (ge PartitionKey 'b')) (le PartitionKey 'c'))");
  CHECK(to_sexpr(access->restrict_filter({})) ==
        "(and (ge PartitionKey 'b') (le PartitionKey 'c'))");
  CHECK(to_sexpr(GrantedAccess().restrict_filter(*parse_filter("v eq 1"))) == "(eq v 1)");
  const auto whole = signed_request(base + "/people", "/people", true).authorize(read_people);
  REQUIRE(whole.ok());
  CHECK(whole->restrict_filter({}).empty());
}

TEST_CASE("a cut query returns the rows of the range, whatever it requests") {
  Store store = new_store();
  publish(store, {create("people")});
  for (const char* partition : {"a", "b", "c"}) {
    for (const char* row : {"1", "2", "3"}) {
      publish(store, {insert("people", partition, std::string(partition) + row, 1)});
    }
  }
  SasFields fields = sas_of_table("people", "r");
  fields.spk = "a";
  fields.srk = "a3";
  fields.epk = "b";
  fields.erk = "b2";
  const auto access =
      SignedRequest{base + "/people?" + query_of(with_signature(fields))}.authorize(read_people);
  REQUIRE(access.ok());
  const auto rows = [&](const char* filter, std::optional<Continuation> from = {}) {
    Query query;
    query.filter = access->restrict_filter(*parse_filter(filter));
    query.from = std::move(from);
    const auto answer = store.query("people", query);
    REQUIRE(std::holds_alternative<Page>(answer));
    std::string text;
    for (const RowView& row : std::get<Page>(answer).rows) {
      text += (text.empty() ? "" : " ") + std::string(row.row_key());
    }
    return text;
  };
  CHECK(rows("") == "a3 b1 b2");
  CHECK(rows("PartitionKey eq 'b'") == "b1 b2");
  CHECK(rows("PartitionKey eq 'c' or RowKey eq 'a3'") == "a3");
  CHECK(rows("not (RowKey eq 'b1')") == "a3 b2");
  CHECK(rows("", Continuation{{"a", ""}}) == "a3 b1 b2");
  CHECK(rows("", Continuation{{"b", "b2"}}) == "b2");
  CHECK(rows("", Continuation{{"c", ""}}).empty());
}

TEST_CASE("each operation of a batch is authorized") {
  SasFields fields = sas_of_table("people", "au");
  fields.epk = "b";
  const auto access = SignedRequest{base + "/$batch?" + query_of(with_signature(fields))}.authorize(
      {AccessKind::batch, "", {}});
  REQUIRE(access.ok());
  CHECK(code_of(access->check({AccessKind::insert, "people", KeyView{"a", ""}})) == "ok");
  CHECK(code_of(access->check({AccessKind::upsert, "people", KeyView{"b", ""}})) == "ok");
  CHECK(code_of(access->check({AccessKind::update, "people", KeyView{"c", ""}})) ==
        "AuthorizationFailure");
  CHECK(code_of(access->check({AccessKind::remove, "people", KeyView{"a", ""}})) ==
        "AuthorizationPermissionMismatch");
  CHECK(code_of(access->check({AccessKind::insert, "animals", KeyView{"a", ""}})) ==
        "AuthorizationFailure");
}

// ---- Stored policies ----------------------------------------------------------------------------

TEST_CASE("a stored policy of the table applies, and revoking it takes effect at once") {
  Store store = new_store();
  const Ticks end = *parse_date_time("2030-01-01", {});
  const auto set = [&](std::vector<AccessPolicy> policies) {
    publish(store, {{std::nullopt, WriteTableAcl{"People", std::move(policies)}}});
  };
  publish(store, {create("People"), create("animals")});
  SasFields fields = sas_of_table("people", "");
  fields.si = "pol";
  SignedRequest asked{base + "/people?" + query_of(with_signature(fields))};
  asked.store = &store;
  CHECK(outcome(asked) == "AuthenticationFailed");
  set({{"other", {}, end, "a"}, {"pol", {}, end, "r"}});
  CHECK(outcome(asked) == "ok");
  CHECK(outcome(asked, required_access_of(AccessKind::insert)) ==
        "AuthorizationPermissionMismatch");
  set({{"pol", {}, end, "ra"}});
  CHECK(outcome(asked, required_access_of(AccessKind::insert)) == "ok");
  set({{"pol", {}, end, {}}});
  CHECK(outcome(asked) == "AuthorizationPermissionMismatch");
  set({{"pol", {}, {}, "r"}});
  CHECK(outcome(asked) == "AuthenticationFailed");
  set({{"POL", {}, end, "r"}});
  CHECK(outcome(asked) == "AuthenticationFailed");
  set({});
  CHECK(outcome(asked) == "AuthenticationFailed");
}

TEST_CASE("a stored policy of a missing table has no effect") {
  SasFields fields = sas_of_table("nobody", "");
  fields.si = "pol";
  CHECK(outcome(fields, {AccessKind::read_entities, "nobody", {}}) == "AuthenticationFailed");
}
