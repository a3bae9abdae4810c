// Batches that two parsers could read differently, or that contain more than the sender is
// permitted to do. Each must be executed as documented or rejected as a whole, never in part.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/limits.h"
#include "tests/core/rest/conversation.h"
#include "tests/core/rest/signed_urls.h"
#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

const std::string address = "http://127.0.0.1:10002/acct";
const std::string mime = "Content-Type: application/http\n\n";
const std::string body = R"({"PartitionKey":"p","RowKey":"2"})";

std::string part(const std::string& request, const std::string& content = body) {
  return "--c\n" + mime + request + "\n\n" + content + "\n";
}

std::string insert(const std::string& headers = {}) {
  return part("POST " + address + "/people HTTP/1.1" + headers);
}

// A valid operation that comes first in batches that must be rejected. If it is executed, the batch
// was not rejected as a whole.
const std::string first =
    part("POST " + address + "/people HTTP/1.1", R"({"PartitionKey":"p","RowKey":"1"})");

std::string change_set(const std::string& parts) {
  return "--b\nContent-Type: multipart/mixed; boundary=c\n\n" + parts + "--c--\n";
}

std::string batch(const std::string& parts) {
  return change_set(parts) + "--b--\n";
}

// A server that authorizes requests to the account "acct". It has the table "people" with one
// entity, and the empty table "others".
class Server : public test::RestServer {
 public:
  Server() : RestServer(test::locked_account()) {
    CHECK(as_owner("POST", "/Tables", R"({"TableName":"people"})").status == 201);
    CHECK(as_owner("POST", "/Tables", R"({"TableName":"others"})").status == 201);
    CHECK(as_owner("PUT", "/people(PartitionKey='p',RowKey='r')", R"({"n":1})").status == 204);
  }

  Response as_owner(std::string_view method, const std::string& target, std::string_view content,
                    const std::vector<HeaderView>& headers = {}) {
    const std::string url = address + target;
    Request request{method, url, headers, content, {}};
    request.trusted = true;
    return send(request);
  }

  std::string batched(const std::string& content,
                      const std::string& type = "multipart/mixed; boundary=b") {
    return outcome(as_owner("POST", "/$batch", content, {{"Content-Type", type}}));
  }

  std::string batched_by(const SasFields& fields, const std::string& content) {
    const std::string url = address + "/$batch?" + test::query_of(test::with_signature(fields));
    return outcome(
        send(Request{"POST", url, {{"Content-Type", "multipart/mixed; boundary=b"}}, content, {}}));
  }

  // The row keys of "people", the rows of "others" and the list of tables.
  std::string contents() {
    const std::vector<HeaderView> plain = {{"Accept", "application/json;odata=nometadata"}};
    return as_owner("GET", "/people?$select=RowKey", {}, plain).body +
           as_owner("GET", "/others", {}, plain).body + as_owner("GET", "/Tables", {}, plain).body;
  }

 private:
  // The statuses of a successful batch's parts, or the error code.
  static std::string outcome(const Response& response) {
    const std::string code = test::header_value(response, "x-ms-error-code");
    if (!code.empty()) return code;
    const std::string begin = R"("odata.error":{"code":")";
    const std::size_t at = response.body.find(begin);
    if (at != std::string::npos) {
      const std::size_t from = at + begin.size();
      return response.body.substr(from, response.body.find('"', from) - from);
    }
    std::string statuses;
    for (std::size_t i = response.body.find("HTTP/1.1 "); i != std::string::npos;
         i = response.body.find("HTTP/1.1 ", i + 1)) {
      statuses += (statuses.empty() ? "" : " ") + response.body.substr(i + 9, 3);
    }
    return statuses;
  }
};

// ---- Framing ------------------------------------------------------------------------------------

TEST_CASE("a part's claimed length or encoding moves no boundary") {
  for (const char* headers :
       {"\nContent-Length: 0", "\nContent-Length: 7", "\nContent-Length: 4194304",
        "\nContent-Length: 3\nContent-Length: 33", "\nContent-Length: -1", "\nContent-Length: x",
        "\nTransfer-Encoding: chunked", "\nTransfer-Encoding: chunked\nContent-Length: 5",
        "\nContent-Encoding: gzip", "\nConnection: close\nUpgrade: h2c\nExpect: 100-continue"}) {
    CAPTURE(headers);
    Server server;
    CHECK(server.batched(batch(insert(headers) + first)) == "201 201");
    CHECK(server.contents().find(R"([{"RowKey":"1"},{"RowKey":"2"},{"RowKey":"r"}])") !=
          std::string::npos);
  }
}

