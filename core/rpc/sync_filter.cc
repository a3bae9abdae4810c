#include "core/rpc/sync_filter.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/filter/evaluate.h"
#include "core/filter/parser.h"
#include "core/rpc/operations.h"
#include "core/rpc/write_parser.h"

namespace entitable::rpc {
namespace {

Result<Filter> parse_sync_filter(std::string_view text) {
  Result<Filter> parsed = parse_filter(text);
  // parse_filter() reports unsupported functions as not implemented (501), which would stop the
  // store. Here they are invalid input.
  if (!parsed.ok())
    return Error(ErrorCode::invalid_input, std::string(error_message(parsed.error())));
  const bool names_timestamp =
      std::any_of(parsed->nodes.begin(), parsed->nodes.end(),
                  [](const FilterNode& node) { return node.property == "Timestamp"; });
  if (names_timestamp)
    return Error(ErrorCode::invalid_input, "The filter of a synced table must not name Timestamp.");
  return parsed;
}

}  // namespace

Result<bool> SyncFilter::matches(std::string_view filter, std::string_view message) {
  if (!parsed_ || text_ != filter) {
    Result<Filter> parsed = parse_sync_filter(filter);
    if (!parsed.ok()) return parsed.error();
    text_ = filter;
    parsed_ = std::move(*parsed);
  }
  WriteRequest request;
  if (auto failure = parse_write(message, request)) return std::move(failure->error);
  auto* const write = std::get_if<WriteEntities>(&request.body);
  if (write == nullptr || write->operations.size() != 1) return malformed_error();
  Operation& operation = write->operations.front();
  return matches_unbound(*parsed_,
                         {std::move(operation.key), 0, owned_properties(operation.properties)});
}

}  // namespace entitable::rpc
