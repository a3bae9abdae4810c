#include "core/rest/route.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

Result<RouteEntry> route(std::string_view method, const std::string& path) {
  const std::string url = "http://h/acct" + path;
  const auto uri = parse_resource_uri(url, "acct");
  REQUIRE(uri.ok());
  const auto options = parse_query_parameters(uri->raw_query);
  REQUIRE(options.ok());
  return find_route(method, *uri, *options);
}

ErrorCode error_code_of(std::string_view method, const std::string& path) {
  CAPTURE(std::string(method), path);
  const auto found = route(method, path);
  REQUIRE_FALSE(found.ok());
  return found.error().code;
}

std::string path_of(const RouteEntry& line) {
  switch (line.resource) {
    case ResourceKind::service:
      return "/?restype=service&comp=" + std::string(line.comp);
    case ResourceKind::tables:
      return "/Tables";
    case ResourceKind::table:
      return "/Tables('name')";
    case ResourceKind::entities:
      return "/name" + (line.comp.empty() ? "" : "?comp=" + std::string(line.comp));
    case ResourceKind::entity:
      return "/name(PartitionKey='p',RowKey='r')";
    case ResourceKind::batch:
      break;
  }
  return "/$batch";
}

TEST_CASE("every route is found by its URL") {
  for (const RouteEntry& line : all_routes()) {
    CAPTURE(std::string(line.method), path_of(line));
    const auto found = route(line.method, path_of(line));
    REQUIRE(found.ok());
    CHECK(found->route == line.route);
    CHECK(found->action == line.action);
    CHECK(found->writes == line.writes);
  }
}

TEST_CASE("URLs without an operation") {
  CHECK(error_code_of("BREW", "/name") == ErrorCode::invalid_http_verb);
  CHECK(error_code_of("get", "/name") == ErrorCode::invalid_http_verb);
  CHECK(error_code_of("OPTIONS", "/name") == ErrorCode::invalid_http_verb);  // has no route
  CHECK(error_code_of("DELETE", "/name") == ErrorCode::method_not_allowed);
  CHECK(error_code_of("PUT", "/$batch") == ErrorCode::method_not_allowed);
  CHECK(error_code_of("GET", "/") == ErrorCode::invalid_uri);
  CHECK(error_code_of("GET", "/?restype=service") == ErrorCode::invalid_uri);
  CHECK(error_code_of("GET", "/?comp=properties") == ErrorCode::invalid_query_parameter);
  CHECK(error_code_of("GET", "/?restype=table&comp=properties") ==
        ErrorCode::invalid_query_parameter);
  CHECK(error_code_of("GET", "/?restype=service&comp=acl") == ErrorCode::invalid_query_parameter);
  CHECK(error_code_of("GET", "/name?comp=stats") == ErrorCode::invalid_query_parameter);
  CHECK(error_code_of("GET", "/name?comp=ACL") == ErrorCode::invalid_query_parameter);
  CHECK(error_code_of("GET", "/Tables?comp=acl") == ErrorCode::invalid_query_parameter);
  CHECK(error_code_of("GET", "/name(PartitionKey='p',RowKey='r')?comp=acl") ==
        ErrorCode::invalid_query_parameter);
  CHECK(error_code_of("GET", "/name?restype=service") == ErrorCode::invalid_query_parameter);
}

// The first table of COMPATIBILITY.md has a line for each route, and no other.
TEST_CASE("COMPATIBILITY.md lists every route") {
  std::ifstream in(ENTITABLE_TESTDATA "/../../core/rest/COMPATIBILITY.md");
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  text.resize(std::min(text.find("\n## "), text.size()));
  REQUIRE_FALSE(text.empty());
  std::size_t said = 0;
  for (std::size_t at = text.find("\n| `"); at != std::string::npos;
       at = text.find("\n| `", at + 1)) {
    ++said;
  }
  for (const RouteEntry& line : all_routes()) {
    const std::string address = "\n| `" + std::string(line.method) + " " + path_of(line) + "` |";
    CAPTURE(address);
    CHECK(text.find(address) != std::string::npos);
  }
  CHECK(said == all_routes().size() + 1);  // OPTIONS is listed but has no route
}

}  // namespace
}  // namespace entitable::rest
