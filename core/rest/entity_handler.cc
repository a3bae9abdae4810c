#include "core/rest/entity_handler.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/model/etag.h"
#include "core/model/limits.h"
#include "core/query/continuation.h"
#include "core/rest/data_response.h"
#include "core/rest/odata_response_json.h"
#include "core/rest/request_body.h"
#include "core/rest/resource_urls.h"

namespace entitable::rest {
namespace {

// ---- Reading ------------------------------------------------------------------------------------

ODataContext odata_context_of(const AuthorizedRequest& authorized,
                              const std::vector<std::string>& select) {
  ODataContext odata;
  odata.level = authorized.level;
  odata.base = authorized.uri.base;
  odata.account = authorized.account.name;
  odata.table = authorized.uri.table;
  if (!select.empty()) odata.select = *authorized.options.select;
  return odata;
}

Result<Query> read_query(const AuthorizedRequest& authorized) {
  if (const auto supported = reject_unsupported_options(authorized.options); !supported.ok()) {
    return supported.error();
  }
  Query query;
  Result<Filter> filter = parse_filter_option(authorized.options, authorized.account);
  if (!filter.ok()) return filter.error();
  query.filter = authorized.access.restrict_filter(std::move(*filter));
  Result<std::vector<std::string>> select = parse_select_option(authorized.options);
  if (!select.ok()) return select.error();
  query.select = std::move(*select);
  const Result<std::uint32_t> top = parse_top_option(authorized.options);
  if (!top.ok()) return top.error();
  query.top = *top;
  Result<std::optional<Continuation>> from = parse_continuation(authorized.options);
  if (!from.ok()) return from.error();
  query.from = std::move(*from);
  return query;
}

// ---- Responses to writes ------------------------------------------------------------------------

// The data of the response to an insert, copied from the request. `entity` has properties only if
// the response contains them.
struct Inserted {
  MetadataLevel level;
  ReturnPreference preference;
  std::string base;
  std::string account;
  std::string table;
  Entity entity;

