#include "core/rest/batch_handler.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/model/guid.h"
#include "core/model/service_error.h"
#include "core/rest/batch_request.h"
#include "core/rest/multipart.h"
#include "core/rest/request_headers.h"
#include "core/txn/entity_group.h"

namespace entitable::rest {
namespace {

// ---- Responses ----------------------------------------------------------------------------------

// The order in which the service writes the headers of a part.
constexpr std::string_view header_order[] = {
    "Content-ID",         "X-Content-Type-Options", "Cache-Control",
    "Preference-Applied", "DataServiceVersion",     "Content-Type",
    "Location",           "DataServiceId",          "ETag"};

std::vector<Header> in_order(std::vector<Header> headers) {
  std::vector<Header> ordered;
  ordered.reserve(headers.size());
  const auto take = [&](Header& header) {
    ordered.emplace_back();
    std::swap(ordered.back(), header);  // an empty name marks `header` as taken
  };
  for (const std::string_view name : header_order) {
    for (Header& header : headers) {
      if (equal_ignoring_case(header.name, name)) take(header);
    }
  }
  for (Header& header : headers) {
    if (!header.name.empty()) take(header);
  }
  return ordered;
}

// Returns a response with the headers of a part. Like the service, sets DataServiceVersion to 1.0
// if the response has neither a body nor a Location header, otherwise to 3.0.
Response as_part(Response response, const std::string& content_id) {
  const bool brief =
      response.body.empty() && std::none_of(response.headers.begin(), response.headers.end(),
                                            [](const Header& h) { return h.name == "Location"; });
  response.headers.push_back({"X-Content-Type-Options", "nosniff"});
  response.headers.push_back({"Cache-Control", "no-cache"});
  response.headers.push_back({"DataServiceVersion", brief ? "1.0;" : "3.0;"});
  if (!content_id.empty()) response.headers.push_back({"Content-ID", content_id});
  response.headers = in_order(std::move(response.headers));
  return response;
}

// Returns a boundary. It is unique, because request ids are random.
std::string boundary_of(std::string_view kind, std::string_view id) {
  Guid guid{};
  std::copy_n(id.begin(), std::min(id.size(), guid.size()), guid.begin());
  return std::string(kind) + guid_text(guid);
}

struct Boundaries {
  explicit Boundaries(std::string_view id)
      : batch(boundary_of("batchresponse_", id)),
        change_set(boundary_of("changesetresponse_", id)) {}
  std::string batch;
  std::string change_set;
};

Response accepted_response(std::string body, const Boundaries& boundaries) {
  append_closing_delimiter(body, boundaries.batch);
  return Response{202,
                  "Accepted",
                  {{"Content-Type", "multipart/mixed; boundary=" + boundaries.batch}},
                  std::move(body)};
}

Response change_set_response(const std::vector<Response>& parts, const Boundaries& boundaries) {
  std::string body;
  begin_nested_part(body, boundaries.batch, boundaries.change_set);
  for (const Response& part : parts) append_http_part(body, boundaries.change_set, part);
  append_closing_delimiter(body, boundaries.change_set);
  return accepted_response(std::move(body), boundaries);
}

// ---- Failures -----------------------------------------------------------------------------------

// Returns whether the error is not the fault of one operation.
bool applies_to_whole_batch(ErrorCode code) {
  switch (code) {
    case ErrorCode::request_body_too_large:
    case ErrorCode::internal_error:
    case ErrorCode::out_of_memory:
    case ErrorCode::corrupted:
    case ErrorCode::format_too_new:
    case ErrorCode::read_only:
      return true;
    default:
      return false;
  }
}

// Returns the error with the operation's index before its message, if the failure asks for it.
Error prefixed(const GroupFailure& failure) {
  Error error(failure.error.code, std::string(error_message(failure.error)));
  if (failure.prefixed) error.message.insert(0, std::to_string(failure.index) + ":");
  return error;
}

// ---- A change set -------------------------------------------------------------------------------

struct OperationResponder {
  std::function<Response(Ticks)> make_response;
  MakeErrorResponse make_error_response;
  std::string content_id;  // repeated in the response; empty: none
};

// Makes the response to a change set after it was staged. Owns its data.
struct ChangeSetResponder {
  std::vector<OperationResponder> operations;
  MakeErrorResponse make_error_response;  // for errors of the whole batch
  Boundaries boundaries;

