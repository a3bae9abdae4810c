#include "core/rest/request_handler.h"

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tests/core/rest/conversation.h"
#include "tests/core/rest/signed_urls.h"
#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

TEST_CASE("conversation: headers") {
  test::check_conversation("headers");
}

TEST_CASE("conversation: addresses and routes") {
  test::check_conversation("routes");
}

TEST_CASE("conversation: batches") {
  test::check_conversation("batches");
}

TEST_CASE("conversation: documents in XML") {
  test::check_conversation("documents");
}

TEST_CASE("conversation: simulated errors") {
  test::check_conversation("refusals");
}

// ---- Who may do what ----------------------------------------------------------------------------

// A server that authorizes requests to the account "acct", with the table "people".
class Locked : public test::RestServer {
 public:
  Locked() : RestServer(test::locked_account()) {
    CHECK(as_owner("POST", "/Tables", R"({"TableName":"people"})") == "201");
    CHECK(as_owner("PUT", "/people(PartitionKey='a',RowKey='1')", R"({"n":1})") == "204");
    CHECK(as_owner("PUT", "/people(PartitionKey='b',RowKey='2')", R"({"n":2})") == "204");
    CHECK(as_owner("PUT", "/people(PartitionKey='c',RowKey='3')", R"({"n":3})") == "204");
  }

  // The status, or the error code.
  std::string as_owner(std::string_view method, const std::string& path, std::string_view body) {
    Request request{method, {}, {}, body, {}};
    const std::string url = base + path;
    request.url = url;
    request.trusted = true;
    return outcome(RestServer::send(request));
  }

  Response signed_send(const SasFields& fields, std::string_view method, const std::string& path,
                       std::string_view body = {}, const std::vector<HeaderView>& headers = {}) {
    const std::string url = base + path + (path.find('?') == std::string::npos ? "?" : "&") +
                            test::query_of(test::with_signature(fields));
    return RestServer::send(Request{method, url, headers, body, {}});
  }

  static std::string outcome(const Response& response) {
    const std::string code = test::header_value(response, "x-ms-error-code");
    return code.empty() ? std::to_string(response.status) : code;
  }

 private:
  inline static const std::string base = "https://acct.table.core.windows.net";
};

TEST_CASE("a trusted request is to its own store, whichever account it names") {
  Locked locked;
  Request request{"GET", "http://[::1]/inner/people?comp=acl", {}, {}, {}};
  CHECK(locked.RestServer::send(request).status == 403);
  request.trusted = true;
  CHECK(locked.RestServer::send(request).status == 200);
}

TEST_CASE("without credentials nothing is disclosed, in the requested format") {
  Locked locked;
  const Request request{"GET", "http://h/acct/people", {{"Accept", "application/json"}}, {}, {}};
  const Response json = static_cast<test::RestServer&>(locked).send(request);
  CHECK(json.status == 403);
  CHECK(test::header_value(json, "Content-Type") == json_content_type(MetadataLevel::minimal));
  const Response xml = static_cast<test::RestServer&>(locked).send(
      Request{"GET", "http://h/acct/nowhere", {}, {}, {}});
  CHECK(test::header_value(xml, "x-ms-error-code") == "AuthenticationFailed");
  CHECK(test::header_value(xml, "Content-Type") == "application/xml");
}

TEST_CASE("a preflight request needs no credentials") {
  Locked locked;
  const Request request{"OPTIONS",
                        "http://h/acct/people",
                        {{"Origin", "http://o"}, {"Access-Control-Request-Method", "GET"}},
                        {},
                        {}};
  CHECK(Locked::outcome(static_cast<test::RestServer&>(locked).send(request)) ==
        "CorsPreflightFailure");
}

