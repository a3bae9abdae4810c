#include "core/rest/route.h"

#include <algorithm>
#include <iterator>

namespace entitable::rest {
namespace {

constexpr bool writes = true;
constexpr bool reads = false;

constexpr RouteEntry route_table[] = {
    {"GET", ResourceKind::tables, "", Route::query_tables, Action::read_tables, reads},
    {"POST", ResourceKind::tables, "", Route::create_table, Action::create_table, writes},
    {"GET", ResourceKind::table, "", Route::get_table, Action::read_tables, reads},
    {"DELETE", ResourceKind::table, "", Route::drop_table, Action::drop_table, writes},
    {"GET", ResourceKind::entities, "acl", Route::table_acl, Action::table_acl, reads},
    {"HEAD", ResourceKind::entities, "acl", Route::table_acl, Action::table_acl, reads},
    {"PUT", ResourceKind::entities, "acl", Route::table_acl, Action::table_acl, writes},
    {"GET", ResourceKind::service, "properties", Route::service_properties, Action::read_service,
     reads},
    {"PUT", ResourceKind::service, "properties", Route::service_properties, Action::write_service,
     writes},
    {"GET", ResourceKind::service, "stats", Route::service_stats, Action::read_service, reads},
    {"GET", ResourceKind::entities, "", Route::query_entities, Action::read_entities, reads},
    {"POST", ResourceKind::entities, "", Route::insert_entity, Action::insert, writes},
    {"GET", ResourceKind::entity, "", Route::get_entity, Action::read_entities, reads},
    {"PUT", ResourceKind::entity, "", Route::put_entity, Action::update, writes},
    {"PATCH", ResourceKind::entity, "", Route::merge_entity, Action::update, writes},
    {"MERGE", ResourceKind::entity, "", Route::merge_entity, Action::update, writes},
    {"DELETE", ResourceKind::entity, "", Route::delete_entity, Action::remove, writes},
    // A batch may write; RequestHandler::writes finds out from its body.
    {"POST", ResourceKind::batch, "", Route::batch, Action::batch, reads},
};

// Returns whether `restype` is allowed: it must be "service" if the resource is the service and
// `comp` is there, and absent for any other resource.
bool is_restype_good(const Uri& uri, const QueryOptions& options) {
  const bool asked = options.restype.has_value();
  if (uri.resource != ResourceKind::service) return !asked;
  return asked ? *options.restype == "service" : !options.comp.has_value();
}

}  // namespace

std::span<const RouteEntry> all_routes() {
  return route_table;
}

bool is_xml(Route route) {
  return route == Route::table_acl || route == Route::service_properties ||
         route == Route::service_stats;
}

Result<RouteEntry> find_route(std::string_view method, const Uri& uri,
                              const QueryOptions& options) {
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
