#include "core/protocol/reading.h"

#include <utility>

#include "core/protocol/headers.h"

namespace entitable::protocol {
namespace {

bool may_insert(Route route) {
  return route == Route::insert_entity || route == Route::create_table;
}

}  // namespace

Need Reading::need(const Request& request) const {
  Need need{line.action, uri.table, {}};
  if (uri.resource == Resource::entity) need.key = uri.key.view();
  const bool conditional = !header(request, "If-Match").value_or("").empty();
  if (need.action == Action::update && !conditional) need.action = Action::upsert;
  return need;
}

Result<void> read_target(const Request& request, std::string_view served_account, ErrorForm& form,
                         Reading& reading) {
  Result<Uri> uri = parse_uri(request.url, served_account);
  if (!uri.ok()) return uri.error();
  reading.uri = std::move(*uri);
  Result<QueryOptions> options = parse_query_options(reading.uri.raw_query);
  if (!options.ok()) return options.error();
  reading.options = std::move(*options);
  form.xml =
      !form.in_batch && (reading.options.comp.has_value() || reading.options.restype.has_value());
  if (const auto level = negotiate(request, reading.options.format); level.ok()) {
    form.level = *level;
  }
  const Result<std::string_view> method = method_of(request);
  if (!method.ok()) return method.error();
  reading.method = *method;
  const Result<RouteLine> line = find_route(reading.method, reading.uri, reading.options);
  if (!line.ok()) return line.error();
  reading.line = *line;
  if (may_insert(line->route)) form.preference = preference_of(request);
  return {};
}

}  // namespace entitable::protocol
