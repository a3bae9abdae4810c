// Routing: method, kind of resource and `comp` select an operation. The table of routes holds all
// operations of the service (COMPATIBILITY.md).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.h"
#include "core/rest/authorization.h"
#include "core/rest/query_parameters.h"
#include "core/rest/resource_uri.h"

namespace entitable::rest {

enum class RouteKind : std::uint8_t {
  query_tables,
  get_table,
  create_table,
  drop_table,
  table_acl,
  service_properties,
  service_stats,
  query_entities,
  get_entity,
  insert_entity,
  put_entity,    // update, or insert or replace
  merge_entity,  // merge, or insert or merge
  delete_entity,
  batch,
};

struct RouteEntry {
  std::string_view method;
  ResourceKind resource;
  // The query parameter `comp`; empty: absent. Resource::service also needs `restype=service`.
  std::string_view comp;
  RouteKind route;
  // The action to authorize. Put and merge without If-Match need AccessKind::upsert instead
  // (RoutedRequest::required_access).
  AccessKind action;
  bool writes;  // rejected at the secondary location
};

std::span<const RouteEntry> all_routes();

// Returns whether request and response bodies of the route, errors included, are XML.
bool is_xml(RouteKind route);

// InvalidHttpVerb: no route has the method. InvalidQueryParameterValue: the resource does not
// support `comp` or `restype`. MethodNotAllowed: the resource does not support the method.
// InvalidUri: the URL names the service without `comp`.
Result<RouteEntry> find_route(std::string_view method, const ResourceUri& uri,
                              const QueryParameters& options);

}  // namespace entitable::rest
