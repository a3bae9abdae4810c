#include "core/rest/route.h"

#include <algorithm>
#include <iterator>

namespace entitable::rest {
namespace {

constexpr bool writes = true;
constexpr bool reads = false;

constexpr RouteEntry route_table[] = {
    {"GET", ResourceKind::tables, "", RouteKind::query_tables, AccessKind::read_tables, reads},
    {"POST", ResourceKind::tables, "", RouteKind::create_table, AccessKind::create_table, writes},
    {"GET", ResourceKind::table, "", RouteKind::get_table, AccessKind::read_tables, reads},
    {"DELETE", ResourceKind::table, "", RouteKind::drop_table, AccessKind::drop_table, writes},
    {"GET", ResourceKind::entities, "acl", RouteKind::table_acl, AccessKind::table_acl, reads},
    {"HEAD", ResourceKind::entities, "acl", RouteKind::table_acl, AccessKind::table_acl, reads},
    {"PUT", ResourceKind::entities, "acl", RouteKind::table_acl, AccessKind::table_acl, writes},
    {"GET", ResourceKind::service, "properties", RouteKind::service_properties,
     AccessKind::read_service, reads},
    {"PUT", ResourceKind::service, "properties", RouteKind::service_properties,
     AccessKind::write_service, writes},
    {"GET", ResourceKind::service, "stats", RouteKind::service_stats, AccessKind::read_service,
     reads},
    {"GET", ResourceKind::entities, "", RouteKind::query_entities, AccessKind::read_entities,
     reads},
    {"POST", ResourceKind::entities, "", RouteKind::insert_entity, AccessKind::insert, writes},
    {"GET", ResourceKind::entity, "", RouteKind::get_entity, AccessKind::read_entities, reads},
    {"PUT", ResourceKind::entity, "", RouteKind::put_entity, AccessKind::update, writes},
    {"PATCH", ResourceKind::entity, "", RouteKind::merge_entity, AccessKind::update, writes},
    {"MERGE", ResourceKind::entity, "", RouteKind::merge_entity, AccessKind::update, writes},
    {"DELETE", ResourceKind::entity, "", RouteKind::delete_entity, AccessKind::remove, writes},
    // A batch may write; RequestHandler::writes finds out from its body.
    {"POST", ResourceKind::batch, "", RouteKind::batch, AccessKind::batch, reads},
};

// Returns whether `restype` is allowed: it must be "service" if the resource is the service and
// `comp` is there, and absent for any other resource.
bool is_restype_good(const ResourceUri& uri, const QueryParameters& options) {
  const bool asked = options.restype.has_value();
  if (uri.resource != ResourceKind::service) return !asked;
  return asked ? *options.restype == "service" : !options.comp.has_value();
}

}  // namespace

std::span<const RouteEntry> all_routes() {
  return route_table;
}

bool is_xml(RouteKind route) {
  return route == RouteKind::table_acl || route == RouteKind::service_properties ||
         route == RouteKind::service_stats;
}

Result<RouteEntry> find_route(std::string_view method, const ResourceUri& uri,
                              const QueryParameters& options) {
  const std::string_view comp = options.comp.has_value() ? *options.comp : std::string_view();
  const RouteEntry* found = nullptr;
  bool known_method = false;
  bool known = false;
  for (const RouteEntry& route_entry : route_table) {
    const bool is_method = route_entry.method == method;
    known_method = known_method || is_method;
    if (route_entry.resource != uri.resource || route_entry.comp != comp) continue;
    known = true;
    if (is_method) found = &route_entry;
  }
  if (!known_method) return Error(ErrorCode::invalid_http_verb);
  if (!is_restype_good(uri, options)) return Error(ErrorCode::invalid_query_parameter);
  if (found != nullptr) return *found;
  if (known) return Error(ErrorCode::method_not_allowed);
  return Error(options.comp.has_value() ? ErrorCode::invalid_query_parameter
                                        : ErrorCode::invalid_uri);
}

}  // namespace entitable::rest