TEST_CASE("only the requests between the delimiters are executed") {
  const std::string other =
      part("DELETE " + address + "/people(PartitionKey='p',RowKey='r') HTTP/1.1\nIf-Match: *", "");
  const std::string good = batch(insert());
  for (const std::string& text :
       {"preamble\n" + good, good + batch(other), good + "epilogue\n--b\n",
        "--x\n" + mime + "DELETE /\n--x--\n" + good,
        change_set(insert() + "--c--\n" + other) + "--b--",
        "--b \nContent-Type: multipart/mixed; boundary=\"c\"\n\n" + insert() +
            "--c--\t\n--b--  "}) {
    CAPTURE(text);
    Server server;
    CHECK(server.batched(text) == "201");
    CHECK(server.contents().find(R"([{"RowKey":"2"},{"RowKey":"r"}])") != std::string::npos);
  }
}

// Tests pairs of boundaries where one is a prefix of the other.
TEST_CASE("a boundary is a whole line") {
  for (const auto& [outer, inner] : std::vector<std::pair<std::string, std::string>>{
           {"b", "bb"}, {"bb", "b"}, {"b", "b-"}, {"b", "-b"}, {"b", "--b"}}) {
    CAPTURE(outer, inner);
    const std::string text = "--" + outer + "\nContent-Type: multipart/mixed; boundary=" + inner +
                             "\n\n--" + inner + insert().substr(3) + "--" + inner + "--\n--" +
                             outer + "--\n";
    Server server;
    CHECK(server.batched(text, "multipart/mixed; boundary=" + outer) == "201");
  }
}

TEST_CASE("an ambiguous batch is rejected") {
  const std::string line = "POST " + address + "/people HTTP/1.1";
  const std::string type = "--b\nContent-Type: multipart/mixed; boundary=";
  Server server;
  const std::string before = server.contents();
  for (const std::string& text : {
           change_set(first + insert()),                   // no closing delimiter of the batch
           type + "c\n\n" + first + insert() + "--b--\n",  // no closing delimiter of the change set
           type + "b\n\n" + first + "--b--\n",             // batch and change set share a boundary
           type + "b--\n\n--b--\n" + mime + insert() + "--b----\n--b--\n",
           type + "c; boundary=d\n\n" + first + "--c--\n--b--\n",  // two boundaries
           "--b\nContent-Type: multipart/mixed; boundary=c\nContent-Type: multipart/mixed; "
           "boundary=d\n\n" +
               first + "--c--\n--b--\n",
           batch(first + "--c\nContent-Type: application/http\n" + mime + line + "\n\n" + body +
                 "\n"),
           batch(first + insert("\nAccept: a\n folded")),  // header folding
           batch(first + insert("\nAccept : a")),          // a blank before the colon
           batch(first + insert("\nno colon")),
           batch(first + insert("\nAccept: a\rIf-Match: *")),  // a bare carriage return
           batch(first + insert(std::string("\nAccept: \0", 10))),
           batch(first + part(line + " HTTP/1.1")),             // two HTTP versions
           batch(first + part("POST " + address + "/people")),  // no HTTP version
           batch(first + "--c\nContent-Type: multipart/mixed; boundary=d\n\n--d\n" + mime + line +
                 "\n\n" + body + "\n--d--\n"),                    // a change set in another
           change_set(first) + change_set(insert()) + "--b--\n",  // two change sets
           batch(first + part("GET " + address + "/people HTTP/1.1", "")),
           change_set(first) + "--b\n" + mime + "GET " + address + "/people HTTP/1.1\n\n--b--\n",
       }) {
    CAPTURE(text);
    CHECK(server.batched(text) == "InvalidInput");
  }
  CHECK(server.contents() == before);
}

TEST_CASE("a delimiter in a body ends it, so that the body is rejected") {
  Server server;
  const std::string before = server.contents();
  const std::string cut = R"({"PartitionKey":"p","RowKey":"3","text":")";
  for (const char* end : {"--c--\n", "--c\n", "--b--\n", "--b\n"}) {
    CAPTURE(end);
    CHECK(server.batched(batch(first + part("POST " + address + "/people HTTP/1.1",
                                            cut + "\n" + end + insert() + "\"}"))) ==
          "InvalidInput");
  }
  CHECK(server.contents() == before);
}

