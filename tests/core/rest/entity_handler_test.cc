#include "core/rest/entity_handler.h"

#include <string>
#include <string_view>

#include "core/model/limits.h"
#include "core/rest/odata_response_json.h"
#include "tests/core/rest/conversation.h"
#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

TEST_CASE("conversation: entities") {
  test::check_conversation("entities");
}

TEST_CASE("conversation: queries and pages") {
  test::check_conversation("queries");
}

class People : public test::RestServer {
 public:
  People() { send("POST", "/Tables", {}, R"({"TableName":"people"})"); }

  // The error code of an upsert; empty if it succeeded.
  std::string put(std::string_view body) {
    const std::string before = store().verify();
    CHECK(before.empty());
    return test::header_value(send("PUT", "/people(PartitionKey='p',RowKey='r')", {}, body),
                              "x-ms-error-code");
  }
  bool is_there() { return send("GET", "/people(PartitionKey='p',RowKey='r')").status == 200; }
};

std::string properties(std::size_t count, const std::string& value) {
  std::string body = "{";
  for (std::size_t i = 0; i < count; ++i) {
    body += (i == 0 ? "\"p" : ",\"p") + std::to_string(i) + "\":" + value;
  }
  return body + "}";
}

TEST_CASE("limits of a request, on both sides") {
  People people;
  SECTION("4 MiB of body") {
    std::string body = "{}";
    body.append(limits::request_bytes_max - body.size(), ' ');
    CHECK(people.put(body + " ") == "RequestBodyTooLarge");
    CHECK_FALSE(people.is_there());
    CHECK(people.put(body).empty());
  }
  SECTION("252 properties") {
    CHECK(people.put(properties(253, "1")) == "TooManyProperties");
    CHECK_FALSE(people.is_there());
    CHECK(people.put(properties(252, "1")).empty());
  }
  SECTION("255 units of a name") {
    CHECK(people.put("{\"" + std::string(256, 'n') + "\":1}") == "PropertyNameTooLong");
    CHECK(people.put("{\"" + std::string(255, 'n') + "\":1}").empty());
  }
  SECTION("32768 units of a string") {
    CHECK(people.put("{\"a\":\"" + std::string(32'769, 's') + "\"}") == "PropertyValueTooLarge");
    CHECK(people.put("{\"a\":\"" + std::string(32'768, 's') + "\"}").empty());
  }
  SECTION("1 MiB of an entity") {
    const std::string half(32'000, 's');
    CHECK(people.put(properties(17, "\"" + half + "\"")) == "EntityTooLarge");
    CHECK_FALSE(people.is_there());
    CHECK(people.put(properties(16, "\"" + half + "\"")).empty());
  }
}

TEST_CASE("the order of errors") {
  People people;
  const auto code = [&](std::string_view method, std::string_view path,
                        const std::vector<HeaderView>& headers, std::string_view body) {
    return test::header_value(people.send(method, path, headers, body), "x-ms-error-code");
  };
  const std::string entity = "/nowhere(PartitionKey='a%2Fb',RowKey='r')";
  // Each request also has the errors of all requests below it.
  CHECK(code("PUT", entity + "x", {{"x-ms-version", "x"}, {"Accept", "x/y"}}, "{") ==
        "InvalidInput");
  CHECK(code("PUT", entity, {{"x-ms-version", "x"}, {"Accept", "x/y"}}, "{") ==
        "InvalidHeaderValue");
  CHECK(code("PUT", entity, {{"Accept", "x/y"}, {"Content-Type", "x/y"}}, "{") ==
        "MediaTypeNotSupported");
  CHECK(code("PUT", entity, {{"Content-Type", "application/atom+xml"}}, "{") ==
        "AtomFormatNotSupported");
  CHECK(code("PUT", entity, {}, "{\"bad name\":1}") == "PropertyNameInvalid");
  CHECK(code("PUT", entity, {}, "{}") == "TableNotFound");
  CHECK(code("PUT", "/people(PartitionKey='a%2Fb',RowKey='r')", {{"If-Match", "*"}}, "{}") ==
        "InvalidInput");
  CHECK(code("PUT", "/people(PartitionKey='ab',RowKey='r')", {{"If-Match", "*"}}, "{}") ==
        "ResourceNotFound");
}

// Inserts entities whose text takes six times as many bytes in JSON: 2.95 MB each.
void insert_control_characters(People& people, int count) {
  const std::string text(limits::string_units_max, '\x01');
  for (int i = 0; i < count; ++i) {
    Operation put{OperationKind::insert, EntityKey("p", std::to_string(10 + i)), {}, {}};
    for (char name = 'a'; name < 'p'; ++name) {
      put.properties.push_back({std::string(1, name), Value::of_string(text)});
    }
    WriteEntities write{"people", {std::move(put)}, false, false};
    const StageResult done = people.store().write({std::nullopt, std::move(write)}, people.now());
    REQUIRE(std::holds_alternative<WriteSuccess>(done.results.at(0)));
  }
}

TEST_CASE("a page ends before its body exceeds the limit, and the next page goes on") {
  People people;
  constexpr int count = 25;
  insert_control_characters(people, count);
  const auto get = [&](const std::string& options) {
    Response page =
        people.send("GET", "/people()?$select=RowKey,a,b,c,d,e,f,g,h,i,j,k,l,m,n,o" + options,
                    {{"Accept", "application/json;odata=nometadata"}});
    REQUIRE(page.status == 200);
    CHECK(page.body.ends_with("\"}]}"));
    return page;
  };
  const Response first = get("");
  CHECK(first.body.size() <= page_body_bytes_max);
  const auto row_bytes = first.body.size() / first.rows.returned;
  CHECK(first.body.size() + row_bytes > page_body_bytes_max);
  CHECK(first.rows.returned == 22);
  const std::string next = test::header_value(first, "x-ms-continuation-NextRowKey");
  REQUIRE_FALSE(next.empty());
  const Response second =
      get("&NextPartitionKey=" + test::header_value(first, "x-ms-continuation-NextPartitionKey") +
          "&NextRowKey=" + next);
  CHECK(second.body.starts_with("{\"value\":[{\"RowKey\":\"32\","));
  CHECK(second.rows.returned == 3);
  CHECK(test::header_value(second, "x-ms-continuation-NextRowKey").empty());
}

TEST_CASE("every page of a query begins where the previous page ended") {
  People people;
  std::string expected;
  for (int i = 0; i < 7; ++i) {
    const std::string key = std::to_string(i);
    const std::string body =
        "{\"PartitionKey\":\"" + std::to_string(i / 3) + "\",\"RowKey\":\"" + key + "\"}";
    REQUIRE(people.send("POST", "/people", {}, body).status == 201);
    expected += key;
  }
  std::string seen;
  std::string from;
  int pages = 0;
  do {
    const Response page = people.send("GET", "/people()?$top=2&$select=RowKey" + from,
                                      {{"Accept", "application/json;odata=nometadata"}});
    for (const char c : page.body) {
      if (c >= '0' && c <= '9') seen += c;
    }
    const std::string next = test::header_value(page, "x-ms-continuation-NextPartitionKey");
    from = next.empty()
               ? ""
               : "&NextPartitionKey=" + next +
                     "&NextRowKey=" + test::header_value(page, "x-ms-continuation-NextRowKey");
    ++pages;
  } while (!from.empty());
  CHECK(seen == expected);
  CHECK(pages == 4);
}

}  // namespace
}  // namespace entitable::rest
