#include "core/protocol/table_handler.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/model/limits.h"
#include "core/model/table_name.h"
#include "core/protocol/data_response.h"
#include "core/protocol/entity_body.h"
#include "core/protocol/links.h"
#include "core/protocol/odata_json.h"
#include "core/query/continuation.h"

namespace entitable::protocol {
namespace {

Representation representation_of(const Call& call) {
  Representation how;
  how.level = call.level;
  how.base = call.uri.base;
  how.account = call.account.name;
  return how;
}

struct TablesQuery {
  Filter filter;
  std::vector<std::string> select;
  std::uint32_t top = 0;
  std::string from;
};

Result<TablesQuery> read_query(const Call& call) {
  if (const auto supported = check_supported(call.options); !supported.ok()) {
    return supported.error();
  }
  Result<Filter> filter = filter_of(call.options, call.account);
  if (!filter.ok()) return filter.error();
  Result<std::vector<std::string>> select = select_of(call.options);
  if (!select.ok()) return select.error();
  const Result<std::uint32_t> top = top_of(call.options);
  if (!top.ok()) return top.error();
  TablesQuery query{std::move(*filter), std::move(*select), *top, {}};
  if (!call.options.next_table_name.value_or("").empty()) {
    Result<std::string> from = decode_token(*call.options.next_table_name);
    if (!from.ok()) return from.error();
    query.from = std::move(*from);
  }
  return query;
}

// What a Create Table is answered. Owns what it needs.
struct Created {
  Metadata level;
  Preference preference;
  std::string base;
  std::string account;
  std::string name;

  Response response() const {
    Representation how;
    how.level = level;
    how.base = base;
    how.account = account;
    return made_response({level, preference, table_url(base, name), {}, table_json(how, name)});
  }
};

}  // namespace

Handled query_tables(const Call& call) {
  const Result<TablesQuery> query = read_query(call);
  if (!query.ok()) return call.refuse(query.error());
  const Result<TablePage> page = call.store.tables(query->filter, query->top, query->from);
  if (!page.ok()) return call.refuse(page.error());
  Representation how = representation_of(call);
  if (!query->select.empty()) how.select = *call.options.select;
  Response response = data_response(call.level, tables_json(how, page->names, query->select));
  if (page->next.has_value()) {
    response.headers.push_back({"x-ms-continuation-NextTableName", encode_token(*page->next)});
  }
  return response;
}

Handled get_table(const Call& call) {
  // The page that begins with this name begins with this table, if there is one.
  const Result<TablePage> page = call.store.tables({}, 1, call.uri.table);
  if (!page.ok()) return call.refuse(page.error());
  const bool found = !page->names.empty() &&
                     fold_table_name(page->names.front()) == fold_table_name(call.uri.table);
  if (!found) return call.refuse(Error(Code::resource_not_found));
  return data_response(call.level, table_json(representation_of(call), page->names.front()));
}

Handled create_table(const Call& call) {
  if (const auto type = check_content_type(call.request); !type.ok()) {
    return call.refuse(type.error());
  }
  if (call.request.body.size() > limits::request_bytes_max) {
    return call.refuse(Error(Code::request_body_too_large));
  }
  const Result<std::string> name = read_table_name(call.request.body);
  if (!name.ok()) return call.refuse(name.error());
  auto respond = [created = Created{call.level, preference_of(call.request), call.uri.base,
                                    call.account.name, *name},
                  form = call.form](const WriteAnswer& answer) {
    const auto* failure = std::get_if<GroupFailure>(&answer);
    return failure != nullptr ? error_response(failure->error, form) : created.response();
  };
  return PendingWrite{WriteRequest{std::nullopt, WriteCreateTable{*name}}, std::move(respond)};
}

Handled drop_table(const Call& call) {
  auto respond = [form = call.form](const WriteAnswer& answer) {
    const auto* failure = std::get_if<GroupFailure>(&answer);
    return failure != nullptr ? error_response(failure->error, form)
                              : Response{204, "No Content", {}, {}};
  };
  return PendingWrite{WriteRequest{std::nullopt, WriteDropTable{call.uri.table}},
                      std::move(respond)};
}

}  // namespace entitable::protocol
