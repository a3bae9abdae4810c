#include "core/rest/resource_uri.h"

#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

ResourceUri read(std::string_view url, std::string_view served = "acct") {
  CAPTURE(std::string(url));
  auto uri = parse_resource_uri(url, served);
  REQUIRE(uri.ok());
  return *uri;
}

Error refused(std::string_view url) {
  CAPTURE(std::string(url));
  const auto uri = parse_resource_uri(url, "acct");
  REQUIRE_FALSE(uri.ok());
  return uri.error();
}

const Error no_resource(ErrorCode::invalid_uri);
const Error bad_syntax(ErrorCode::invalid_input, "Bad Request - Error in query syntax.");

EntityKey key_of(const std::string& predicate) {
  const ResourceUri uri = read("http://h/acct/people" + predicate);
  REQUIRE(uri.resource == ResourceKind::entity);
  CHECK(uri.table == "people");
  return uri.key;
}

TEST_CASE("path style has the account in the path") {
  const ResourceUri uri = read("http://127.0.0.1:10002/acct/Tables?$top=1&x=%20#fragment");
  CHECK(uri.resource == ResourceKind::tables);
  CHECK(uri.account == "acct");
  CHECK_FALSE(uri.secondary);
  CHECK_FALSE(uri.https);
  CHECK(uri.base == "http://127.0.0.1:10002/acct");
  CHECK(uri.raw_path == "/acct/Tables");
  CHECK(uri.raw_query == "$top=1&x=%20");
}

TEST_CASE("host style has the account in the host") {
  const ResourceUri uri = read("https://acct.table.core.windows.net/people");
  CHECK(uri.resource == ResourceKind::entities);
  CHECK(uri.account == "acct");
  CHECK(uri.https);
  CHECK(uri.base == "https://acct.table.core.windows.net");
  CHECK(uri.raw_path == "/people");
  CHECK(uri.raw_query.empty());
  CHECK(read("HTTPS://ACCT.localhost:8080/people").account == "acct");
  CHECK(read("http://acct.localhost").resource == ResourceKind::service);
  // A host with ".table." names its account even if another account is served.
  CHECK(read("https://other.table.core.windows.net/people").account == "other");
  CHECK(read("http://other.example/acct/people").account == "acct");
}

TEST_CASE("a host with the account's name may also have the account in the path") {
  for (const char* url :
       {"http://acct.lan/acct/people", "http://acct.lan:10002/acct/people",
        "http://acct-secondary.lan/acct/people", "http://acct.lan/ACCT/people",
        "http://acct.table.lan/acct/people", "http://machine.table.lan/acct/people"}) {
    const ResourceUri uri = read(url);
    CHECK(uri.resource == ResourceKind::entities);
    CHECK(uri.table == "people");
    CHECK_FALSE(uri.secondary);
  }
  CHECK(read("http://acct.lan/acct/people").base == "http://acct.lan/acct");
  CHECK(read("http://acct.lan/acct/people").account == "acct");
  CHECK(read("http://acct.lan/acct-secondary/people").secondary);
  CHECK(read("http://acct.lan/acct?restype=service").resource == ResourceKind::service);
  CHECK(read("http://acct.lan/people").base == "http://acct.lan");
  CHECK(read("http://acct.table.lan/acct").table == "acct");
  CHECK(read("http://machine.table.lan/acct?restype=service").account == "acct");
  CHECK(refused("http://acct.table.lan/acct2/people") == no_resource);
}

TEST_CASE("secondary addresses") {
  const ResourceUri host = read("https://acct-secondary.table.core.windows.net/people");
  CHECK(host.account == "acct");
  CHECK(host.secondary);
  CHECK(host.base == "https://acct-secondary.table.core.windows.net");
  const ResourceUri path = read("http://h/acct-secondary/people?comp=acl");
  CHECK(path.account == "acct");
  CHECK(path.secondary);
  CHECK(path.base == "http://h/acct-secondary");
  CHECK(path.raw_path == "/acct-secondary/people");
}

