#include "core/rest/routed_request.h"

#include <utility>

#include "core/rest/request_headers.h"

namespace entitable::rest {
namespace {

bool may_insert(RouteKind route) {
  return route == RouteKind::insert_entity || route == RouteKind::create_table;
}

}  // namespace

RequiredAccess RoutedRequest::required_access(const Request& request) const {
  RequiredAccess required_access{route_entry.action, uri.table, {}};
  if (uri.resource == ResourceKind::entity) required_access.key = uri.key.view();
  const bool conditional = !find_header(request, "If-Match").value_or("").empty();
  if (required_access.action == AccessKind::update && !conditional)
    required_access.action = AccessKind::upsert;
  return required_access;
}

Result<void> route_request(const Request& request, std::string_view served_account,
                           ErrorResponseContext& error_format, RoutedRequest& routed) {
  Result<ResourceUri> uri = parse_resource_uri(request.url, served_account);
  if (!uri.ok()) return uri.error();
  routed.uri = std::move(*uri);
  Result<QueryParameters> options = parse_query_parameters(routed.uri.raw_query);
  if (!options.ok()) return options.error();
  routed.options = std::move(*options);
  error_format.xml = !error_format.in_batch &&
                     (routed.options.comp.has_value() || routed.options.restype.has_value());
  if (const auto level = negotiate_metadata(request, routed.options.format); level.ok()) {
    error_format.level = *level;
  }
  const Result<std::string_view> method = effective_method(request);
  if (!method.ok()) return method.error();
  routed.method = *method;
  const Result<RouteEntry> route_entry = find_route(routed.method, routed.uri, routed.options);
  if (!route_entry.ok()) return route_entry.error();
  routed.route_entry = *route_entry;
  if (may_insert(route_entry->route)) error_format.preference = return_preference_of(request);
  return {};
}

}  // namespace entitable::rest
