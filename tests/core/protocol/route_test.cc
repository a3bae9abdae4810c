#include "core/protocol/route.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace entitable::protocol {
namespace {

Result<RouteLine> route(std::string_view method, const std::string& path) {
  const std::string url = "http://h/acct" + path;
  const auto uri = parse_uri(url, "acct");
  REQUIRE(uri.ok());
  const auto options = parse_query_options(uri->raw_query);
  REQUIRE(options.ok());
  return find_route(method, *uri, *options);
}

Code refused(std::string_view method, const std::string& path) {
  CAPTURE(std::string(method), path);
  const auto found = route(method, path);
  REQUIRE_FALSE(found.ok());
  return found.error().code;
}

std::string path_of(const RouteLine& line) {
  switch (line.resource) {
    case Resource::service:
      return "/?restype=service&comp=" + std::string(line.comp);
    case Resource::tables:
      return "/Tables";
    case Resource::table:
      return "/Tables('name')";
    case Resource::entities:
      return "/name" + (line.comp.empty() ? "" : "?comp=" + std::string(line.comp));
    case Resource::entity:
      return "/name(PartitionKey='p',RowKey='r')";
    case Resource::batch:
      break;
  }
  return "/$batch";
}

TEST_CASE("every line is found by its own address") {
  for (const RouteLine& line : all_routes()) {
    CAPTURE(std::string(line.method), path_of(line));
    const auto found = route(line.method, path_of(line));
    REQUIRE(found.ok());
    CHECK(found->route == line.route);
    CHECK(found->action == line.action);
    CHECK(found->writes == line.writes);
  }
}

TEST_CASE("addresses without an operation") {
  CHECK(refused("BREW", "/name") == Code::invalid_http_verb);
  CHECK(refused("get", "/name") == Code::invalid_http_verb);
  CHECK(refused("OPTIONS", "/name") == Code::invalid_http_verb);  // answered before
  CHECK(refused("DELETE", "/name") == Code::method_not_allowed);
  CHECK(refused("PUT", "/$batch") == Code::method_not_allowed);
  CHECK(refused("GET", "/") == Code::invalid_uri);
  CHECK(refused("GET", "/?restype=service") == Code::invalid_uri);
  CHECK(refused("GET", "/?comp=properties") == Code::invalid_query_parameter);
  CHECK(refused("GET", "/?restype=table&comp=properties") == Code::invalid_query_parameter);
  CHECK(refused("GET", "/?restype=service&comp=acl") == Code::invalid_query_parameter);
  CHECK(refused("GET", "/name?comp=stats") == Code::invalid_query_parameter);
  CHECK(refused("GET", "/name?comp=ACL") == Code::invalid_query_parameter);
  CHECK(refused("GET", "/Tables?comp=acl") == Code::invalid_query_parameter);
  CHECK(refused("GET", "/name(PartitionKey='p',RowKey='r')?comp=acl") ==
        Code::invalid_query_parameter);
  CHECK(refused("GET", "/name?restype=service") == Code::invalid_query_parameter);
}

// The first table of COMPATIBILITY.md has a line for each route, and no other.
TEST_CASE("what is said of compatibility is complete") {
  std::ifstream in(ENTITABLE_TESTDATA "/../../core/protocol/COMPATIBILITY.md");
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  text.resize(std::min(text.find("\n## "), text.size()));
  REQUIRE_FALSE(text.empty());
  std::size_t said = 0;
  for (std::size_t at = text.find("\n| `"); at != std::string::npos;
       at = text.find("\n| `", at + 1)) {
    ++said;
  }
  for (const RouteLine& line : all_routes()) {
    const std::string address = "\n| `" + std::string(line.method) + " " + path_of(line) + "` |";
    CAPTURE(address);
    CHECK(text.find(address) != std::string::npos);
  }
  CHECK(said == all_routes().size() + 1);  // OPTIONS is no route
}

}  // namespace
}  // namespace entitable::protocol
