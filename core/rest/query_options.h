// What stands after the '?' of an address, as far as it means something to the service. Names are
// case-sensitive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/filter/ast.h"
#include "core/query/query.h"
#include "core/rest/account.h"

namespace entitable::rest {

// The parameters as text, decoded. In $filter, $select and $format a '+' is a blank.
struct QueryOptions {
  std::optional<std::string> filter;  // $filter
  std::optional<std::string> select;  // $select
  std::optional<std::string> top;     // $top
  std::optional<std::string> format;  // $format
  std::optional<std::string> next_partition_key, next_row_key, next_table_name;
  std::optional<std::string> comp, restype;
  std::optional<std::string> timeout;
  std::optional<std::string> sv;  // the version of a shared access signature
  bool unsupported = false;       // another name that begins with '$'
};

// Other parameters are ignored. InvalidQueryParameterValue: one of the above twice, malformed
// escapes, a `timeout` that is no number. OutOfRangeQueryParameterValue: a `timeout` below 1 (above
// 30 it counts as 30, and nothing here takes as long).
Result<QueryOptions> parse_query_options(std::string_view raw_query);

// NotImplemented if one is not supported ($orderby and the like): reads only, others ignore it.
Result<void> check_supported(const QueryOptions& options);

// 0..1000; InvalidInput for any other text. Absent: 1000.
Result<std::uint32_t> top_of(const QueryOptions& options);
// Errors of parse_filter; InvalidInput for more comparisons than the account allows.
Result<Filter> filter_of(const QueryOptions& options, const Account& account);
Result<std::vector<std::string>> select_of(const QueryOptions& options);
// Where a query of entities goes on. InvalidInput for a token that is none; an empty one is absent,
// and NextRowKey alone means nothing.
Result<std::optional<Continuation>> continuation_of(const QueryOptions& options);

}  // namespace entitable::rest
