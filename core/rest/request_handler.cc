#include "core/rest/request_handler.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/rest/authorization.h"
#include "core/rest/authorized_request.h"
#include "core/rest/batch_handler.h"
#include "core/rest/batch_request.h"
#include "core/rest/common_response_headers.h"
#include "core/rest/entity_handler.h"
#include "core/rest/error_response.h"
#include "core/rest/route.h"
#include "core/rest/routed_request.h"
#include "core/rest/table_handler.h"
#include "core/rest/xml_handler.h"

namespace entitable::rest {
namespace {

bool is_entity_write(RouteKind route) {
  return route == RouteKind::insert_entity || route == RouteKind::put_entity ||
         route == RouteKind::merge_entity || route == RouteKind::delete_entity;
}

class RequestHandler {
 public:
  RequestHandler(const Account& account, const Store& store, const Request& request,
                 const RequestContext& context)
      : account_(account),
        store_(store),
        request_(request),
        context_(context),
        common_(account, request, context) {
    error_format_.request_id = common_.request_id;
    error_format_.now = common_.now;
  }

  HandleResult run() {
    HandleResult handled = serve();
    prepare_cors();
    if (auto* response = std::get_if<Response>(&handled)) {
      return common_.add_to(std::move(*response));
    }
    if (auto* write = std::get_if<UnstagedWrite>(&handled)) {
      write->make_response = [make_response = std::move(write->make_response),
                              common = std::move(common_)](const WriteResult& answer) {
        return common.add_to(make_response(answer));
      };
    }
    return handled;
  }

  // Implements make_error_response().
  Response fail(const ServiceError& error, const std::vector<HeaderView>& headers) {
    if (request_.method == "OPTIONS") {
      begin_preflight();
    } else {
      RoutedRequest routed;
      // Only sets the error format. An error of the request itself does not matter here.
      static_cast<void>(parse(routed).ok());
    }
    prepare_cors();
    return common_.add_to(error_response(error, error_format_), headers);
  }

 private:
  // Routes the request; determines the error format and the version.
  Result<void> parse(RoutedRequest& routed) {
    const Result<void> target = route_request(request_, account_.name, error_format_, routed);
    common_.is_data = !error_format_.xml;
    if (!target.ok()) return target.error();
    const std::string_view oldest =
        is_xml(routed.route_entry.route) ? oldest_xml_version : oldest_version;
    Result<std::string> version = requested_version(request_, routed.options.sv, account_, oldest);
    if (!version.ok()) return version.error();
    common_.version = std::move(*version);
    return {};
  }

  HandleResult serve() {
    if (request_.method == "OPTIONS") return serve_preflight();
    RoutedRequest routed;
    if (const auto is_read = parse(routed); !is_read.ok())
      return make_error_response(is_read.error());

    const Result<GrantedAccess> access = authorize_request(routed);
    if (!access.ok()) {
      error_format_.xml = error_format_.xml || !accepts_json(request_, routed.options.format);
      return make_error_response(access.error());
    }
    if (request_.body_pending) return Response{100, "Continue", {}, {}};
    if (routed.uri.secondary && writes(routed)) {
      return make_error_response(Error(ErrorCode::secondary_is_read_only));
    }
    return is_xml(routed.route_entry.route) ? serve_xml(routed) : serve_data(routed, *access);
  }

  void begin_preflight() {
    error_format_.xml = true;
    common_.is_data = false;
    is_preflight_ = true;
  }

  HandleResult serve_preflight() {
    begin_preflight();
    return handle_preflight(account_, store_, request_, error_response_maker(error_format_));
  }

  Result<GrantedAccess> authorize_request(const RoutedRequest& routed) const {
    const bool ours = request_.trusted || routed.uri.account == account_.name;
    if (!ours) return Error(ErrorCode::authentication_failed);
    return authorize(account_, store_, request_, routed.uri, context_.now,
                     routed.required_access(request_));
  }

  bool writes(const RoutedRequest& routed) const {
    if (routed.route_entry.route != RouteKind::batch) return routed.route_entry.writes;
    const Result<Batch> batch = parse_batch(request_);
    return batch.ok() && batch->change_set;
  }

  HandleResult serve_xml(const RoutedRequest& routed) const {
    Request request = request_;
    request.method = routed.method;
    const MakeErrorResponse make_xml_error_response = error_response_maker(error_format_);
    switch (routed.route_entry.route) {
      case RouteKind::table_acl:
        return handle_acl(store_, request, routed.uri.table, make_xml_error_response);
      case RouteKind::service_stats:
        return handle_stats(request, routed.uri.secondary, context_.now, make_xml_error_response);
      default:
        return handle_properties(store_, request, make_xml_error_response);
    }
  }

  HandleResult serve_data(const RoutedRequest& routed, const GrantedAccess& access) const {
    // The Accept header of a batch is ignored: the response is always multipart/mixed.
    if (routed.route_entry.route == RouteKind::batch) return serve_batch(routed, access);
    const Result<MetadataLevel> level = negotiate_metadata(request_, routed.options.format);
    if (!level.ok()) return make_error_response(level.error());
    const AuthorizedRequest authorized =
        make_authorized_request(request_, routed, access, error_format_);
    switch (routed.route_entry.route) {
      case RouteKind::query_tables:
        return query_tables(authorized);
      case RouteKind::get_table:
        return get_table(authorized);
      case RouteKind::create_table:
        return create_table(authorized);
      case RouteKind::drop_table:
        return drop_table(authorized);
      case RouteKind::query_entities:
        return query_entities(authorized);
      case RouteKind::get_entity:
        return get_entity(authorized);
      default:
        return write_entity(authorized);
    }
  }