  Response response(Ticks timestamp) {
    CreatedResource made{
        level, preference, entity_url(base, table, entity.key.view()), etag_text(timestamp), {}};
    if (preference != ReturnPreference::no_content) {
      entity.timestamp = timestamp;
      made.body = entity_json({level, base, account, table, {}}, entity);
    }
    return created_response(std::move(made));
  }
};

Response updated_response(Ticks timestamp) {
  Response response{204, "No Content", {}, {}};
  if (timestamp != 0) response.headers.push_back({"ETag", etag_text(timestamp)});
  return response;
}

// ---- Writing ------------------------------------------------------------------------------------

Result<void> check_body(const Request& request) {
  if (auto type = check_content_type(request); !type.ok()) return type;
  if (request.body.size() > limits::request_bytes_max)
    return Error(ErrorCode::request_body_too_large);
  return {};
}

Result<EntityWrite> parse_insert(const AuthorizedRequest& authorized) {
  if (const auto checked = check_body(authorized.request); !checked.ok()) return checked.error();
  Result<EntityBody> body = parse_inserted_entity(authorized.request.body);
  if (!body.ok()) return body.error();
  const RequiredAccess required_access{AccessKind::insert, authorized.uri.table, body->key.view()};
  if (const auto allowed = authorized.access.check(required_access); !allowed.ok())
    return allowed.error();
  Inserted inserted{authorized.level,     return_preference_of(authorized.request),
                    authorized.uri.base,  authorized.account.name,
                    authorized.uri.table, {}};
  inserted.entity.key = body->key;
  if (inserted.preference != ReturnPreference::no_content)
    inserted.entity.properties = body->properties;
  return EntityWrite{
      authorized.uri.table,
      Operation{OperationKind::insert, std::move(body->key), std::move(body->properties), {}},
      [inserted = std::move(inserted)](Ticks timestamp) mutable {
        return inserted.response(timestamp);
      }};
}

OperationKind kind_of_change(RouteKind route, const IfMatch& condition) {
  if (route == RouteKind::put_entity) {
    return condition.has_condition() ? OperationKind::replace : OperationKind::insert_or_replace;
  }
  return condition.has_condition() ? OperationKind::merge : OperationKind::insert_or_merge;
}

Result<EntityWrite> parse_change(const AuthorizedRequest& authorized) {
  if (const auto checked = check_body(authorized.request); !checked.ok()) return checked.error();
  Result<IfMatch> condition = if_match_of(authorized.request);
  if (!condition.ok()) return condition.error();
  Result<EntityBody> body = parse_updated_entity(authorized.request.body);
  if (!body.ok()) return body.error();
  return EntityWrite{authorized.uri.table,
                     Operation{kind_of_change(authorized.route, *condition), authorized.uri.key,
                               std::move(body->properties), std::move(*condition)},
                     updated_response};
}

Result<EntityWrite> parse_delete(const AuthorizedRequest& authorized) {
  Result<IfMatch> condition = if_match_of(authorized.request);
  if (!condition.ok()) return condition.error();
  return EntityWrite{
      authorized.uri.table,
      Operation{OperationKind::remove, authorized.uri.key, {}, std::move(*condition)},
      updated_response};
}

}  // namespace

HandleResult query_entities(const AuthorizedRequest& authorized) {
  const Result<Query> query = read_query(authorized);
  if (!query.ok()) return authorized.make_error_response(query.error());
  auto answer = authorized.store.query(authorized.uri.table, *query);
  if (auto* parts_needed = std::get_if<PartsNeeded>(&answer)) return std::move(*parts_needed);
  if (const auto* error = std::get_if<Error>(&answer))
    return authorized.make_error_response(*error);
  Page& page = std::get<Page>(answer);
  const ODataContext odata = odata_context_of(authorized, query->select);
  RowsJson json = rows_json(odata, page.rows, query->select);
  if (json.rows < page.rows.size()) {
    const RowView& next = page.rows[json.rows];
    page.next = Continuation{EntityKey(next.partition(), next.row_key())};
  }
  Response response = data_response(authorized.level, std::move(json.body));
  response.rows = RowCounts{page.rows_read, json.rows, page.partition};
  if (page.next.has_value()) {
    ContinuationTokens tokens = encode_continuation(*page.next);
    response.headers.push_back(
        {"x-ms-continuation-NextPartitionKey", std::move(tokens.next_partition_key)});
    response.headers.push_back({"x-ms-continuation-NextRowKey", std::move(tokens.next_row_key)});
  }
  return response;
}

HandleResult get_entity(const AuthorizedRequest& authorized) {
  if (const auto supported = reject_unsupported_options(authorized.options); !supported.ok()) {
    return authorized.make_error_response(supported.error());
  }
  const Result<std::vector<std::string>> select = parse_select_option(authorized.options);
  if (!select.ok()) return authorized.make_error_response(select.error());
  auto answer = authorized.store.get(authorized.uri.table, authorized.uri.key.view());
  if (auto* parts_needed = std::get_if<PartsNeeded>(&answer)) return std::move(*parts_needed);
  if (const auto* error = std::get_if<Error>(&answer))
    return authorized.make_error_response(*error);
  const RowView& row = std::get<PinnedRow>(answer).row;
  const ODataContext odata = odata_context_of(authorized, *select);
  Response response = data_response(authorized.level, row_json(odata, row, *select));
  response.headers.push_back({"ETag", etag_text(row.timestamp())});
  response.rows = RowCounts{1, 1};
  return response;
}

Result<EntityWrite> parse_entity_write(const AuthorizedRequest& authorized) {
  switch (authorized.route) {
    case RouteKind::insert_entity:
      return parse_insert(authorized);
    case RouteKind::put_entity:
    case RouteKind::merge_entity:
      return parse_change(authorized);
    default:
      return parse_delete(authorized);
  }
}

HandleResult write_entity(const AuthorizedRequest& authorized) {
  Result<EntityWrite> write = parse_entity_write(authorized);
  if (!write.ok()) return authorized.make_error_response(write.error());
  WriteEntities entities;
  entities.table = std::move(write->table);
  entities.operations.push_back(std::move(write->operation));
  entities.size_checked = true;
  auto make_response = [respond_done = std::move(write->make_response),
                        error_format = authorized.error_format](const WriteResult& answer) {
    const auto* failure = std::get_if<GroupFailure>(&answer);
    return failure != nullptr ? error_response(failure->error, error_format)
                              : respond_done(std::get<WriteSuccess>(answer).timestamps.front());
  };
  return UnstagedWrite{WriteRequest{std::nullopt, std::move(entities)}, std::move(make_response)};
}

}  // namespace entitable::rest
