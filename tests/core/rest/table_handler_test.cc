#include "core/rest/table_handler.h"

#include <string>

#include "core/model/limits.h"
#include "tests/core/rest/conversation.h"
#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

TEST_CASE("conversation: tables") {
  test::check_conversation("tables");
}

TEST_CASE("the body of Create Table may be 4 MiB") {
  test::RestServer server;
  std::string body = R"({"TableName":"people"})";
  body.append(limits::request_bytes_max - body.size(), ' ');
  CHECK(server.send("POST", "/Tables", {}, body + " ").status == 413);
  CHECK(server.send("POST", "/Tables", {}, body).status == 201);
}

TEST_CASE("pages of tables are contiguous") {
  test::RestServer server;
  for (const char* name : {"delta", "Alpha", "charlie", "Bravo"}) {
    const std::string body = "{\"TableName\":\"" + std::string(name) + "\"}";
    REQUIRE(server.send("POST", "/Tables", {}, body).status == 201);
  }
  std::string all;
  std::string token;
  do {
    const Response page =
        server.send("GET", "/Tables?$top=1" + (token.empty() ? "" : "&NextTableName=" + token),
                    {{"Accept", "application/json;odata=nometadata"}});
    all += page.body;
    token = test::header_value(page, "x-ms-continuation-NextTableName");
  } while (!token.empty());
  CHECK(all == R"({"value":[{"TableName":"Alpha"}]}{"value":[{"TableName":"Bravo"}]})"
               R"({"value":[{"TableName":"charlie"}]}{"value":[{"TableName":"delta"}]})");
}

}  // namespace
}  // namespace entitable::rest
