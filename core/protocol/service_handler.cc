#include "core/protocol/service_handler.h"

#include <string>
#include <utility>
#include <variant>

#include "core/model/limits.h"
#include "core/protocol/access_policies.h"
#include "core/protocol/cors.h"

namespace entitable::protocol {
namespace {

Response xml_response(std::string document, bool with_body = true) {
  Response response{200, "OK", {{"Content-Type", "application/xml"}}, {}};
  if (with_body) response.body = std::move(document);
  return response;
}

// A write that is answered by a status alone.
PendingWrite pending(WriteRequest write, std::uint16_t status, const char* reason,
                     const RefuseXml& refuse) {
  return {std::move(write), [status, reason, refuse](const WriteAnswer& answer) {
            const auto* failure = std::get_if<GroupFailure>(&answer);
            return failure != nullptr ? refuse(failure->error) : Response{status, reason, {}, {}};
          }};
}

bool is_too_large(const Request& request) {
  return request.body.size() > limits::request_bytes_max;
}

Handled set_acl(const Request& request, std::string_view table, const RefuseXml& refuse) {
  if (is_too_large(request)) return refuse(Error(Code::request_body_too_large));
  Result<std::vector<AccessPolicy>> policies = parse_access_policies(request.body);
  if (!policies.ok()) return refuse(policies.error());
  WriteRequest write{std::nullopt, WriteTableAcl{std::string(table), std::move(*policies)}};
  return pending(std::move(write), 204, "No Content", refuse);
}

Handled set_properties(const Request& request, const RefuseXml& refuse) {
  if (is_too_large(request)) return refuse(Error(Code::request_body_too_large));
  Result<ServicePropertiesChange> change = parse_service_properties(request.body);
  if (!change.ok()) return refuse(change.error());
  WriteRequest write{
      std::nullopt, WriteServiceProperties{[made = std::move(*change)](const std::string& current) {
        return service_properties_document(changed(stored_service_properties(current), made));
      }}};
  return pending(std::move(write), 202, "Accepted", refuse);
}

}  // namespace

Handled handle_acl(const Store& store, const Request& request, std::string_view table,
                   const RefuseXml& refuse) {
  if (request.method == "PUT") return set_acl(request, table, refuse);
  const bool head = request.method == "HEAD";
  if (!head && request.method != "GET") return refuse(Error(Code::method_not_allowed));
  const auto policies = store.table_acl(table);
  if (!policies.ok()) return refuse(policies.error());
  return xml_response(access_policies_document(*policies), !head);
}

Handled handle_properties(const Store& store, const Request& request, const RefuseXml& refuse) {
  if (request.method == "PUT") return set_properties(request, refuse);
  if (request.method != "GET") return refuse(Error(Code::method_not_allowed));
  return xml_response(
      service_properties_document(stored_service_properties(store.service_properties())));
}

Handled handle_stats(const Request& request, bool secondary, Ticks now, const RefuseXml& refuse) {
  if (request.method != "GET") return refuse(Error(Code::method_not_allowed));
  if (!secondary) return refuse(Error(Code::invalid_query_parameter));
  return xml_response(service_stats_document(now));
}

Handled handle_preflight(const Account& account, const Store& store, const Request& request,
                         const RefuseXml& refuse) {
  Result<Response> response = preflight_response(cors_rules(account, store), request);
  if (!response.ok()) return refuse(response.error());
  return std::move(*response);
}

std::vector<CorsRule> cors_rules(const Account& account, const Store& store) {
  std::vector<CorsRule> rules = stored_service_properties(store.service_properties()).cors;
  if (rules.empty() && account.permissive_cors) return permissive_cors_rules();
  return rules;
}

}  // namespace entitable::protocol
