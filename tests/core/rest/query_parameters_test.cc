#include "core/rest/query_parameters.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"

namespace entitable::rest {
namespace {

QueryParameters read(std::string_view query) {
  CAPTURE(std::string(query));
  auto options = parse_query_parameters(query);
  REQUIRE(options.ok());
  return *options;
}

ErrorCode error_code_of(std::string_view query) {
  CAPTURE(std::string(query));
  const auto options = parse_query_parameters(query);
  REQUIRE_FALSE(options.ok());
  return options.error().code;
}

TEST_CASE("parameters are decoded") {
  const QueryParameters options = read(
      "&$filter=a%20eq+1&%24select=a%2Cb&$top=3&$format=application/json%3Bodata=nometadata&"
      "NextPartitionKey=1!4!YQ--&NextRowKey=&NextTableName=a+b&comp=acl&restype=service&timeout=30&"
      "sv=2019-02-02&sig=%zz&");
  CHECK(options.filter == "a eq 1");
  CHECK(options.select == "a,b");
  CHECK(options.top == "3");
  CHECK(options.format == "application/json;odata=nometadata");
  CHECK(options.next_partition_key == "1!4!YQ--");
  CHECK(options.next_row_key == "");
  CHECK(options.next_table_name == "a+b");
  CHECK(options.comp == "acl");
  CHECK(options.restype == "service");
  CHECK(options.sv == "2019-02-02");
  CHECK_FALSE(options.unsupported);
  CHECK_FALSE(read("").filter.has_value());
  CHECK(read("$filter").filter == "");
  CHECK(read("$filter=a=b").filter == "a=b");
}

TEST_CASE("names are case-sensitive and unknown names are ignored") {
  const QueryParameters options = read("filter=1&TIMEOUT=x&top=5&nextpartitionkey=a&%zz=1&=x");
  CHECK_FALSE(options.filter.has_value());
  CHECK_FALSE(options.top.has_value());
  CHECK_FALSE(options.next_partition_key.has_value());
  CHECK(reject_unsupported_options(options).ok());
}

TEST_CASE("unsupported options") {
  for (const char* query : {"$orderby=a", "$skip=1", "$inlinecount=allpages", "$expand=a",
                            "%24skiptoken=x", "$Filter=a", "$"}) {
    CHECK(reject_unsupported_options(read(query)).error().code == ErrorCode::not_implemented);
  }
}

TEST_CASE("duplicate or malformed parameters") {
  for (const char* name : {"$filter", "$select", "$top", "$format", "NextPartitionKey",
                           "NextRowKey", "NextTableName", "comp", "restype", "timeout", "sv"}) {
    const std::string once = std::string(name) + "=1";
    read(once);
    CHECK(error_code_of(once + "&" + once) == ErrorCode::invalid_query_parameter);
  }
  CHECK(error_code_of("$filter=%2") == ErrorCode::invalid_query_parameter);
  CHECK(error_code_of("$filter=%FF") == ErrorCode::invalid_query_parameter);
}

TEST_CASE("timeout") {
  read("timeout=1");
  read("timeout=31");
  read("timeout=99999999999999999999");
  for (const char* query : {"timeout=", "timeout=x", "timeout=1.5", "timeout=+1", "timeout=--1"}) {
    CHECK(error_code_of(query) == ErrorCode::invalid_query_parameter);
  }
  CHECK(error_code_of("timeout=0") == ErrorCode::query_parameter_out_of_range);
  CHECK(error_code_of("timeout=-1") == ErrorCode::query_parameter_out_of_range);
}

TEST_CASE("$top") {
  CHECK(*parse_top_option(read("")) == 1000);
  CHECK(*parse_top_option(read("$top=0")) == 0);
  CHECK(*parse_top_option(read("$top=1000")) == 1000);
  CHECK(*parse_top_option(read("$top=007")) == 7);
  for (const char* query : {"$top=1001", "$top=-1", "$top=-0", "$top=", "$top=x", "$top=1.0",
                            "$top=%201", "$top=+1", "$top=4294967297"}) {
    CAPTURE(query);
    const auto top = parse_top_option(read(query));
    REQUIRE_FALSE(top.ok());
    CHECK(top.error() == Error(ErrorCode::invalid_input));
  }
}

TEST_CASE("$filter and its maximum length") {
  Account account;
  CHECK(parse_filter_option(read(""), account)->empty());
  CHECK(parse_filter_option(read("$filter=+"), account)->empty());
  CHECK(to_sexpr(*parse_filter_option(read("$filter=a+eq+'%2B'"), account)) == "(eq a '+')");
  CHECK(parse_filter_option(read("$filter=a"), account).ok());
  CHECK(parse_filter_option(read("$filter=a%20b"), account).error() ==
        Error(ErrorCode::invalid_input, "Syntax error at position 3 in 'a b'."));

  std::string fifteen = "$filter=a eq 1";
  for (int i = 1; i < 15; ++i) fifteen += " or a eq 1";
  const std::string sixteen = fifteen + " or a eq 1";
  CHECK(parse_filter_option(read(sixteen), account).ok());
  account.limit_comparisons = true;
  CHECK(parse_filter_option(read(fifteen), account).ok());
  CHECK(parse_filter_option(read(sixteen), account).error() == Error(ErrorCode::invalid_input));
}

TEST_CASE("$select") {
  CHECK(parse_select_option(read(""))->empty());
  CHECK(parse_select_option(read("$select="))->empty());
  CHECK(parse_select_option(read("$select=*"))->empty());
  CHECK(*parse_select_option(read("$select=b,+a%20,b")) == std::vector<std::string>{"b", "a"});
}

TEST_CASE("continuation of a query") {
  CHECK_FALSE(parse_continuation(read(""))->has_value());
  CHECK_FALSE(parse_continuation(read("NextPartitionKey="))->has_value());
  CHECK_FALSE(parse_continuation(read("NextRowKey=nonsense"))->has_value());
  CHECK(**parse_continuation(read("NextPartitionKey=1!4!YQ--")) ==
        Continuation{EntityKey("a", "")});
  CHECK(**parse_continuation(read("NextPartitionKey=1!4!YQ--&NextRowKey=1!4!Yg--")) ==
        Continuation{EntityKey("a", "b")});
  CHECK(**parse_continuation(read("NextPartitionKey=a%2Bb&NextRowKey=c+d")) ==
        Continuation{EntityKey("a+b", "c+d")});
  CHECK(parse_continuation(read("NextPartitionKey=1!2!YQ")).error() ==
        Error(ErrorCode::invalid_input));
  CHECK(parse_continuation(read("NextPartitionKey=1!0!&NextRowKey=1!2!YQ")).error() ==
        Error(ErrorCode::invalid_input));
}

}  // namespace
}  // namespace entitable::rest
