#include "core/dispatch/dispatcher.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <variant>

#include "core/dispatch/call_header.h"
#include "core/rest/http_codec.h"
#include "core/rest/request_handler.h"
#include "core/rpc/operations.h"
#include "core/rpc/write_parser.h"

namespace entitable::dispatch {
namespace {

using rest::Response;
using rpc::ResponseBuffer;

Error malformed_error() {
  return Error(ErrorCode::invalid_input, "The request message is malformed.");
}

// Frees the memory of the requests, but keeps that of a single-row write for the next single-row
// write.
void clear_requests(std::vector<WriteRequest>& requests) {
  auto* const first =
      requests.size() == 1 ? std::get_if<WriteEntities>(&requests.front().body) : nullptr;
  if (first == nullptr || first->operations.size() != 1) {
    requests = std::vector<WriteRequest>();
    return;
  }
  first->operations.front().properties.clear();
  first->texts.reset();
}

bool only_deletes(const WriteRequest& request) {
  if (std::holds_alternative<WriteDropTable>(request.body)) return true;
  const auto* write = std::get_if<WriteEntities>(&request.body);
  return write != nullptr &&
         std::all_of(write->operations.begin(), write->operations.end(),
                     [](const Operation& op) { return op.kind == OperationKind::remove; });
}

class WriteGroup {
 public:
  WriteGroup(const rest::Account& account, const Store& store, Ticks now, StagedResponses& out)
      : account_(account), store_(store), now_(now), out_(out) {
    pending().clear();
  }
  ~WriteGroup() {
    pending().clear();
    clear_requests(requests());
  }
  WriteGroup(const WriteGroup&) = delete;

  // Enqueues the message's request for the store, or writes the response at once.
  void add(std::size_t at, std::string_view message) {
    call_.reset();
    if (has_call_header(message)) {
      call_ = unwrap_call(message);
      if (!call_.has_value()) return rpc::encode_error(out_.responses[at], malformed_error());
    }
    rest::is_http_request_message(message) ? add_rest(at, message) : add_rpc(at, message);
  }

  // Writes the responses of the enqueued requests.
  void write_responses(const StageResult& staged) {
    for (std::size_t i = 0; i < pending().size(); ++i) {
      const auto& [at, make_response] = pending()[i];
      ResponseBuffer& buffer = out_.responses[at];
      out_.failed[at] = std::holds_alternative<GroupFailure>(staged.results[i]);
      out_.only_deletes[at] = !out_.failed[at] && only_deletes(requests()[i]);
      if (make_response) {
        buffer.assign(rest::encode_http_response(make_response(staged.results[i])));
      } else {
        rpc::encode_write_result(buffer, staged.results[i], out_.scratch.timestamps);
      }
    }
  }

  // Returns the enqueued requests. REQUIRES: all messages were added.
  const std::vector<WriteRequest>& store_requests() {
    requests().resize(pending().size());
    return requests();
  }

 private:
  void add_rpc(std::size_t at, std::string_view message) {
    WriteRequest& request = next_request();
    if (const auto failure = rpc::parse_write(message, request)) {
      rpc::encode_error(out_.responses[at], *failure);
    } else {
      enqueue(at, request, nullptr);
    }
  }

  void add_rest(std::size_t at, std::string_view message) {
    ResponseBuffer& buffer = out_.responses[at];
    const std::optional<rest::HttpRequestMessage> read = rest::decode_http_request(message);
    if (!read.has_value()) return rpc::encode_error(buffer, malformed_error());
    const rest::RequestContext context{now_, read->id};
    rest::HandleResult handled = rest::handle_request(account_, store_, read->request, context);
    if (auto* response = std::get_if<Response>(&handled)) {
      buffer.assign(rest::encode_http_response(*response));
    } else if (auto* write = std::get_if<rest::UnstagedWrite>(&handled)) {
      WriteRequest& request = next_request();
      request = std::move(write->request);
      enqueue(at, request, std::move(write->make_response));
    } else {
      // Only the first part is certainly needed; the others in the list are a prediction.
      out_.parts_needed.push_back(std::get<PartsNeeded>(handled).ids.front());
    }
  }

  // Returns the unused request after the enqueued requests. Its memory is reused.
  WriteRequest& next_request() {
    if (requests().size() == pending().size()) requests().emplace_back();
    return requests()[pending().size()];
  }

