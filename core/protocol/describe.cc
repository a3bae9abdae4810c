#include "core/protocol/describe.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/number_text.h"
#include "core/model/limits.h"
#include "core/protocol/batch_request.h"
#include "core/protocol/entity_body.h"
#include "core/protocol/http_codec.h"
#include "core/protocol/multipart.h"
#include "core/protocol/reading.h"

namespace entitable::protocol {
namespace {

// ---- Requests -----------------------------------------------------------------------------------

DescribedAs operation_of(const Reading& reading, const Request& request) {
  const bool conditional = reading.need(request).action == Action::update;
  const bool writes = reading.line.writes;
  switch (reading.line.route) {
    case Route::query_tables:
      return DescribedAs::list_tables;
    case Route::get_table:
      return DescribedAs::get_table;
    case Route::create_table:
      return DescribedAs::create_table;
    case Route::drop_table:
      return DescribedAs::drop_table;
    case Route::table_acl:
      return writes ? DescribedAs::set_acl : DescribedAs::get_acl;
    case Route::service_properties:
      return writes ? DescribedAs::set_properties : DescribedAs::get_properties;
    case Route::service_stats:
      return DescribedAs::get_statistics;
    case Route::query_entities:
      return DescribedAs::query;
    case Route::get_entity:
      return DescribedAs::get;
    case Route::insert_entity:
      return DescribedAs::insert;
    case Route::put_entity:
      return conditional ? DescribedAs::update : DescribedAs::upsert_replace;
    case Route::merge_entity:
      return conditional ? DescribedAs::merge : DescribedAs::upsert_merge;
    case Route::delete_entity:
      return DescribedAs::remove;
    case Route::batch:
      break;
  }
  return DescribedAs::batch;
}

void describe_options(QueryOptions& options, Description& out) {
  Result<std::vector<std::string>> select = select_of(options);
  if (select.ok()) out.select = std::move(*select);
  if (out.operation == DescribedAs::get) return;
  out.filter = std::move(options.filter);
  const std::optional<std::int32_t> top =
      options.top.has_value() ? parse_int32(*options.top) : std::nullopt;
  if (top.has_value() && *top >= 0) out.top = static_cast<std::uint32_t>(*top);
}

void describe_insert(std::string_view body, Description& out) {
  if (body.size() > limits::request_bytes_max) return;
  BodyKeys keys = read_inserted_keys(body);
  out.partition = std::move(keys.partition);
  out.row = std::move(keys.row);
}

void describe_create(std::string_view body, Description& out) {
  if (body.size() > limits::request_bytes_max) return;
  Result<std::string> name = read_table_name(body);
  if (name.ok()) out.table = std::move(*name);
}

void describe_one(const Account& account, const Request& request, Description& out) {
  Reading reading;
  ErrorForm form;
  const bool is_read = read_target(request, account.name, form, reading).ok();
  if (!reading.uri.table.empty()) out.table = std::move(reading.uri.table);
  if (reading.uri.resource == Resource::entity) {
    out.partition = std::move(reading.uri.key.partition);
    out.row = std::move(reading.uri.key.row);
  }
  if (request.method == "OPTIONS") {
    out.operation = DescribedAs::preflight;
    return;
  }
  if (!is_read) return;
  out.operation = operation_of(reading, request);
  switch (out.operation) {
    case DescribedAs::get:
    case DescribedAs::query:
    case DescribedAs::list_tables:
      describe_options(reading.options, out);
      break;
    case DescribedAs::insert:
      describe_insert(request.body, out);
      break;
    case DescribedAs::create_table:
      describe_create(request.body, out);
      break;
    default:
      break;
  }
}

void describe_batch(const Account& account, const Request& request, Description& out) {
  Result<Batch> batch = read_batch(request);
  if (!batch.ok()) return;
  std::deque<std::string> urls;
  out.operations.resize(batch->operations.size());
  for (std::size_t i = 0; i < out.operations.size(); ++i) {
    Request& operation = batch->operations[i];
    operation.url = absolute_url(operation.url, request.url, urls);
    describe_one(account, operation, out.operations[i]);
  }
  become_batch(out);
}

// ---- Responses ----------------------------------------------------------------------------------

constexpr std::uint16_t first_error = 400;

// What our own error_response wrote as JSON.
std::string code_in(std::string_view body) {
  constexpr std::string_view before = R"({"odata.error":{"code":")";
  const std::size_t at = body.find(before);
  if (at == std::string_view::npos) return {};
  body.remove_prefix(at + before.size());
  return std::string(body.substr(0, body.find('"')));
}

// The status of the first response in a batch's; a change set that failed has no other. No text of
// a part can look like its first line, since none holds a line end.
std::uint16_t status_of_first_part(std::string_view body) {
  constexpr std::string_view before = "\r\nHTTP/1.1 ";
  constexpr std::size_t digits = 3;
  const std::size_t at = body.find(before);
  if (at == std::string_view::npos) return 0;
  const auto status = parse_int32(body.substr(at + before.size(), digits));
  return static_cast<std::uint16_t>(status.value_or(0));
}

}  // namespace

void describe(const Account& account, const Request& request, Description& out) {
  out = Description{};
  describe_one(account, request, out);
  if (out.operation == DescribedAs::batch) describe_batch(account, request, out);
}

Outcome outcome_of(std::string_view response) {
  const ResponseView view = read_response(response);
  Outcome outcome{view.status, {}};
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

}  // namespace entitable::protocol