TEST_CASE("a part has headers of any number and length, up to the size of the batch") {
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += "\nx-" + std::to_string(i) + ": y";
  for (const std::string& headers : {many, "\nx: " + std::string(1'000'000, 'y')}) {
    Server server;
    CHECK(server.batched(batch(insert(headers))) == "201");
  }
  Server server;
  const std::string before = server.contents();
  const std::string longest(limits::request_bytes_max, 'y');
  CHECK(server.batched(batch(first + insert("\nx: " + longest))) == "RequestBodyTooLarge");
  CHECK(server.contents() == before);
}

TEST_CASE("more than 100 operations reject the whole batch") {
  Server server;
  const std::string before = server.contents();
  std::string parts;
  for (std::size_t i = 0; i <= limits::group_operations_max; ++i) {
    parts += part("POST " + address + "/people HTTP/1.1",
                  R"({"PartitionKey":"p","RowKey":"n)" + std::to_string(i) + "\"}");
  }
  CHECK(server.batched(batch(parts)) == "InvalidInput");
  CHECK(server.batched(batch(parts + parts + parts)) == "InvalidInput");
  CHECK(server.contents() == before);
}

// ---- Operations ---------------------------------------------------------------------------------

TEST_CASE("an operation is on this account, whatever its host") {
  for (const char* base : {"http://elsewhere.example/acct", "https://acct.table.core.windows.net",
                           "/acct", "//acct", "http://127.0.0.1:1/acct/", "", "/"}) {
    CAPTURE(base);
    Server server;
    CHECK(server.batched(batch(part("POST " + std::string(base) + "/people HTTP/1.1"))) == "201");
  }
  Server server;
  // A path without an account means the batch's account, not the resource that a wider path names.
  CHECK(server.batched("--b\n" + mime +
                       "GET /people?$filter=RowKey%20eq%20'/x' HTTP/1.1\n\n--b--") == "200");
  const std::string before = server.contents();
  for (const char* target :
       {"https://other.table.core.windows.net/people", "http://127.0.0.1:10002/other/people",
        "/other/people", "//other/acct/people", "/acct/others/../people", "people", "/people/x",
        "ftp://h/acct/people", "http:///acct/people", "/acct"}) {
    CAPTURE(target);
    const std::string code =
        server.batched(batch(first + part("POST " + std::string(target) + " HTTP/1.1")));
    CHECK((code == "InvalidInput" || code == "InvalidUri" || code == "MethodNotAllowed"));
  }
  CHECK(server.contents() == before);
}

TEST_CASE("the secondary address of an operation is read-only, like that of a batch") {
  Server server;
  const std::string before = server.contents();
  for (const char* base : {"/acct-secondary", "https://acct-secondary.table.core.windows.net"}) {
    CAPTURE(base);
    const std::string entity = std::string(base) + "/people(PartitionKey='p',RowKey='r') HTTP/1.1";
    CHECK(server.batched(batch(part("PUT " + entity, "{}"))) == "InsufficientAccountPermissions");
    CHECK(server.batched(batch(first + part("DELETE " + entity + "\nIf-Match: *"))) ==
          "InsufficientAccountPermissions");
    CHECK(server.contents() == before);
    CHECK(server.batched("--b\n" + mime + "GET " + entity + "\n\n--b--") == "200");
  }
  const std::string stranger = batch(part("POST /acct-secondary/people HTTP/1.1"));
  CHECK(server.batched_by(test::sas_of_table("people", "r"), stranger) ==
        "AuthorizationPermissionMismatch");
}

TEST_CASE("only entities of one table are written") {
  Server server;
  const std::string before = server.contents();
  const auto refused = [&](const std::string& request, const std::string& content) {
    return server.batched(batch(first + part(request, content)));
  };
  CHECK(refused("POST /acct/others HTTP/1.1", body) == "CommandsInBatchActOnDifferentPartitions");
  CHECK(refused("POST /acct/Tables HTTP/1.1", R"({"TableName":"more"})") == "InvalidInput");
  CHECK(refused("DELETE /acct/Tables('others') HTTP/1.1", "") == "InvalidInput");
  CHECK(refused("PUT /acct/people?comp=acl HTTP/1.1", "") == "InvalidInput");
  CHECK(refused("PUT /acct/?restype=service&comp=properties HTTP/1.1", "") == "InvalidInput");
  CHECK(refused("OPTIONS /acct/people HTTP/1.1", "") == "InvalidHttpVerb");
  CHECK(refused("POST /acct/$batch HTTP/1.1\nContent-Type: multipart/mixed; boundary=d",
                "--d\nContent-Type: multipart/mixed; boundary=e\n\n--e\n" + mime +
                    "POST /acct/people HTTP/1.1\n\n" + body + "\n--e--\n--d--\n") ==
        "InvalidInput");
  CHECK(server.contents() == before);
}