  void enqueue(std::size_t at, WriteRequest& request, MakeResponse make_response) {
    request.call = std::move(call_);
    pending().push_back({at, std::move(make_response)});
  }

  std::vector<WriteRequest>& requests() { return out_.scratch.requests; }
  std::vector<StagedResponses::Pending>& pending() { return out_.scratch.pending; }

  const rest::Account& account_;
  const Store& store_;
  Ticks now_;
  StagedResponses& out_;
  std::optional<ClientCall> call_;  // of the message that is being added
};

void begin(std::size_t messages, StagedResponses& out) {
  out.responses.resize(messages);
  out.failed.assign(messages, true);
  out.only_deletes.assign(messages, false);
  out.changes = false;
  out.parts_needed.clear();
}

// Writes and publishes a single row, without the cost of a group. Allocates the memory for the
// response first, so that nothing can fail after the row is written.
void write_single_row(Store& store, std::string_view message, std::optional<ClientCall> call,
                      Ticks now, StagedResponses& out) {
  begin(1, out);
  auto& [requests, pending, staged, timestamps] = out.scratch;
  ResponseBuffer& buffer = out.responses.front();
  requests.resize(1);
  if (const auto failure = rpc::parse_write(message, requests.front())) {
    rpc::encode_error(buffer, *failure);
  } else {
    requests.front().call = std::move(call);
    rpc::reserve_write_result(buffer);
    staged = store.write(requests.front(), now, std::move(staged));
    out.changes = staged.changes;
    out.parts_needed = std::move(staged.parts_needed);
    if (out.parts_needed.empty()) {
      out.failed.front() = std::holds_alternative<GroupFailure>(staged.results.front());
      out.only_deletes.front() = !out.failed.front() && only_deletes(requests.front());
      rpc::encode_write_result(buffer, staged.results.front(), timestamps);
    }
  }
  clear_requests(requests);
}

enum class AfterStaging { wait, publish };

void stage_group(const rest::Account& account, Store& store,
                 const std::vector<std::string_view>& messages, Ticks now,
                 AfterStaging after_staging, StagedResponses& out) {
  begin(messages.size(), out);
  WriteGroup group(account, store, now, out);
  for (std::size_t i = 0; i < messages.size(); ++i) group.add(i, messages[i]);
  if (!out.parts_needed.empty()) return;
  StageResult staged = store.stage(group.store_requests(), now);
  out.parts_needed = std::move(staged.parts_needed);
  out.changes = staged.changes;
  if (out.parts_needed.empty()) group.write_responses(staged);
  if (after_staging == AfterStaging::publish && out.changes) store.publish();
}

}  // namespace

std::vector<PartId> handle_rest_read(const rest::Account& account, const Store& store,
                                     std::string_view message, Ticks now, rpc::ResponseBuffer& out,
                                     RowCounts* rows) {
  RowCounts ignored_counts;
  RowCounts& counted = rows == nullptr ? ignored_counts : *rows;
  counted = RowCounts{};
  const std::optional<rest::HttpRequestMessage> read = rest::decode_http_request(message);
  if (read.has_value()) {
    const rest::RequestContext context{now, read->id};
    rest::HandleResult handled = rest::handle_request(account, store, read->request, context);
    if (auto* parts_needed = std::get_if<PartsNeeded>(&handled))
      return std::move(parts_needed->ids);
    if (const auto* response = std::get_if<Response>(&handled)) {
      counted = response->rows;
      out.assign(rest::encode_http_response(*response));
      return {};
    }
  }
  rpc::encode_error(out, malformed_error());
  return {};
}

void stage(const rest::Account& account, Store& store,
           const std::vector<std::string_view>& messages, Ticks now, StagedResponses& out) {
  stage_group(account, store, messages, now, AfterStaging::wait, out);
}

void stage_and_publish(const rest::Account& account, Store& store,
                       const std::vector<std::string_view>& messages, Ticks now,
                       StagedResponses& out) {
  if (messages.size() == 1) {
    std::string_view message = messages.front();
    std::optional<ClientCall> call;
    if (has_call_header(message)) call = unwrap_call(message);
    if (rpc::is_single_row_write(message)) {
      return write_single_row(store, message, std::move(call), now, out);
    }
  }
  stage_group(account, store, messages, now, AfterStaging::publish, out);
}

}  // namespace entitable::dispatch
