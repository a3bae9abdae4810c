#include "core/protocol/entity_handler.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/model/etag.h"
#include "core/model/limits.h"
#include "core/protocol/data_response.h"
#include "core/protocol/entity_body.h"
#include "core/protocol/links.h"
#include "core/protocol/odata_json.h"
#include "core/query/continuation.h"

namespace entitable::protocol {
namespace {

// ---- Reading ------------------------------------------------------------------------------------

Representation representation_of(const Call& call, const std::vector<std::string>& select) {
  Representation how;
  how.level = call.level;
  how.base = call.uri.base;
  how.account = call.account.name;
  how.table = call.uri.table;
  if (!select.empty()) how.select = *call.options.select;
  return how;
}

Result<Query> read_query(const Call& call) {
  if (const auto supported = check_supported(call.options); !supported.ok()) {
    return supported.error();
  }
  Query query;
  Result<Filter> filter = filter_of(call.options, call.account);
  if (!filter.ok()) return filter.error();
  query.filter = call.access.cut(std::move(*filter));
  Result<std::vector<std::string>> select = select_of(call.options);
  if (!select.ok()) return select.error();
  query.select = std::move(*select);
  const Result<std::uint32_t> top = top_of(call.options);
  if (!top.ok()) return top.error();
  query.top = *top;
  Result<std::optional<Continuation>> from = continuation_of(call.options);
  if (!from.ok()) return from.error();
  query.from = std::move(*from);
  return query;
}

// ---- Answers to writes --------------------------------------------------------------------------

// What an insert is answered. Owns what it needs; `entity` has properties only if they are told.
struct Inserted {
  Metadata level;
  Preference preference;
  std::string base;
  std::string account;
  std::string table;
  Entity entity;

  Response response(Ticks timestamp) {
    Made made{
        level, preference, entity_url(base, table, entity.key.view()), etag_text(timestamp), {}};
    if (preference != Preference::no_content) {
      entity.timestamp = timestamp;
      made.body = entity_json({level, base, account, table, {}}, entity);
    }
    return made_response(std::move(made));
  }
};

Response changed(Ticks timestamp) {
  Response response{204, "No Content", {}, {}};
  if (timestamp != 0) response.headers.push_back({"ETag", etag_text(timestamp)});
  return response;
}

// ---- Writing ------------------------------------------------------------------------------------

Result<void> check_body(const Request& request) {
  if (auto type = check_content_type(request); !type.ok()) return type;
  if (request.body.size() > limits::request_bytes_max) return Error(Code::request_body_too_large);
  return {};
}

Result<EntityWrite> parse_insert(const Call& call) {
  if (const auto checked = check_body(call.request); !checked.ok()) return checked.error();
  Result<EntityBody> body = read_inserted_entity(call.request.body);
  if (!body.ok()) return body.error();
  const Need need{Action::insert, call.uri.table, body->key.view()};
  if (const auto allowed = call.access.check(need); !allowed.ok()) return allowed.error();
  Inserted inserted{call.level,     preference_of(call.request),
                    call.uri.base,  call.account.name,
                    call.uri.table, {}};
  inserted.entity.key = body->key;
  if (inserted.preference != Preference::no_content) inserted.entity.properties = body->properties;
  return EntityWrite{
      call.uri.table,
      Operation{OperationKind::insert, std::move(body->key), std::move(body->properties), {}},
      [inserted = std::move(inserted)](Ticks timestamp) mutable {
        return inserted.response(timestamp);
      }};
}

OperationKind kind_of_change(Route route, const IfMatch& condition) {
  if (route == Route::put_entity) {
    return condition.given() ? OperationKind::replace : OperationKind::insert_or_replace;
  }
  return condition.given() ? OperationKind::merge : OperationKind::insert_or_merge;
}

Result<EntityWrite> parse_change(const Call& call) {
  if (const auto checked = check_body(call.request); !checked.ok()) return checked.error();
  Result<IfMatch> condition = condition_of(call.request);
  if (!condition.ok()) return condition.error();
  Result<EntityBody> body = read_updated_entity(call.request.body);
  if (!body.ok()) return body.error();
  return EntityWrite{call.uri.table,
                     Operation{kind_of_change(call.route, *condition), call.uri.key,
                               std::move(body->properties), std::move(*condition)},
                     changed};
}

Result<EntityWrite> parse_delete(const Call& call) {
  Result<IfMatch> condition = condition_of(call.request);
  if (!condition.ok()) return condition.error();
  return EntityWrite{call.uri.table,
                     Operation{OperationKind::remove, call.uri.key, {}, std::move(*condition)},
                     changed};
}

}  // namespace

Handled query_entities(const Call& call) {
  const Result<Query> query = read_query(call);
  if (!query.ok()) return call.refuse(query.error());
  auto answer = call.store.query(call.uri.table, *query);
  if (auto* need = std::get_if<NeedParts>(&answer)) return std::move(*need);
  if (const auto* error = std::get_if<Error>(&answer)) return call.refuse(*error);
  const Page& page = std::get<Page>(answer);
  const Representation how = representation_of(call, query->select);
  Response response = data_response(call.level, rows_json(how, page.rows, query->select));
  response.rows = RowCounts{page.rows_read, page.rows.size(), page.partition};
  if (page.next.has_value()) {
    ContinuationTokens tokens = encode_continuation(*page.next);
    response.headers.push_back(
        {"x-ms-continuation-NextPartitionKey", std::move(tokens.next_partition_key)});
    response.headers.push_back({"x-ms-continuation-NextRowKey", std::move(tokens.next_row_key)});
  }
  return response;
}

Handled get_entity(const Call& call) {
  if (const auto supported = check_supported(call.options); !supported.ok()) {
    return call.refuse(supported.error());
  }
  const Result<std::vector<std::string>> select = select_of(call.options);
  if (!select.ok()) return call.refuse(select.error());
  auto answer = call.store.get(call.uri.table, call.uri.key.view());
  if (auto* need = std::get_if<NeedParts>(&answer)) return std::move(*need);
  if (const auto* error = std::get_if<Error>(&answer)) return call.refuse(*error);
  const RowView& row = std::get<RowAnswer>(answer).row;
  const Representation how = representation_of(call, *select);
  Response response = data_response(call.level, row_json(how, row, *select));
  response.headers.push_back({"ETag", etag_text(row.timestamp())});
  response.rows = RowCounts{1, 1};
  return response;
}

Result<EntityWrite> parse_entity_write(const Call& call) {
  switch (call.route) {
    case Route::insert_entity:
      return parse_insert(call);
    case Route::put_entity:
    case Route::merge_entity:
      return parse_change(call);
    default:
      return parse_delete(call);
  }
}

Handled write_entity(const Call& call) {
  Result<EntityWrite> write = parse_entity_write(call);
  if (!write.ok()) return call.refuse(write.error());
  WriteEntities entities;
  entities.table = std::move(write->table);
  entities.operations.push_back(std::move(write->operation));
  entities.measured = true;
  auto respond = [respond_done = std::move(write->respond),
                  form = call.form](const WriteAnswer& answer) {
    const auto* failure = std::get_if<GroupFailure>(&answer);
    return failure != nullptr ? error_response(failure->error, form)
                              : respond_done(std::get<WriteDone>(answer).timestamps.front());
  };
  return PendingWrite{WriteRequest{std::nullopt, std::move(entities)}, std::move(respond)};
}

}  // namespace entitable::protocol
