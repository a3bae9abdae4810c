#include "core/rest/xml_handler.h"

#include <string>
#include <utility>
#include <variant>

#include "core/model/limits.h"
#include "core/rest/access_policies.h"
#include "core/rest/cors.h"

namespace entitable::rest {
namespace {

Response xml_response(std::string document, bool with_body = true) {
  Response response{200, "OK", {{"Content-Type", "application/xml"}}, {}};
  if (with_body) response.body = std::move(document);
  return response;
}

// Returns a write whose successful response has only a status.
UnstagedWrite pending(WriteRequest write, std::uint16_t status, const char* reason,
                      const MakeErrorResponse& make_error_response) {
  return {std::move(write), [status, reason, make_error_response](const WriteResult& answer) {
            const auto* failure = std::get_if<GroupFailure>(&answer);
            return failure != nullptr ? make_error_response(failure->error)
                                      : Response{status, reason, {}, {}};
          }};
}

bool is_too_large(const Request& request) {
  return request.body.size() > limits::request_bytes_max;
}

HandleResult set_acl(const Request& request, std::string_view table,
                     const MakeErrorResponse& make_error_response) {
  if (is_too_large(request)) return make_error_response(Error(ErrorCode::request_body_too_large));
  Result<std::vector<AccessPolicy>> policies = parse_access_policies(request.body);
  if (!policies.ok()) return make_error_response(policies.error());
  WriteRequest write{std::nullopt, WriteTableAcl{std::string(table), std::move(*policies)}};
  return pending(std::move(write), 204, "No Content", make_error_response);
}

HandleResult set_properties(const Request& request, const MakeErrorResponse& make_error_response) {
  if (is_too_large(request)) return make_error_response(Error(ErrorCode::request_body_too_large));
  Result<ServicePropertiesChange> change = parse_service_properties(request.body);
  if (!change.ok()) return make_error_response(change.error());
  WriteRequest write{
      std::nullopt, WriteServiceProperties{[made = std::move(*change)](const std::string& current) {
        return service_properties_document(
            with_changes(parse_stored_service_properties(current), made));
      }}};
  return pending(std::move(write), 202, "Accepted", make_error_response);
}

}  // namespace

HandleResult handle_acl(const Store& store, const Request& request, std::string_view table,
                        const MakeErrorResponse& make_error_response) {
  if (request.method == "PUT") return set_acl(request, table, make_error_response);
  const bool head = request.method == "HEAD";
  if (!head && request.method != "GET")
    return make_error_response(Error(ErrorCode::method_not_allowed));
  const auto policies = store.table_acl(table);
  if (!policies.ok()) return make_error_response(policies.error());
  return xml_response(access_policies_document(*policies), !head);
}

HandleResult handle_properties(const Store& store, const Request& request,
                               const MakeErrorResponse& make_error_response) {
  if (request.method == "PUT") return set_properties(request, make_error_response);
  if (request.method != "GET") return make_error_response(Error(ErrorCode::method_not_allowed));
  return xml_response(
      service_properties_document(parse_stored_service_properties(store.service_properties())));
}

HandleResult handle_stats(const Request& request, bool secondary, Ticks now,
                          const MakeErrorResponse& make_error_response) {
  if (request.method != "GET") return make_error_response(Error(ErrorCode::method_not_allowed));
  if (!secondary) return make_error_response(Error(ErrorCode::invalid_query_parameter));
  return xml_response(service_stats_document(now));
}

HandleResult handle_preflight(const Account& account, const Store& store, const Request& request,
                              const MakeErrorResponse& make_error_response) {
  Result<Response> response = preflight_response(effective_cors_rules(account, store), request);
  if (!response.ok()) return make_error_response(response.error());
  return std::move(*response);
}

std::vector<CorsRule> effective_cors_rules(const Account& account, const Store& store) {
  std::vector<CorsRule> rules = parse_stored_service_properties(store.service_properties()).cors;
  if (rules.empty() && account.permissive_cors) return permissive_cors_rules();
  return rules;
}

}  // namespace entitable::rest