  // ---- Batches ----------------------------------------------------------------------------------

  HandleResult serve_batch(const RoutedRequest& routed, const GrantedAccess& access) const {
    BatchCallbacks callbacks;
    callbacks.parse = [&](const Request& operation) { return parse_operation(operation, access); };
    callbacks.read = [&](const Request& query) { return read_in_batch(query, access); };
    callbacks.error_response_maker = [&](const Request& failed_request) {
      // An error of the batch itself has the format of a normal request.
      return error_response_maker(&failed_request == &request_ ? error_format_
                                                               : error_format_of(failed_request));
    };
    return handle_batch(request_, routed.uri.base, context_, callbacks);
  }

  // Returns the format for an operation that has not been routed yet.
  ErrorResponseContext error_format_in_batch() const {
    ErrorResponseContext error_format = error_format_;
    error_format.in_batch = true;
    error_format.level = MetadataLevel::minimal;
    return error_format;
  }

  ErrorResponseContext error_format_of(const Request& operation) const {
    ErrorResponseContext error_format = error_format_in_batch();
    RoutedRequest routed;
    // Only sets the error format. The caller already has the operation's error.
    static_cast<void>(route_request(operation, account_.name, error_format, routed).ok());
    return error_format;
  }

  // Routes an operation of a batch, and checks what reads and writes have in common: account,
  // permission, location and Accept header.
  Result<void> read_operation(const Request& operation, const GrantedAccess& access,
                              ErrorResponseContext& error_format, RoutedRequest& routed) const {
    if (const auto read = route_request(operation, account_.name, error_format, routed);
        !read.ok()) {
      return read.error();
    }
    if (routed.uri.account != account_.name) return Error(ErrorCode::invalid_input);
    if (const auto allowed = access.check(routed.required_access(operation)); !allowed.ok()) {
      return allowed.error();
    }
    if (routed.uri.secondary && routed.route_entry.writes)
      return Error(ErrorCode::secondary_is_read_only);
    if (const auto level = negotiate_metadata(operation, routed.options.format); !level.ok()) {
      return level.error();
    }
    return {};
  }

  Result<EntityWrite> parse_operation(const Request& operation, const GrantedAccess& access) const {
    ErrorResponseContext error_format = error_format_in_batch();
    RoutedRequest routed;
    if (const auto read = read_operation(operation, access, error_format, routed); !read.ok()) {
      return read.error();
    }
    if (!is_entity_write(routed.route_entry.route)) return Error(ErrorCode::invalid_input);
    Result<EntityWrite> write =
        parse_entity_write(make_authorized_request(operation, routed, access, error_format));
    if (write.ok()) write->make_error_response = error_response_maker(std::move(error_format));
    return write;
  }

  HandleResult read_in_batch(const Request& query, const GrantedAccess& access) const {
    ErrorResponseContext error_format = error_format_in_batch();
    error_format.message_prefix = "0:";  // as of the first write of a change set
    RoutedRequest routed;
    if (const auto read = read_operation(query, access, error_format, routed); !read.ok()) {
      return error_response(read.error(), error_format);
    }
    const AuthorizedRequest authorized =
        make_authorized_request(query, routed, access, error_format);
    if (routed.route_entry.route == RouteKind::query_entities) return query_entities(authorized);
    if (routed.route_entry.route == RouteKind::get_entity) return get_entity(authorized);
    return error_response(Error(ErrorCode::invalid_input), error_format);
  }

  // ---- Helpers ----------------------------------------------------------------------------------

  AuthorizedRequest make_authorized_request(const Request& request, const RoutedRequest& routed,
                                            const GrantedAccess& access,
                                            const ErrorResponseContext& error_format) const {
    return AuthorizedRequest{account_,
                             store_,
                             request,
                             routed.uri,
                             routed.options,
                             access,
                             routed.route_entry.route,
                             error_format.level,
                             error_format};
  }

  Response make_error_response(const Error& error) const {
    return error_response(error, error_format_);
  }

  static MakeErrorResponse error_response_maker(ErrorResponseContext error_format) {
    return [error_format = std::move(error_format)](const Error& error) {
      return error_response(error, error_format);
    };
  }

  // Loads the CORS rules if the response needs CORS headers: the request has an Origin and is not a
  // preflight request, whose response has its own headers.
  void prepare_cors() {
    const auto origin = find_header(request_, "Origin");
    if (is_preflight_ || origin.value_or("").empty()) return;
    common_.method = request_.method;
    common_.origin = *origin;
    common_.cors = effective_cors_rules(account_, store_);
  }

  const Account& account_;
  const Store& store_;
  const Request& request_;
  const RequestContext& context_;
  ErrorResponseContext error_format_;
  CommonResponseHeaders common_;
  bool is_preflight_ = false;
};

}  // namespace

HandleResult handle_request(const Account& account, const Store& store, const Request& request,
                            const RequestContext& context) {
  return RequestHandler(account, store, request, context).run();
}

Response make_error_response(const Account& account, const Store& store, const Request& request,
                             const RequestContext& context, const ServiceError& error,
                             const std::vector<HeaderView>& headers) {
  return RequestHandler(account, store, request, context).fail(error, headers);
}

}  // namespace entitable::rest
