#include "core/rest/describe_request.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/number_text.h"
#include "core/model/limits.h"
#include "core/rest/batch_request.h"
#include "core/rest/http_codec.h"
#include "core/rest/multipart.h"
#include "core/rest/request_body.h"
#include "core/rest/routed_request.h"

namespace entitable::rest {
namespace {

// ---- Requests -----------------------------------------------------------------------------------

RequestOperation operation_of(const RoutedRequest& routed, const Request& request) {
  const bool conditional = routed.required_access(request).action == AccessKind::update;
  const bool writes = routed.route_entry.writes;
  switch (routed.route_entry.route) {
    case RouteKind::query_tables:
      return RequestOperation::list_tables;
    case RouteKind::get_table:
      return RequestOperation::get_table;
    case RouteKind::create_table:
      return RequestOperation::create_table;
    case RouteKind::drop_table:
      return RequestOperation::drop_table;
    case RouteKind::table_acl:
      return writes ? RequestOperation::set_acl : RequestOperation::get_acl;
    case RouteKind::service_properties:
      return writes ? RequestOperation::set_properties : RequestOperation::get_properties;
    case RouteKind::service_stats:
      return RequestOperation::get_statistics;
    case RouteKind::query_entities:
      return RequestOperation::query;
    case RouteKind::get_entity:
      return RequestOperation::get;
    case RouteKind::insert_entity:
      return RequestOperation::insert;
    case RouteKind::put_entity:
      return conditional ? RequestOperation::update : RequestOperation::upsert_replace;
    case RouteKind::merge_entity:
      return conditional ? RequestOperation::merge : RequestOperation::upsert_merge;
    case RouteKind::delete_entity:
      return RequestOperation::remove;
    case RouteKind::batch:
      break;
  }
  return RequestOperation::batch;
}

void describe_options(QueryParameters& options, RequestDescription& out) {
  Result<std::vector<std::string>> select = parse_select_option(options);
  if (select.ok()) out.select = std::move(*select);
  if (out.operation == RequestOperation::get) return;
  out.filter = std::move(options.filter);
  const std::optional<std::int32_t> top =
      options.top.has_value() ? parse_int32(*options.top) : std::nullopt;
  if (top.has_value() && *top >= 0) out.top = static_cast<std::uint32_t>(*top);
}

void describe_insert(std::string_view body, RequestDescription& out) {
  if (body.size() > limits::request_bytes_max) return;
  BodyKeys keys = parse_inserted_keys(body);
  out.partition = std::move(keys.partition);
  out.row = std::move(keys.row);
}

void describe_create(std::string_view body, RequestDescription& out) {
  if (body.size() > limits::request_bytes_max) return;
  Result<std::string> name = parse_create_table_body(body);
  if (name.ok()) out.table = std::move(*name);
}

void describe_one(const Account& account, const Request& request, RequestDescription& out) {
  RoutedRequest routed;
  ErrorResponseContext error_format;
  const bool is_read = route_request(request, account.name, error_format, routed).ok();
  if (!routed.uri.table.empty()) out.table = std::move(routed.uri.table);
  if (routed.uri.resource == ResourceKind::entity) {
    out.partition = std::move(routed.uri.key.partition);
    out.row = std::move(routed.uri.key.row);
  }
  if (request.method == "OPTIONS") {
    out.operation = RequestOperation::preflight;
    return;
  }
  if (!is_read) return;
  out.operation = operation_of(routed, request);
  switch (out.operation) {
    case RequestOperation::get:
    case RequestOperation::query:
    case RequestOperation::list_tables:
      describe_options(routed.options, out);
      break;
    case RequestOperation::insert:
      describe_insert(request.body, out);
      break;
    case RequestOperation::create_table:
      describe_create(request.body, out);
      break;
    default:
      break;
  }
}

void describe_batch(const Account& account, const Request& request, RequestDescription& out) {
  Result<Batch> batch = parse_batch(request);
  const Result<ResourceUri> uri = parse_resource_uri(request.url, account.name);
  if (!batch.ok() || !uri.ok()) return;
  std::deque<std::string> urls;
  out.operations.resize(batch->operations.size());
  for (std::size_t i = 0; i < out.operations.size(); ++i) {
    Request& operation = batch->operations[i];
    operation.url = absolute_url(operation.url, uri->base, urls);
    describe_one(account, operation, out.operations[i]);
  }
  fill_batch_description(out);
}

// ---- Responses ----------------------------------------------------------------------------------

constexpr std::uint16_t first_error = 400;

// Returns the error code in the JSON that error_response() wrote.
std::string code_in(std::string_view body) {
  constexpr std::string_view before = R"({"odata.error":{"code":")";
  const std::size_t at = body.find(before);
  if (at == std::string_view::npos) return {};
  body.remove_prefix(at + before.size());
  return std::string(body.substr(0, body.find('"')));
}

// Returns the status of the first part in a batch response. A failed change set has only one part.
// The first match is the part's status line, because the text before it is only delimiters and
// headers that entitable wrote.
std::uint16_t status_of_first_part(std::string_view body) {
  constexpr std::string_view before = "\r\nHTTP/1.1 ";
  constexpr std::size_t digits = 3;
  const std::size_t at = body.find(before);
  if (at == std::string_view::npos) return 0;
  const auto status = parse_int32(body.substr(at + before.size(), digits));
  return static_cast<std::uint16_t>(status.value_or(0));
}

}  // namespace

void describe_request(const Account& account, const Request& request, RequestDescription& out) {
  out = RequestDescription{};
  describe_one(account, request, out);
  if (out.operation == RequestOperation::batch) describe_batch(account, request, out);
}

ResponseOutcome response_outcome(std::string_view response) {
  const ResponseView view = decode_http_response(response);
  ResponseOutcome outcome{view.status, {}};
  if (const auto code = header_of(view.headers, "x-ms-error-code"); code.has_value()) {
    outcome.code = std::string(*code);
  }
  const auto type = header_of(view.headers, "Content-Type");
  if (!type.has_value() || !multipart_boundary(*type).has_value()) return outcome;
  if (const std::uint16_t status = status_of_first_part(view.body); status >= first_error) {
    outcome.status = status;
    outcome.code = code_in(view.body);
  }
  return outcome;
}

}  // namespace entitable::rest
