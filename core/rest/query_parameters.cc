#include "core/rest/query_parameters.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/number_text.h"
#include "core/filter/parser.h"
#include "core/model/limits.h"
#include "core/query/continuation.h"
#include "core/query/projection.h"
#include "core/rest/percent_encoding.h"

namespace entitable::rest {
namespace {

struct Parameter {
  std::string_view name;
  std::optional<std::string> QueryParameters::*value;
  bool plus_is_space = false;
};

constexpr Parameter known_parameters[] = {
    {"$filter", &QueryParameters::filter, true},
    {"$select", &QueryParameters::select, true},
    {"$top", &QueryParameters::top},
    {"$format", &QueryParameters::format, true},
    {"NextPartitionKey", &QueryParameters::next_partition_key},
    {"NextRowKey", &QueryParameters::next_row_key},
    {"NextTableName", &QueryParameters::next_table_name},
    {"comp", &QueryParameters::comp},
    {"restype", &QueryParameters::restype},
    {"timeout", &QueryParameters::timeout},
    {"sv", &QueryParameters::sv},
};

Error bad_parameter() {
  return Error(ErrorCode::invalid_query_parameter);
}

Result<void> read_parameter(std::string_view pair, QueryParameters& options) {
  const std::size_t equals = std::min(pair.find('='), pair.size());
  const std::optional<std::string> name = percent_decode(pair.substr(0, equals));
  if (!name.has_value()) return {};  // malformed, so not the name of a known parameter
  const auto* known = std::find_if(std::begin(known_parameters), std::end(known_parameters),
                                   [&](const Parameter& p) { return p.name == *name; });
  if (known == std::end(known_parameters)) {
    if (name->substr(0, 1) == "$") options.unsupported = true;
    return {};
  }
  std::optional<std::string>& value = options.*(known->value);
  if (value.has_value()) return bad_parameter();
  value = percent_decode(pair.substr(std::min(equals + 1, pair.size())), known->plus_is_space);
  if (!value.has_value()) return bad_parameter();
  return {};
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<void> check_timeout(const QueryParameters& options) {
  if (!options.timeout.has_value()) return {};
  const std::string_view text = *options.timeout;
  const bool negative = text.substr(0, 1) == "-";
  if (!is_number(text.substr(negative ? 1 : 0))) return bad_parameter();
  if (negative || text.find_first_not_of('0') == std::string_view::npos) {
    return Error(ErrorCode::query_parameter_out_of_range);
  }
  return {};
}

}  // namespace

Result<QueryParameters> parse_query_parameters(std::string_view raw_query) {
  QueryParameters options;
  while (!raw_query.empty()) {
    const std::string_view pair = raw_query.substr(0, raw_query.find('&'));
    raw_query.remove_prefix(std::min(pair.size() + 1, raw_query.size()));
    if (pair.empty()) continue;
    if (const auto read = read_parameter(pair, options); !read.ok()) return read.error();
  }
  if (const auto checked = check_timeout(options); !checked.ok()) return checked.error();
  return options;
}

Result<void> reject_unsupported_options(const QueryParameters& options) {
  if (options.unsupported) return Error(ErrorCode::not_implemented);
  return {};
}

Result<std::uint32_t> parse_top_option(const QueryParameters& options) {
  if (!options.top.has_value()) return static_cast<std::uint32_t>(limits::page_rows_max);
  const std::optional<std::int32_t> top = parse_int32(*options.top);
  if (!is_number(*options.top) || !top.has_value() ||
      *top > static_cast<std::int32_t>(limits::page_rows_max)) {
    return Error(ErrorCode::invalid_input);
  }
  return static_cast<std::uint32_t>(*top);
}

Result<Filter> parse_filter_option(const QueryParameters& options, const Account& account) {
  if (!options.filter.has_value()) return Filter{};
  Result<Filter> filter = parse_filter(*options.filter);
  if (filter.ok() && account.limit_comparisons &&
      filter->comparisons > limits::filter_comparisons_documented) {
    return Error(ErrorCode::invalid_input);
  }
  return filter;
}

Result<std::vector<std::string>> parse_select_option(const QueryParameters& options) {
  if (!options.select.has_value()) return std::vector<std::string>{};
  return parse_select(*options.select);
}

Result<std::optional<Continuation>> parse_continuation(const QueryParameters& options) {
  if (options.next_partition_key.value_or("").empty()) return std::optional<Continuation>();
  Result<Continuation> from = decode_continuation(
      *options.next_partition_key, options.next_row_key.has_value()
                                       ? std::optional<std::string_view>(*options.next_row_key)
                                       : std::nullopt);
  if (!from.ok()) return from.error();
  return std::optional<Continuation>(std::move(*from));
}

}  // namespace entitable::rest
