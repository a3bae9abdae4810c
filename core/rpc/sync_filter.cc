#include "core/rpc/sync_filter.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/filter/evaluate.h"
#include "core/filter/parser.h"
#include "core/rpc/operations.h"
#include "core/rpc/write_parser.h"

namespace entitable::rpc {

Result<bool> matches_filter(std::string_view filter, std::string_view message) {
  const Result<Filter> parsed = parse_filter(filter);
  // That queries may not have it either is no failure of the engine.
  if (!parsed.ok())
    return Error(ErrorCode::invalid_input, std::string(error_message(parsed.error())));
  const bool names_timestamp =
      std::any_of(parsed->nodes.begin(), parsed->nodes.end(),
                  [](const FilterNode& node) { return node.property == "Timestamp"; });
  if (names_timestamp)
    return Error(ErrorCode::invalid_input, "The filter of a synced table must not name Timestamp.");
  WriteRequest request;
  if (auto failure = parse_write(message, request)) return std::move(failure->error);
  auto* const write = std::get_if<WriteEntities>(&request.body);
  if (write == nullptr || write->operations.size() != 1) return malformed_error();
  Operation& operation = write->operations.front();
  return matches_unbound(*parsed,
                         {std::move(operation.key), 0, owned_properties(operation.properties)});
}

}  // namespace entitable::rpc