TEST_CASE("kinds of resources") {
  CHECK(read("http://h/acct").resource == ResourceKind::service);
  CHECK(read("http://h/acct/").resource == ResourceKind::service);
  CHECK(read("http://h/acct?restype=service").resource == ResourceKind::service);
  CHECK(read("http://h/acct/Tables").resource == ResourceKind::tables);
  CHECK(read("http://h/acct/tables()").resource == ResourceKind::tables);
  CHECK(read("http://h/acct/$batch").resource == ResourceKind::batch);
  CHECK(read("http://h/acct/%24BATCH").resource == ResourceKind::batch);
  CHECK(read("http://h/acct/people").resource == ResourceKind::entities);
  CHECK(read("http://h/acct/people( )").resource == ResourceKind::entities);
  CHECK(read("http://h/acct//people/").table == "people");
  CHECK(read("http://h/acct/Tablesx").table == "Tablesx");
  const ResourceUri table = read("http://h/acct/Tables%28%27o''x%27%29");
  CHECK(table.resource == ResourceKind::table);
  CHECK(table.table == "o'x");
}

TEST_CASE("keys in an address") {
  CHECK(key_of("(PartitionKey='p',RowKey='r')") == EntityKey("p", "r"));
  CHECK(key_of("(PartitionKey='',RowKey='')") == EntityKey("", ""));
  CHECK(key_of("(PartitionKey='o''x',RowKey='%C3%BC%201')") == EntityKey("o'x", "\xC3\xBC 1"));
  CHECK(key_of("(PartitionKey=%27p%27,RowKey=%27a''''b%27)") == EntityKey("p", "a''b"));
  CHECK(key_of("(PartitionKey='a,b)',RowKey='(RowKey=''c''')") == EntityKey("a,b)", "(RowKey='c'"));
  CHECK(key_of("(PartitionKey='a+b',RowKey='%2B%25')") == EntityKey("a+b", "+%"));
  CHECK(key_of("%28PartitionKey%3D'a%2Fb'%2CRowKey='c'%29") == EntityKey("a/b", "c"));
  CHECK(key_of("( PartitionKey = 'p' ,%09RowKey = 'r' )") == EntityKey("p", "r"));
  CHECK(key_of("(RowKey='r',PartitionKey='p')") == EntityKey("p", "r"));
}

TEST_CASE("malformed keys") {
  for (const char* predicate :
       {"(PartitionKey='p')", "(RowKey='r')", "('p')", "(p,r)", "(PartitionKey='p',RowKey='r'",
        "(PartitionKey='p',RowKey='r)", "(PartitionKey=p,RowKey='r')",
        "(PartitionKey='p' RowKey='r')", "(PartitionKey='p',PartitionKey='r')",
        "(PartitionKey='p',RowKey='r',x='y')", "(PartitionKey='p',RowKey='r')x",
        "(partitionkey='p',rowkey='r')", "(PartitionKey='p',RowKey='r''')x", "(", "()x", "(x)",
        "(PartitionKey=\"p\",RowKey=\"r\")", "(PartitionKey='a/b',RowKey='r')"}) {
    CHECK(refused("http://h/acct/people" + std::string(predicate)) == bad_syntax);
  }
  CHECK(refused("http://h/acct/Tables(people)") == bad_syntax);
  CHECK(refused("http://h/acct/Tables('a','b')") == bad_syntax);
  CHECK(refused("http://h/acct/Tables(PartitionKey='p',RowKey='r')") == bad_syntax);
}

TEST_CASE("invalid addresses") {
  for (const char* url :
       {"", "/acct/people", "ftp://h/acct/people", "http://", "http:///acct/people", "http://h",
        "http://h/?x=1", "http://h/acct/people/more", "http://h/acct/()", "http://h/acct/people%zz",
        "http://h/acct/%FF", "http://h\xC3\xBC/acct/people", "http://h h/acct/people"}) {
    CHECK(refused(url) == no_resource);
  }
}

}  // namespace
}  // namespace entitable::rest
