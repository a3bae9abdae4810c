// Which operation a request means: verb, kind of resource and `comp`. The table of them is all that
// the service has (COMPATIBILITY.md).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.h"
#include "core/rest/authorization.h"
#include "core/rest/query_options.h"
#include "core/rest/uri.h"

namespace entitable::rest {

enum class Route : std::uint8_t {
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
  Resource resource;
  std::string_view comp;  // of "?comp=…", for the service with "restype=service"
  Route route;
  Action action;  // what it takes; put and merge: with a condition
  bool writes;    // refused at a secondary address
};

std::span<const RouteEntry> all_routes();

// Documents are XML, errors too.
bool is_xml(Route route);

// InvalidHttpVerb: a verb that no resource has. InvalidQueryParameterValue: a `comp` or `restype`
// that this resource doesn't have. InvalidUri: the service without them. MethodNotAllowed: another
// verb.
Result<RouteEntry> find_route(std::string_view method, const Uri& uri, const QueryOptions& options);

}  // namespace entitable::rest
