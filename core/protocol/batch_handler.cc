#include "core/protocol/batch_handler.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/model/guid.h"
#include "core/model/service_error.h"
#include "core/protocol/batch_request.h"
#include "core/protocol/headers.h"
#include "core/protocol/multipart.h"
#include "core/txn/entity_group.h"

namespace entitable::protocol {
namespace {

// ---- Responses ----------------------------------------------------------------------------------

// The order in which the service writes the headers of a part; clients look for some of them.
constexpr std::string_view header_order[] = {
    "Content-ID",         "X-Content-Type-Options", "Cache-Control",
    "Preference-Applied", "DataServiceVersion",     "Content-Type",
    "Location",           "DataServiceId",          "ETag"};

std::vector<Header> in_order(std::vector<Header> headers) {
  std::vector<Header> ordered;
  ordered.reserve(headers.size());
  const auto take = [&](Header& header) {
    ordered.emplace_back();
    std::swap(ordered.back(), header);  // which is without a name now
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

// A response as it stands in a part. Versions as recorded: 1.0 after what answers with nothing but
// an ETag.
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

// Two boundaries of one id: no two requests have the same.
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

Response accepted(std::string body, const Boundaries& boundaries) {
  append_close(body, boundaries.batch);
  return Response{202,
                  "Accepted",
                  {{"Content-Type", "multipart/mixed; boundary=" + boundaries.batch}},
                  std::move(body)};
}

Response change_set_response(const std::vector<Response>& parts, const Boundaries& boundaries) {
  std::string body;
  append_nested_part(body, boundaries.batch, boundaries.change_set);
  for (const Response& part : parts) append_http_part(body, boundaries.change_set, part);
  append_close(body, boundaries.change_set);
  return accepted(std::move(body), boundaries);
}

// ---- Failures -----------------------------------------------------------------------------------

// Not the fault of one operation.
bool concerns_the_whole(Code code) {
  switch (code) {
    case Code::request_body_too_large:
    case Code::internal_error:
    case Code::out_of_memory:
    case Code::corrupted:
    case Code::format_too_new:
    case Code::read_only:
      return true;
    default:
      return false;
  }
}

Error prefixed(const GroupFailure& failure) {
  Error error(failure.error.code, std::string(message_of(failure.error)));
  if (failure.prefixed) error.message.insert(0, std::to_string(failure.index) + ":");
  return error;
}

// ---- A change set -------------------------------------------------------------------------------

struct Asked {
  std::function<Response(Ticks)> respond;
  Refuse refuse;
  std::string content_id;  // given back
};

// What is left of a change set once it has been parsed: enough to answer it.
struct Answers {
  std::vector<Asked> operations;
  Refuse refuse;  // the whole
  Boundaries boundaries;

  Response failed(const GroupFailure& failure) const {
    if (concerns_the_whole(failure.error.code)) return refuse(failure.error);
    const Asked& asked = operations[std::min<std::size_t>(failure.index, operations.size() - 1)];
    return change_set_response({as_part(asked.refuse(prefixed(failure)), asked.content_id)},
                               boundaries);
  }
  Response done(const WriteDone& done) const {
    std::vector<Response> parts;
    parts.reserve(operations.size());
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const Ticks timestamp = i < done.timestamps.size() ? done.timestamps[i] : 0;
      parts.push_back(as_part(operations[i].respond(timestamp), operations[i].content_id));
    }
    return change_set_response(parts, boundaries);
  }
};

// The Content-ID among the headers of the operation itself, to be given back; empty if there is
// none.
std::string content_id_of(const Request& operation) {
  const auto id = header_of(operation.headers, "Content-ID");
  return id.has_value() && is_given_back(*id) ? std::string(*id) : std::string();
}

// The failure of a group in which operation `index` cannot be read. One before it that breaks a
// rule of groups comes first.
GroupFailure unreadable(Error error, std::size_t index, std::size_t operations,
                        const std::vector<Operation>& before) {
  const std::optional<GroupFailure> rule =
      before.empty() ? std::nullopt : check_group(before, true, true);
  if (rule.has_value() && rule->index < index) {
    return operation_failure(rule->error, rule->index, operations, true);
  }
  return operation_failure(std::move(error), index, operations, true);
}

Handled handle_change_set(Batch& batch, const Request& request, const Moment& moment,
                          const BatchSteps& steps) {
  Answers answers{{}, steps.refusal(request), Boundaries(moment.id)};
  WriteEntities write;
  write.transaction = true;
  write.measured = true;
  std::deque<std::string> urls;
  for (Request& operation : batch.operations) {
    operation.url = absolute_url(operation.url, request.url, urls);
    Result<EntityWrite> parsed = steps.parse(operation);
    const std::size_t index = write.operations.size();
    if (parsed.ok() && index > 0 && !equal_ignoring_case(parsed->table, write.table)) {
      parsed = Error(Code::batch_partitions_differ);
    }
    if (!parsed.ok()) {
      answers.operations.push_back(Asked{{}, steps.refusal(operation), content_id_of(operation)});
      return answers.failed(
          unreadable(parsed.error(), index, batch.operations.size(), write.operations));
    }
    write.table = std::move(parsed->table);
    write.operations.push_back(std::move(parsed->operation));
    answers.operations.push_back(
        Asked{std::move(parsed->respond), std::move(parsed->refuse), content_id_of(operation)});
  }
  auto respond = [answers = std::move(answers)](const WriteAnswer& answer) {
    const auto* done = std::get_if<WriteDone>(&answer);
    return done != nullptr ? answers.done(*done) : answers.failed(std::get<GroupFailure>(answer));
  };
  return PendingWrite{WriteRequest{std::nullopt, std::move(write)}, std::move(respond)};
}

// ---- A query ------------------------------------------------------------------------------------

Handled handle_query(Request& query, const Request& request, const Moment& moment,
                     const BatchSteps& steps) {
  std::deque<std::string> urls;
  query.url = absolute_url(query.url, request.url, urls);
  Handled handled = steps.read(query);
  auto* response = std::get_if<Response>(&handled);
  if (response == nullptr) return handled;
  const Boundaries boundaries(moment.id);
  std::string body;
  append_http_part(body, boundaries.batch, as_part(std::move(*response), content_id_of(query)));
  return accepted(std::move(body), boundaries);
}

}  // namespace

Handled handle_batch(const Request& request, const Moment& moment, const BatchSteps& steps) {
  Result<Batch> batch = read_batch(request);
  if (!batch.ok()) return steps.refusal(request)(batch.error());
  if (batch->change_set) return handle_change_set(*batch, request, moment, steps);
  return handle_query(batch->operations.front(), request, moment, steps);
}

}  // namespace entitable::protocol