  Response failed(const GroupFailure& failure) const {
    if (applies_to_whole_batch(failure.error.code)) return make_error_response(failure.error);
    const OperationResponder& responder =
        operations[std::min<std::size_t>(failure.index, operations.size() - 1)];
    return change_set_response(
        {as_part(responder.make_error_response(prefixed(failure)), responder.content_id)},
        boundaries);
  }
  Response done(const WriteSuccess& done) const {
    std::vector<Response> parts;
    parts.reserve(operations.size());
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const Ticks timestamp = i < done.timestamps.size() ? done.timestamps[i] : 0;
      parts.push_back(as_part(operations[i].make_response(timestamp), operations[i].content_id));
    }
    return change_set_response(parts, boundaries);
  }
};

// Returns the Content-ID header of the operation, or "" if there is none that may be repeated.
std::string content_id_of(const Request& operation) {
  const auto id = header_of(operation.headers, "Content-ID");
  return id.has_value() && is_echoable_id(*id) ? std::string(*id) : std::string();
}

// Returns the failure of a group whose operation `index` is invalid. If an operation before it
// breaks a rule of groups (core/txn/entity_group.h), that failure takes precedence.
GroupFailure invalid_operation_failure(Error error, std::size_t index, std::size_t operations,
                                       const std::vector<Operation>& before) {
  const std::optional<GroupFailure> rule =
      before.empty() ? std::nullopt : check_group(before, true, true);
  if (rule.has_value() && rule->index < index) {
    return operation_failure(rule->error, rule->index, operations, true);
  }
  return operation_failure(std::move(error), index, operations, true);
}

HandleResult handle_change_set(Batch& batch, const Request& request, std::string_view base,
                               const RequestContext& context, const BatchCallbacks& callbacks) {
  ChangeSetResponder answers{{}, callbacks.error_response_maker(request), Boundaries(context.id)};
  WriteEntities write;
  write.transaction = true;
  write.size_checked = true;
  std::deque<std::string> urls;
  for (Request& operation : batch.operations) {
    operation.url = absolute_url(operation.url, base, urls);
    Result<EntityWrite> parsed = callbacks.parse(operation);
    const std::size_t index = write.operations.size();
    if (parsed.ok() && index > 0 && !equal_ignoring_case(parsed->table, write.table)) {
      parsed = Error(ErrorCode::batch_partitions_differ);
    }
    if (!parsed.ok()) {
      answers.operations.push_back(OperationResponder{
          {}, callbacks.error_response_maker(operation), content_id_of(operation)});
      return answers.failed(invalid_operation_failure(parsed.error(), index,
                                                      batch.operations.size(), write.operations));
    }
    write.table = std::move(parsed->table);
    write.operations.push_back(std::move(parsed->operation));
    answers.operations.push_back(OperationResponder{std::move(parsed->make_response),
                                                    std::move(parsed->make_error_response),
                                                    content_id_of(operation)});
  }
  auto make_response = [answers = std::move(answers)](const WriteResult& answer) {
    const auto* done = std::get_if<WriteSuccess>(&answer);
    return done != nullptr ? answers.done(*done) : answers.failed(std::get<GroupFailure>(answer));
  };
  return UnstagedWrite{WriteRequest{std::nullopt, std::move(write)}, std::move(make_response)};
}

// ---- A query ------------------------------------------------------------------------------------

HandleResult handle_query(Request& query, std::string_view base, const RequestContext& context,
                          const BatchCallbacks& callbacks) {
  std::deque<std::string> urls;
  query.url = absolute_url(query.url, base, urls);
  HandleResult handled = callbacks.read(query);
  auto* response = std::get_if<Response>(&handled);
  if (response == nullptr) return handled;
  const Boundaries boundaries(context.id);
  std::string body;
  append_http_part(body, boundaries.batch, as_part(std::move(*response), content_id_of(query)));
  return accepted_response(std::move(body), boundaries);
}

}  // namespace

HandleResult handle_batch(const Request& request, std::string_view base,
                          const RequestContext& context, const BatchCallbacks& callbacks) {
  Result<Batch> batch = parse_batch(request);
  if (!batch.ok()) return callbacks.error_response_maker(request)(batch.error());
  if (batch->change_set) return handle_change_set(*batch, request, base, context, callbacks);
  return handle_query(batch->operations.front(), base, context, callbacks);
}

}  // namespace entitable::rest
