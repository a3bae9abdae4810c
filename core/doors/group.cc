#include "core/doors/group.h"

#include <functional>
#include <optional>
#include <utility>
#include <variant>

#include "core/direct/calls.h"
#include "core/direct/record.h"
#include "core/doors/call.h"
#include "core/protocol/http_codec.h"
#include "core/protocol/service.h"

namespace entitable::doors {
namespace {

using direct::ReplyBuffer;
using protocol::Response;

Error malformed() {
  return Error(Code::invalid_input, "The request block is malformed.");
}

// A single row lends its memory to the next one.
void forget(std::vector<WriteRequest>& requests) {
  auto* const first =
      requests.size() == 1 ? std::get_if<WriteEntities>(&requests.front().body) : nullptr;
  if (first == nullptr || first->operations.size() != 1) {
    requests = std::vector<WriteRequest>();
    return;
  }
  first->operations.front().properties.clear();
  first->texts.reset();
}

class Group {
 public:
  Group(const protocol::Account& account, const Store& store, Ticks now, StagedReplies& out)
      : account_(account), store_(store), now_(now), out_(out) {
    asked().clear();
  }
  ~Group() {
    asked().clear();
    forget(requests());
  }
  Group(const Group&) = delete;

  // The block's request for the store; if it has none, its reply is there already.
  void add(std::size_t at, std::string_view block) {
    call_.reset();
    if (is_call(block)) {
      call_ = take_call(block);
      if (!call_.has_value()) return direct::write_error(out_.replies[at], malformed());
    }
    protocol::is_request_block(block) ? add_http(at, block) : add_direct(at, block);
  }

  // Answers what the store was asked.
  void render(const Staged& staged) {
    for (std::size_t i = 0; i < asked().size(); ++i) {
      const auto& [at, respond] = asked()[i];
      ReplyBuffer& reply = out_.replies[at];
      out_.failed[at] = std::holds_alternative<GroupFailure>(staged.answers[i]);
      if (respond) {
        reply.assign(protocol::write_response(respond(staged.answers[i])));
      } else {
        direct::write_answer(reply, staged.answers[i], out_.scratch.timestamps);
      }
    }
  }

  // Once, when all blocks are there.
  const std::vector<WriteRequest>& asked_requests() {
    requests().resize(asked().size());
    return requests();
  }

 private:
  void add_direct(std::size_t at, std::string_view block) {
    WriteRequest& request = next_request();
    if (const auto refusal = direct::parse_write(block, request)) {
      direct::write_error(out_.replies[at], *refusal);
    } else {
      ask(at, request, nullptr);
    }
  }

  void add_http(std::size_t at, std::string_view block) {
    ReplyBuffer& reply = out_.replies[at];
    const std::optional<protocol::RequestBlock> read = protocol::read_request(block);
    if (!read.has_value()) return direct::write_error(reply, malformed());
    const protocol::Moment moment{now_, read->id};
    protocol::Handled handled = protocol::handle(account_, store_, read->request, moment);
    if (auto* response = std::get_if<Response>(&handled)) {
      reply.assign(protocol::write_response(*response));
    } else if (auto* write = std::get_if<protocol::PendingWrite>(&handled)) {
      WriteRequest& request = next_request();
      request = std::move(write->request);
      ask(at, request, std::move(write->respond));
    } else {
      // It reads, so the first part that it meets is the one to load; then it goes on.
      out_.need_parts.push_back(std::get<NeedParts>(handled).ids.front());
    }
  }

  // Behind those that are asked.
  WriteRequest& next_request() {
    if (requests().size() == asked().size()) requests().emplace_back();
    return requests()[asked().size()];
  }

  void ask(std::size_t at, WriteRequest& request, Respond respond) {
    request.call = std::move(call_);
    asked().push_back({at, std::move(respond)});
  }

  std::vector<WriteRequest>& requests() { return out_.scratch.requests; }
  std::vector<StagedReplies::Asked>& asked() { return out_.scratch.asked; }

  const protocol::Account& account_;
  const Store& store_;
  Ticks now_;
  StagedReplies& out_;
  std::optional<ClientCall> call_;  // of the block that is being added
};

void begin(std::size_t blocks, StagedReplies& out) {
  out.replies.resize(blocks);
  out.failed.assign(blocks, true);
  out.changes = false;
  out.need_parts.clear();
}

// Past all that it takes to be one of a group. There is memory for the answer before anything is
// written, so that nothing can go wrong behind it.
void write_single(Store& store, std::string_view block, Ticks now, StagedReplies& out) {
  begin(1, out);
  auto& [requests, asked, staged, timestamps] = out.scratch;
  ReplyBuffer& reply = out.replies.front();
  requests.resize(1);
  if (const auto refusal = direct::parse_write(block, requests.front())) {
    direct::write_error(reply, *refusal);
  } else {
    direct::make_room_for_answer(reply);
    staged = store.write(requests.front(), now, std::move(staged));
    out.changes = staged.changes;
    out.need_parts = std::move(staged.need_parts);
    if (out.need_parts.empty()) {
      out.failed.front() = std::holds_alternative<GroupFailure>(staged.answers.front());
      direct::write_answer(reply, staged.answers.front(), timestamps);
    }
  }
  forget(requests);
}

enum class Then { wait, publish };

void run(const protocol::Account& account, Store& store,
         const std::vector<std::string_view>& blocks, Ticks now, Then then, StagedReplies& out) {
  begin(blocks.size(), out);
  Group group(account, store, now, out);
  for (std::size_t i = 0; i < blocks.size(); ++i) group.add(i, blocks[i]);
  if (!out.need_parts.empty()) return;
  Staged staged = store.stage(group.asked_requests(), now);
  out.need_parts = std::move(staged.need_parts);
  out.changes = staged.changes;
  if (out.need_parts.empty()) group.render(staged);
  if (then == Then::publish && out.changes) store.publish();
}

}  // namespace

std::vector<PartId> handle(const protocol::Account& account, const Store& store,
                           std::string_view block, Ticks now, direct::ReplyBuffer& out,
                           RowCounts* rows) {
  RowCounts unasked;
  RowCounts& counted = rows == nullptr ? unasked : *rows;
  counted = RowCounts{};
  const std::optional<protocol::RequestBlock> read = protocol::read_request(block);
  if (read.has_value()) {
    const protocol::Moment moment{now, read->id};
    protocol::Handled handled = protocol::handle(account, store, read->request, moment);
    if (auto* need = std::get_if<NeedParts>(&handled)) return std::move(need->ids);
    if (const auto* response = std::get_if<Response>(&handled)) {
      counted = response->rows;
      out.assign(protocol::write_response(*response));
      return {};
    }
  }
  direct::write_error(out, malformed());
  return {};
}

void stage(const protocol::Account& account, Store& store,
           const std::vector<std::string_view>& blocks, Ticks now, StagedReplies& out) {
  run(account, store, blocks, now, Then::wait, out);
}

void write(const protocol::Account& account, Store& store,
           const std::vector<std::string_view>& blocks, Ticks now, StagedReplies& out) {
  if (blocks.size() == 1 && direct::is_single_write(blocks.front())) {
    return write_single(store, blocks.front(), now, out);
  }
  run(account, store, blocks, now, Then::publish, out);
}

}  // namespace entitable::doors
