#include "core/rest/odata_response_json.h"

#include <string>

#include "tests/core/rest/conversation.h"
#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

TEST_CASE("conversation: levels of metadata") {
  test::check_conversation("metadata");
}

// The table gets so many sets of properties that some rows have the generic shape (shape.h).
TEST_CASE("rows without their own shape are written like others") {
  test::RestServer server;
  server.send("POST", "/Tables", {}, R"({"TableName":"many"})");
  const auto put = [&](const std::string& row, const std::string& body) {
    const Response response =
        server.send("PUT", "/many(PartitionKey='p',RowKey='" + row + "')", {}, body);
    REQUIRE(response.status == 204);
  };
  for (std::size_t i = 0; i < shapes_max; ++i) {
    put("x" + std::to_string(i), "{\"p" + std::to_string(i) + "\":1}");
  }
  put("a1", R"({"n":1,"l":"5","l@odata.type":"Edm.Int64"})");
  put("a2", R"({"n":"x","m":2})");
  const std::string query = "/many()?$filter=RowKey%20lt%20'b'";
  const std::vector<HeaderView> bare = {{"Accept", "application/json;odata=nometadata"}};
  const Response selected = server.send("GET", query + "&$select=m,n,RowKey", bare);
  CHECK(selected.body ==
        R"({"value":[{"m":null,"n":1,"RowKey":"a1"},{"m":2,"n":"x","RowKey":"a2"}]})");
  const Response typed = server.send("GET", query + "&$select=l", {});
  CHECK(typed.body.find(R"("l@odata.type":"Edm.Int64","l":"5")") != std::string::npos);
  const Response all = server.send("GET", query, bare);
  CHECK(all.body.find(R"("l":"5","n":1})") != std::string::npos);
  CHECK(all.body.find(R"("m":2,"n":"x"})") != std::string::npos);
}

TEST_CASE("selected names may be any text") {
  ODataContext odata;
  odata.level = MetadataLevel::minimal;
  odata.base = "http://h/acct";
  odata.select = "a\"b,TableName";
  CHECK(tables_json(odata, {"people"}, {"a\"b", "TableName"}) ==
        R"({"odata.metadata":"http://h/acct/$metadata#Tables&$select=a%22b,TableName",)"
        R"("value":[{"a\"b":null,"TableName":"people"}]})");
}

}  // namespace
}  // namespace entitable::rest
