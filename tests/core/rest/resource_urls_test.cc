#include "core/rest/resource_urls.h"

#include <string>

#include "core/rest/resource_uri.h"
#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

TEST_CASE("URLs are those recorded from the service") {
  CHECK(entity_url("https://acct.table.core.windows.net", "people", {"A'aa\"_bbbb2", "b"}) ==
        "https://acct.table.core.windows.net/people(PartitionKey='A''aa%22_bbbb2',RowKey='b')");
  CHECK(entity_url("http://h/acct", "t", {"o'x", "\xC3\xBC 1"}) ==
        "http://h/acct/t(PartitionKey='o''x',RowKey='%C3%BC%201')");
  CHECK(entity_url("http://h/acct", "t", {"", "''"}) ==
        "http://h/acct/t(PartitionKey='',RowKey='''''')");
  CHECK(table_url("http://h/acct", "people") == "http://h/acct/Tables('people')");
}

TEST_CASE("a URL is parsed back into its key") {
  for (const char* text : {"", "a", "o'x", "''", "a,b", "(c)", "%41", "a+b", " ",
                           "\xF0\x9F\x98\x80", "\xED\xA0\x80", "&=;@"}) {
    CAPTURE(text);
    const std::string url = entity_url("http://h/acct", "people", {text, text});
    const auto uri = parse_resource_uri(url, "acct");
    REQUIRE(uri.ok());
    CHECK(uri->key == EntityKey(text, text));
  }
}

}  // namespace
}  // namespace entitable::rest
