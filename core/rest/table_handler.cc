#include "core/rest/table_handler.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/model/limits.h"
#include "core/model/table_name.h"
#include "core/query/continuation.h"
#include "core/rest/data_response.h"
#include "core/rest/odata_response_json.h"
#include "core/rest/request_body.h"
#include "core/rest/resource_urls.h"

namespace entitable::rest {
namespace {

ODataContext odata_context_of(const AuthorizedRequest& authorized) {
  ODataContext odata;
  odata.level = authorized.level;
  odata.base = authorized.uri.base;
  odata.account = authorized.account.name;
  return odata;
}

struct TablesQuery {
  Filter filter;
  std::vector<std::string> select;
  std::uint32_t top = 0;
  std::string from;
};

Result<TablesQuery> read_query(const AuthorizedRequest& authorized) {
  if (const auto supported = reject_unsupported_options(authorized.options); !supported.ok()) {
    return supported.error();
  }
  Result<Filter> filter = parse_filter_option(authorized.options, authorized.account);
  if (!filter.ok()) return filter.error();
  Result<std::vector<std::string>> select = parse_select_option(authorized.options);
  if (!select.ok()) return select.error();
  const Result<std::uint32_t> top = parse_top_option(authorized.options);
  if (!top.ok()) return top.error();
  TablesQuery query{std::move(*filter), std::move(*select), *top, {}};
  if (!authorized.options.next_table_name.value_or("").empty()) {
    Result<std::string> from = decode_token(*authorized.options.next_table_name);
    if (!from.ok()) return from.error();
    query.from = std::move(*from);
  }
  return query;
}

// The data of the response to Create Table, copied from the request.
struct Created {
  MetadataLevel level;
  ReturnPreference preference;
  std::string base;
  std::string account;
  std::string name;

  Response response() const {
    ODataContext odata;
    odata.level = level;
    odata.base = base;
    odata.account = account;
    return created_response(
        {level, preference, table_url(base, name), {}, table_json(odata, name)});
  }
};

}  // namespace

HandleResult query_tables(const AuthorizedRequest& authorized) {
  const Result<TablesQuery> query = read_query(authorized);
  if (!query.ok()) return authorized.make_error_response(query.error());
  const Result<TablePage> page = authorized.store.tables(query->filter, query->top, query->from);
  if (!page.ok()) return authorized.make_error_response(page.error());
  ODataContext odata = odata_context_of(authorized);
  if (!query->select.empty()) odata.select = *authorized.options.select;
  Response response =
      data_response(authorized.level, tables_json(odata, page->names, query->select));
  if (page->next.has_value()) {
    response.headers.push_back({"x-ms-continuation-NextTableName", encode_token(*page->next)});
  }
  return response;
}

HandleResult get_table(const AuthorizedRequest& authorized) {
  // If the table exists, it is the first table of a page that starts at its name.
  const Result<TablePage> page = authorized.store.tables({}, 1, authorized.uri.table);
  if (!page.ok()) return authorized.make_error_response(page.error());
  const bool found = !page->names.empty() &&
                     fold_table_name(page->names.front()) == fold_table_name(authorized.uri.table);
  if (!found) return authorized.make_error_response(Error(ErrorCode::resource_not_found));
  return data_response(authorized.level,
                       table_json(odata_context_of(authorized), page->names.front()));
}

HandleResult create_table(const AuthorizedRequest& authorized) {
  if (const auto type = check_content_type(authorized.request); !type.ok()) {
    return authorized.make_error_response(type.error());
  }
  if (authorized.request.body.size() > limits::request_bytes_max) {
    return authorized.make_error_response(Error(ErrorCode::request_body_too_large));
  }
  const Result<std::string> name = parse_create_table_body(authorized.request.body);
  if (!name.ok()) return authorized.make_error_response(name.error());
  auto make_response = [created =
                            Created{authorized.level, return_preference_of(authorized.request),
                                    authorized.uri.base, authorized.account.name, *name},
                        error_format = authorized.error_format](const WriteResult& answer) {
    const auto* failure = std::get_if<GroupFailure>(&answer);
    return failure != nullptr ? error_response(failure->error, error_format) : created.response();
  };
  return UnstagedWrite{WriteRequest{std::nullopt, WriteCreateTable{*name}},
                       std::move(make_response)};
}

HandleResult drop_table(const AuthorizedRequest& authorized) {
  auto make_response = [error_format = authorized.error_format](const WriteResult& answer) {
    const auto* failure = std::get_if<GroupFailure>(&answer);
    return failure != nullptr ? error_response(failure->error, error_format)
                              : Response{204, "No Content", {}, {}};
  };
  return UnstagedWrite{WriteRequest{std::nullopt, WriteDropTable{authorized.uri.table}},
                       std::move(make_response)};
}

}  // namespace entitable::rest
