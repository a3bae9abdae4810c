#include "core/doors/watch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/number_text.h"
#include "core/direct/calls.h"
#include "core/direct/describe.h"
#include "core/doors/call.h"
#include "core/json/reader.h"
#include "core/json/writer.h"
#include "core/model/service_error.h"
#include "core/protocol/describe.h"
#include "core/protocol/error_response.h"
#include "core/protocol/http_codec.h"
#include "core/protocol/service.h"

namespace entitable::doors {
namespace {

// Without the head of its call; nothing is left of a malformed one.
std::string_view inner(std::string_view block) {
  if (is_call(block) && !take_call(block).has_value()) return {};
  return block;
}

// ---- Descriptions as JSON -----------------------------------------------------------------------

// In the order of DescribedAs.
constexpr std::string_view operation_names[] = {
    "unknown",  "get",    "query",  "explain",       "insert",        "update",        "merge",
    "upsert",   "upsert", "delete", "batch",         "createTable",   "deleteTable",   "listTables",
    "getTable", "getAcl", "setAcl", "getProperties", "setProperties", "getStatistics", "options"};
static_assert(std::size(operation_names) == static_cast<std::size_t>(DescribedAs::preflight) + 1);

void write_text(json::Writer& writer, std::string_view name,
                const std::optional<std::string>& text) {
  if (!text.has_value()) return;
  writer.name(name);
  writer.string(*text);
}

// All but the operations of a batch.
void write_members(json::Writer& writer, const Description& description) {
  writer.name("operation");
  writer.string(operation_names[static_cast<std::size_t>(description.operation)]);
  if (description.operation == DescribedAs::upsert_replace ||
      description.operation == DescribedAs::upsert_merge) {
    writer.name("mode");
    writer.string(description.operation == DescribedAs::upsert_merge ? "Merge" : "Replace");
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

// ---- Refusals -----------------------------------------------------------------------------------

// What a refusal's JSON says. Looks into it.
struct Refusal {
  ServiceError error{0, {}, {}};
  std::vector<protocol::HeaderView> headers;
};

Error bad(std::string_view what) {
  return Error(Code::invalid_input, "A refusal " + std::string(what));
}

// What may stand in a line of a response, or be the name of one.
bool is_line(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}
bool is_token(std::string_view text) {
  constexpr std::string_view separators = R"( "(),/:;<=>?@[\]{})";
  return !text.empty() && is_line(text) && text.find_first_of(separators) == std::string_view::npos;
}

Result<void> read_member(const json::Member& member, Refusal& out) {
  constexpr std::string_view header_prefix = "header:";
  constexpr std::int32_t status_min = 300;
  constexpr std::int32_t status_max = 599;
  if (member.name == "code") {
    if (!is_token(member.text)) return bad("needs a code that can stand in a header.");
    out.error.code = member.text;
  } else if (member.name == "status") {
    const std::optional<std::int32_t> status = parse_int32(member.text);
    if (!status.has_value() || *status < status_min || *status > status_max) {
      return bad("needs a status from 300 to 599.");
    }
    out.error.status = static_cast<std::uint16_t>(*status);
  } else if (member.name == "message") {
    out.error.message = member.text;
  } else if (member.name.starts_with(header_prefix)) {
    const std::string_view name = member.name.substr(header_prefix.size());
    if (!is_token(name) || !is_line(member.text)) return bad("needs headers that HTTP can carry.");
    out.headers.push_back({name, member.text});
  } else {
    return bad("has no \"" + std::string(member.name) + "\".");
  }
  return {};
}

Result<void> read_refusal(const json::Object& object, Refusal& refusal) {
  for (const json::Member& member : object.members) {
    if (const Result<void> read = read_member(member, refusal); !read.ok()) return read.error();
  }
  ServiceError& error = refusal.error;
  if (error.code.empty()) return bad("needs a code.");
  const ServiceError* known = find_service_error(error.code);
  if (error.status == 0 && known == nullptr) {
    return bad("needs a status, as the service has no such code.");
  }
  if (error.status == 0) error.status = known->status;
  if (error.message.empty()) {
    error.message = known != nullptr ? known->message : protocol::reason_phrase(error.status);
  }
  return {};
}

}  // namespace

Description describe(const protocol::Account& account, std::string_view block) {
  Description out;
  block = inner(block);
  if (!protocol::is_request_block(block)) {
    direct::describe(block, out);
  } else if (const auto read = protocol::read_request(block); read.has_value()) {
    protocol::describe(account, read->request, out);
  }
  return out;
}

std::string description_json(const Description& description) {
  std::string text;
  json::Writer writer(text);
  writer.begin_object();
  write_members(writer, description);
  if (description.operation == DescribedAs::batch) {
    writer.name("operations");
    writer.begin_array();
    for (const Description& operation : description.operations) {
      writer.begin_object();
      write_members(writer, operation);
      writer.end_object();
    }
    writer.end_array();
  }
  writer.end_object();
  return text;
}

Result<void> refuse(const protocol::Account& account, const Store& store, std::string_view block,
                    std::string_view refusal, Ticks now, direct::ReplyBuffer& out) {
  const Result<json::Object> object = json::read_object(refusal);
  if (!object.ok()) return object.error();
  Refusal said;
  if (const Result<void> read = read_refusal(*object, said); !read.ok()) return read.error();
  const std::optional<protocol::RequestBlock> http = protocol::read_request(inner(block));
  if (http.has_value()) {
    out.assign(protocol::write_response(protocol::refuse(
        account, store, http->request, protocol::Moment{now, http->id}, said.error, said.headers)));
    return {};
  }
  direct::HeaderViews headers;
  for (const auto& [name, value] : said.headers) headers.emplace_back(name, value);
  direct::write_error(out, said.error, headers);
  return {};
}

Outcome outcome_of(std::string_view block, std::string_view reply) {
  const bool http =
      !reply.empty() && static_cast<std::uint8_t>(reply.front()) == protocol::response_block_kind;
  return http ? protocol::outcome_of(reply) : direct::outcome_of(inner(block), reply);
}

}  // namespace entitable::doors