TEST_CASE("a request whose body is pending gets 100, or a final response without one") {
  Locked locked;
  const auto outcome_of = [&](std::string_view method, const std::string& path, bool trusted) {
    const std::string url = "https://acct.table.core.windows.net" + path;
    Request request{method, url, {{"Origin", "https://o"}}, {}, {}};
    request.trusted = trusted;
    request.body_pending = true;
    return Locked::outcome(locked.RestServer::send(request));
  };
  const std::string entity = "/people(PartitionKey='a',RowKey='1')";
  for (const auto& [method, path] : {std::pair<std::string, std::string>{"POST", "/people"},
                                     {"MERGE", entity},
                                     {"DELETE", entity},
                                     {"PUT", "/people?comp=acl"},
                                     {"POST", "/$batch"}}) {
    CAPTURE(method, path);
    CHECK(outcome_of(method, path, false) == "AuthenticationFailed");
    CHECK(outcome_of(method, path, true) == "100");
  }
  CHECK(outcome_of("POST", "/people?$filter=%", true) == "InvalidQueryParameterValue");
  CHECK(outcome_of("OPTIONS", entity, false) == "InvalidHeaderValue");
  CHECK(locked.as_owner("GET", entity, {}) == "200");
}

TEST_CASE("the permissions of a signature are checked while the body is pending") {
  Locked locked;
  const std::string query = test::query_of(test::with_signature(test::sas_of_table("people", "a")));
  const auto outcome_of = [&](std::string_view method, const std::string& path) {
    const std::string url = "https://acct.table.core.windows.net" + path + "?" + query;
    Request request{method, url, {}, {}, {}};
    request.body_pending = true;
    return Locked::outcome(locked.RestServer::send(request));
  };
  CHECK(outcome_of("POST", "/people") == "100");
  CHECK(outcome_of("PUT", "/people(PartitionKey='a',RowKey='1')") ==
        "AuthorizationPermissionMismatch");
}

TEST_CASE("a SAS for a range of keys") {
  Locked locked;
  SasFields fields = test::sas_of_table("people", "raud");
  fields.spk = "b";
  fields.epk = "b";
  const auto asked = [&](std::string_view method, const std::string& path,
                         std::string_view body = {}, const std::vector<HeaderView>& headers = {}) {
    return Locked::outcome(locked.signed_send(fields, method, path, body, headers));
  };
  CHECK(locked
            .signed_send(fields, "GET", "/people?$select=n", {},
                         {{"Accept", "application/json;odata=nometadata"}})
            .body == R"({"value":[{"n":2}]})");
  CHECK(asked("GET", "/people(PartitionKey='b',RowKey='2')") == "200");
  CHECK(asked("GET", "/people(PartitionKey='a',RowKey='1')") == "AuthorizationFailure");
  CHECK(asked("POST", "/people", R"({"PartitionKey":"b","RowKey":"new"})") == "201");
  CHECK(asked("POST", "/people", R"({"PartitionKey":"a","RowKey":"new"})") ==
        "AuthorizationFailure");
  CHECK(asked("PUT", "/people(PartitionKey='a',RowKey='1')", "{}") == "AuthorizationFailure");
  CHECK(asked("DELETE", "/people(PartitionKey='c',RowKey='3')", {}, {{"If-Match", "*"}}) ==
        "AuthorizationFailure");
  CHECK(asked("GET", "/others") == "AuthorizationFailure");
  CHECK(asked("GET", "/Tables") == "AuthorizationFailure");
  CHECK(asked("GET", "/people?comp=acl") == "AuthorizationFailure");
}

TEST_CASE("If-Match distinguishes an update from an upsert") {
  Locked locked;
  const std::string path = "/people(PartitionKey='a',RowKey='1')";
  const SasFields update = test::sas_of_table("people", "u");
  for (const char* method : {"PUT", "PATCH", "MERGE"}) {
    const auto asked = [&](const std::vector<HeaderView>& headers) {
      return Locked::outcome(locked.signed_send(update, method, path, "{}", headers));
    };
    CHECK(asked({{"If-Match", "*"}}) == "204");
    CHECK(asked({}) == "AuthorizationPermissionMismatch");
    CHECK(asked({{"If-Match", ""}}) == "AuthorizationPermissionMismatch");
  }
  CHECK(Locked::outcome(
            locked.signed_send(test::sas_of_table("people", "au"), "PUT", path, "{}")) == "204");
}

