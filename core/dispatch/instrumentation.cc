#include "core/dispatch/instrumentation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/number_text.h"
#include "core/dispatch/call_header.h"
#include "core/json/object_parser.h"
#include "core/json/writer.h"
#include "core/model/service_error.h"
#include "core/rest/describe_request.h"
#include "core/rest/error_response.h"
#include "core/rest/http_codec.h"
#include "core/rest/request_handler.h"
#include "core/rpc/describe_request.h"
#include "core/rpc/operations.h"

namespace entitable::dispatch {
namespace {

// Returns the message without its call header; empty if the call is malformed.
std::string_view unwrap_message(std::string_view message) {
  if (has_call_header(message) && !unwrap_call(message).has_value()) return {};
  return message;
}

// ---- Descriptions as JSON -----------------------------------------------------------------------

// In the order of RequestOperation.
constexpr std::string_view operation_names[] = {
    "unknown",  "get",    "query",  "explain",       "insert",        "update",        "merge",
    "upsert",   "upsert", "delete", "batch",         "createTable",   "deleteTable",   "listTables",
    "getTable", "getAcl", "setAcl", "getProperties", "setProperties", "getStatistics", "options"};
static_assert(std::size(operation_names) ==
              static_cast<std::size_t>(RequestOperation::preflight) + 1);

void write_text(json::Writer& writer, std::string_view name,
                const std::optional<std::string>& text) {
  if (!text.has_value()) return;
  writer.name(name);
  writer.string(*text);
}

// Writes all members except the operations of a batch.
void write_members(json::Writer& writer, const RequestDescription& description) {
  writer.name("operation");
  writer.string(operation_names[static_cast<std::size_t>(description.operation)]);
  if (description.operation == RequestOperation::upsert_replace ||
      description.operation == RequestOperation::upsert_merge) {
    writer.name("mode");
    writer.string(description.operation == RequestOperation::upsert_merge ? "Merge" : "Replace");
  }
  write_text(writer, "table", description.table);
  write_text(writer, "partitionKey", description.partition);
  write_text(writer, "rowKey", description.row);
  write_text(writer, "filter", description.filter);
  if (!description.select.empty()) {
    writer.name("select");
    writer.begin_array();
    for (const std::string& name : description.select) writer.string(name);
    writer.end_array();
  }
  if (description.top.has_value()) {
    writer.name("top");
    writer.raw(std::to_string(*description.top));
  }
}

// ---- Injected errors ----------------------------------------------------------------------------

// A parsed error. Holds views into its JSON text.
struct InjectedError {
  ServiceError error{0, {}, {}};
  std::vector<rest::HeaderView> headers;
};

Error invalid_injected_error(std::string_view what) {
  return Error(ErrorCode::invalid_input, "An injected error " + std::string(what));
}

// Return whether the text is allowed as the value (or the name) of a response header.
bool is_header_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}
bool is_header_name(std::string_view text) {
  constexpr std::string_view separators = R"( "(),/:;<=>?@[\]{})";
  return !text.empty() && is_header_value(text) &&
         text.find_first_of(separators) == std::string_view::npos;
}

Result<void> parse_member(const json::Member& member, InjectedError& out) {
  constexpr std::string_view header_prefix = "header:";
  constexpr std::int32_t status_min = 300;
  constexpr std::int32_t status_max = 599;
  if (member.name == "code") {
    if (!is_header_name(member.text))
      return invalid_injected_error("needs a code that can stand in a header.");
    out.error.code = member.text;
  } else if (member.name == "status") {
    const std::optional<std::int32_t> status = parse_int32(member.text);
    if (!status.has_value() || *status < status_min || *status > status_max) {
      return invalid_injected_error("needs a status from 300 to 599.");
    }
    out.error.status = static_cast<std::uint16_t>(*status);
  } else if (member.name == "message") {
    out.error.message = member.text;
  } else if (member.name.starts_with(header_prefix)) {
    const std::string_view name = member.name.substr(header_prefix.size());
    if (!is_header_name(name) || !is_header_value(member.text))
      return invalid_injected_error("needs headers that HTTP can carry.");
    out.headers.push_back({name, member.text});
  } else {
    return invalid_injected_error("has no \"" + std::string(member.name) + "\".");
  }
  return {};
}

Result<void> parse_injected_error(const json::Object& object, InjectedError& injected) {
  for (const json::Member& member : object.members) {
    if (const Result<void> read = parse_member(member, injected); !read.ok()) return read.error();
  }
  ServiceError& error = injected.error;
  if (error.code.empty()) return invalid_injected_error("needs a code.");
  const ServiceError* known = find_service_error(error.code);
  if (error.status == 0 && known == nullptr) {
    return invalid_injected_error("needs a status, as the service has no such code.");
  }
  if (error.status == 0) error.status = known->status;
  if (error.message.empty()) {
    error.message = known != nullptr ? known->message : rest::reason_phrase(error.status);
  }
  return {};
}

}  // namespace

RequestDescription describe_request(const rest::Account& account, std::string_view message) {
  RequestDescription out;
  message = unwrap_message(message);
  if (!rest::is_http_request_message(message)) {
    rpc::describe_request(message, out);
  } else if (const auto read = rest::decode_http_request(message); read.has_value()) {
    rest::describe_request(account, read->request, out);
  }
  return out;
}

std::string description_json(const RequestDescription& description) {
  std::string text;
  json::Writer writer(text);
  writer.begin_object();
  write_members(writer, description);
  if (description.operation == RequestOperation::batch) {
    writer.name("operations");
    writer.begin_array();
    for (const RequestDescription& operation : description.operations) {
      writer.begin_object();
      write_members(writer, operation);
      writer.end_object();
    }
    writer.end_array();
  }
  writer.end_object();
  return text;
}

Result<void> make_error_response(const rest::Account& account, const Store& store,
                                 std::string_view message, std::string_view error_json, Ticks now,
                                 rpc::ResponseBuffer& out) {
  const Result<json::Object> object = json::parse_object(error_json);
  if (!object.ok()) return object.error();
  InjectedError injected;
  if (const Result<void> read = parse_injected_error(*object, injected); !read.ok())
    return read.error();
  const std::optional<rest::HttpRequestMessage> rest_request =
      rest::decode_http_request(unwrap_message(message));
  if (rest_request.has_value()) {
    out.assign(rest::encode_http_response(rest::make_error_response(
        account, store, rest_request->request, rest::RequestContext{now, rest_request->id},
        injected.error, injected.headers)));
    return {};
  }
  rpc::HeaderViews headers;
  for (const auto& [name, value] : injected.headers) headers.emplace_back(name, value);
  rpc::encode_error(out, injected.error, headers);
  return {};
}

ResponseOutcome response_outcome(std::string_view message, std::string_view response) {
  const bool rest_request =
      !response.empty() && static_cast<std::uint8_t>(response.front()) == rest::http_response_kind;
  return rest_request ? rest::response_outcome(response)
                      : rpc::response_outcome(unwrap_message(message), response);
}

}  // namespace entitable::dispatch
