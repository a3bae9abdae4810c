// The parameters of a URL's query string that the service knows. Names are case-sensitive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/filter/ast.h"
#include "core/query/query.h"
#include "core/rest/account_settings.h"

namespace entitable::rest {

// The percent-decoded values. In $filter, $select and $format a '+' is a space.
struct QueryParameters {
  std::optional<std::string> filter;  // $filter
  std::optional<std::string> select;  // $select
  std::optional<std::string> top;     // $top
  std::optional<std::string> format;  // $format
  std::optional<std::string> next_partition_key, next_row_key, next_table_name;
  std::optional<std::string> comp, restype;
  std::optional<std::string> timeout;
  std::optional<std::string> sv;  // the version of a shared access signature
  bool unsupported = false;       // there is another name that begins with '$'
};

// Parses the query part of a URL. Ignores unknown parameters that do not begin with '$'. A valid
// `timeout` has no effect. Errors: InvalidQueryParameterValue if one of the parameters above occurs
// twice, its value has malformed escapes, or `timeout` is not a number;
// OutOfRangeQueryParameterValue if `timeout` is below 1.
Result<QueryParameters> parse_query_parameters(std::string_view raw_query);

// NotImplemented: an unsupported option such as $orderby. Only reads call this; writes ignore such
// options.
Result<void> reject_unsupported_options(const QueryParameters& options);

// Returns $top, which is 0 to 1000; 1000 if it is absent. InvalidInput: any other text.
Result<std::uint32_t> parse_top_option(const QueryParameters& options);
// Returns the parsed $filter; an empty filter if it is absent. Returns the errors of parse_filter,
// and InvalidInput for more comparisons than the account allows.
Result<Filter> parse_filter_option(const QueryParameters& options, const Account& account);
// Returns the parsed $select (parse_select in core/query/projection.h); empty if it is absent.
Result<std::vector<std::string>> parse_select_option(const QueryParameters& options);
// Returns where a query of entities continues, or nothing if NextPartitionKey is absent or empty.
// InvalidInput: a malformed token.
Result<std::optional<Continuation>> parse_continuation(const QueryParameters& options);

}  // namespace entitable::rest