TEST_CASE("every operation of a batch needs its permission") {
  Locked locked;
  const auto batch = [&](const SasFields& fields, const std::string& operation) {
    const std::string body =
        "--b\nContent-Type: multipart/mixed; boundary=c\n\n--c\nContent-Type: "
        "application/http\n\n" +
        operation + "\n--c--\n--b--\n";
    return locked
        .signed_send(fields, "POST", "/$batch", body,
                     {{"Content-Type", "multipart/mixed; boundary=b"}})
        .body;
  };
  const std::string insert =
      "POST https://acct.table.core.windows.net/people HTTP/1.1\n\n"
      R"({"PartitionKey":"b","RowKey":"new"})";
  SasFields fields = test::sas_of_table("people", "r");
  CHECK(batch(fields, insert).find("AuthorizationPermissionMismatch") != std::string::npos);
  fields.sp = "a";
  fields.spk = "c";
  CHECK(batch(fields, insert).find("AuthorizationFailure") != std::string::npos);
  fields.spk = "b";
  CHECK(batch(fields, insert).find("201 Created") != std::string::npos);
}

TEST_CASE("revoking a stored policy ends its permissions") {
  Locked locked;
  const std::string policies =
      "<SignedIdentifiers><SignedIdentifier><Id>one</Id><AccessPolicy><Expiry>2030-01-01</Expiry>"
      "<Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>";
  CHECK(locked.as_owner("PUT", "/people?comp=acl", policies) == "204");
  SasFields fields = test::sas_of_table("people", "");
  fields.si = "one";
  CHECK(Locked::outcome(locked.signed_send(fields, "GET", "/people")) == "200");
  CHECK(locked.as_owner("PUT", "/people?comp=acl", "") == "204");
  CHECK(Locked::outcome(locked.signed_send(fields, "GET", "/people")) == "AuthenticationFailed");
}

TEST_CASE("the response has the signature's version") {
  Locked locked;
  const SasFields fields = test::sas_of_table("people", "r");
  const Response response = locked.signed_send(fields, "GET", "/people");
  CHECK(test::header_value(response, "x-ms-version") == fields.sv);
}

TEST_CASE("the response has the request's version, however early the request is rejected") {
  test::RestServer server;
  for (const char* target : {"/Tables", "/a/b/c", "/Tables?$orderby=x"}) {
    CAPTURE(target);
    const Response response = server.send("GET", target, {{"x-ms-version", "2019-02-02"}});
    CHECK(test::header_value(response, "x-ms-version") == "2019-02-02");
  }
  const Response preflight = server.send("OPTIONS", "/Tables", {{"x-ms-version", "2019-02-02"}});
  CHECK(test::header_value(preflight, "x-ms-version") == "2019-02-02");
}

TEST_CASE("unknown versions are rejected if the account is strict") {
  Account account;
  account.strict_versions = true;
  test::RestServer server(account);
  CHECK(server.send("GET", "/Tables", {{"x-ms-version", "2020-12-06"}}).status == 200);
  CHECK(server.send("GET", "/Tables", {{"x-ms-version", "2031-01-01"}}).status == 400);
}

TEST_CASE("a waiting write does not depend on the memory of its request") {
  test::RestServer server;
  UnstagedWrite write;
  {
    const std::string url = "http://127.0.0.1:10002/devstoreaccount1/Tables";
    const std::string body = R"({"TableName":"people"})";
    const std::string id = "mine";
    const std::string origin = "https://a.example";
    const Request request{
        "POST", url, {{"x-ms-client-request-id", id}, {"Origin", origin}}, body, {}};
    HandleResult handled =
        handle_request(Account(), server.store(), request, RequestContext{server.now(), id});
    REQUIRE(std::holds_alternative<UnstagedWrite>(handled));
    write = std::get<UnstagedWrite>(std::move(handled));
  }
  const Response response = write.make_response(WriteSuccess{{0}});
  CHECK(response.status == 201);
  CHECK(test::header_value(response, "x-ms-client-request-id") == "mine");
  CHECK(response.body.find("\"TableName\":\"people\"") != std::string::npos);
}

}  // namespace
}  // namespace entitable::rest