TEST_CASE("the method of an operation may be tunnelled once, and only to a write") {
  const std::string target = " /acct/people(PartitionKey='p',RowKey='r') HTTP/1.1\nIf-Match: *";
  const auto tunnelled = [&](const std::string& method, const std::string& headers) {
    return batch(first + part(method + target + headers, "{}"));
  };
  Server server;
  const std::string before = server.contents();
  CHECK(server.batched(tunnelled("POST", "\nX-HTTP-Method: PUT\nX-HTTP-Method: DELETE")) ==
        "XMethodIncorrectCount");
  CHECK(server.batched(tunnelled("POST", "\nX-HTTP-Method: GET")) == "XMethodIncorrectValue");
  CHECK(server.batched(tunnelled("PUT", "\nX-HTTP-Method: DELETE")) == "XMethodNotUsingPost");
  CHECK(server.batched(batch(tunnelled("GET", "\nX-HTTP-Method: DELETE"))) == "InvalidInput");
  CHECK(server.batched("--b\n" + mime + "GET" + target + "\nX-HTTP-Method: DELETE\n\n--b--") ==
        "XMethodNotUsingPost");
  CHECK(server.contents() == before);
  CHECK(server.batched(tunnelled("POST", "\nX-HTTP-Method: DELETE")) == "201 204");
  CHECK(server.contents().find(R"([{"RowKey":"1"}])") != std::string::npos);
}

// ---- Permission ---------------------------------------------------------------------------------

TEST_CASE("an operation has the permission of its batch, whatever its own credentials") {
  Server server;
  const std::string before = server.contents();
  const std::string everything =
      "/people?" + test::query_of(test::with_signature(test::sas_of_table("people", "raud")));
  const SasFields reader = test::sas_of_table("people", "r");
  for (const std::string& request :
       {std::string(
            "POST /acct/people HTTP/1.1\nAuthorization: SharedKey acct:AAAA\nHost: 127.0.0.1"),
        "POST /acct" + everything + " HTTP/1.1",
        std::string("POST /acct/people(PartitionKey='p',RowKey='r') HTTP/1.1\nX-HTTP-Method: "
                    "MERGE\nIf-Match: *"),
        std::string("DELETE /acct/people(PartitionKey='p',RowKey='r') HTTP/1.1\nIf-Match: *")}) {
    CAPTURE(request);
    CHECK(server.batched_by(reader, batch(part(request))) == "AuthorizationPermissionMismatch");
  }
  SasFields one_row = test::sas_of_table("people", "raud");
  one_row.spk = one_row.epk = "p";
  one_row.srk = one_row.erk = "1";
  CHECK(server.batched_by(one_row, batch(first + insert())) == "AuthorizationFailure");
  CHECK(server.batched_by(test::sas_of_table("others", "raud"), batch(insert())) ==
        "AuthorizationFailure");
  CHECK(server.contents() == before);
  CHECK(server.batched_by(one_row, batch(first)) == "201");
}

TEST_CASE("a duplicate condition does not turn an update into an upsert") {
  Server server;
  const std::string before = server.contents();
  const SasFields updater = test::sas_of_table("people", "u");
  const auto put = [&](const std::string& conditions) {
    return server.batched_by(
        updater,
        batch(part("PUT /acct/people(PartitionKey='p',RowKey='new') HTTP/1.1" + conditions, "{}")));
  };
  CHECK(put("") == "AuthorizationPermissionMismatch");
  CHECK(put("\nIf-Match:\nIf-Match: *") == "AuthorizationPermissionMismatch");
  CHECK(put("\nIf-Match: *\nIf-Match:") == "InvalidInput");
  CHECK(put("\nIf-Match: *\nIf-Match: *") == "InvalidInput");
  CHECK(put("\nIf-Match: *\nIf-None-Match: *") == "InvalidInput");
  CHECK(put("\nIf-Match: *") == "ResourceNotFound");
  CHECK(server.contents() == before);
}

}  // namespace
}  // namespace entitable::rest
