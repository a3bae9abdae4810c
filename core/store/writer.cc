#include "core/store/writer.h"

#include <utility>

#include "core/log/commit_codec.h"
#include "core/txn/stage.h"

namespace entitable {
namespace {

GroupFailure failure(Code code) {
  return GroupFailure{Error(code), 0, false};
}

}  // namespace

std::variant<WriteAnswer, NeedParts> Candidate::add(const WriteRequest& request, Ticks now) {
  if (request.call.has_value()) {
    if (const ClientCall* call = answered(*request.call))
      return WriteAnswer(WriteDone{call->timestamps});
  }
  Preparation preparation =
      std::visit([&](const auto& body) { return prepare(body, now); }, request.body);
  if (auto* need = std::get_if<NeedParts>(&preparation)) return std::move(*need);
  if (auto* failed = std::get_if<GroupFailure>(&preparation))
    return WriteAnswer(std::move(*failed));
  Prepared& prepared = std::get<Prepared>(preparation);
  WriteDone done{prepared.timestamps};
  commit(std::move(prepared), request.call);
  return WriteAnswer(std::move(done));
}

const ClientCall* Candidate::answered(const ClientCall& call) const {
  for (const ClientCall& earlier : calls_) {
    if (earlier.number == call.number && earlier.client == call.client) return &earlier;
  }
  return answered_.find(call.client, call.number);
}

void Candidate::commit(Prepared prepared, const std::optional<ClientCall>& call) {
  Commit commit;
  commit.number = version_.last_commit + 1;
  commit.last_timestamp = version_.clock.last_issued();
  commit.mutations = std::move(prepared.mutations);
  if (call.has_value()) {
    commit.call = ClientCall{call->client, call->number, std::move(prepared.timestamps)};
    calls_.push_back(*commit.call);
  }
  commits_.push_back(PendingCommit{commit.number, encode_commit(commit)});
  version_.catalog.apply(commit);
  version_.last_commit = commit.number;
}

Candidate::Preparation Candidate::prepare(const WriteEntities& write, Ticks now) {
  if (auto failed = check_group(write.operations, write.transaction)) return std::move(*failed);
  const Table* table = version_.catalog.find(write.table);
  if (table == nullptr) return GroupFailure{Error(Code::table_not_found), 0, write.transaction};
  StageOutcome outcome = stage_group(table->id(), table->index, write.operations, write.transaction,
                                     [&] { return version_.clock.next(now); });
  if (auto* need = std::get_if<NeedPartsToStage>(&outcome)) return NeedParts{std::move(need->ids)};
  if (auto* failed = std::get_if<GroupFailure>(&outcome)) return std::move(*failed);
  auto& staged = std::get<StagedMutations>(outcome);
  return Prepared{std::move(staged.mutations), std::move(staged.timestamps)};
}

Candidate::Preparation Candidate::prepare(const WriteCreateTable& write, Ticks) {
  const auto name = TableName::parse(write.table);
  if (!name.ok()) return GroupFailure{name.error(), 0, false};
  if (version_.catalog.find(write.table) != nullptr) return failure(Code::table_already_exists);
  return Prepared{{CreateTable{version_.next_table++, write.table}}, {0}};
}

Candidate::Preparation Candidate::prepare(const WriteDropTable& write, Ticks) {
  const Table* table = version_.catalog.find(write.table);
  if (table == nullptr) return failure(Code::resource_not_found);
  return Prepared{{DropTable{table->id()}}, {0}};
}

Candidate::Preparation Candidate::prepare(const WriteTableAcl& write, Ticks) {
  const Table* table = version_.catalog.find(write.table);
  if (table == nullptr) return failure(Code::table_not_found);
  return Prepared{{SetTableAcl{table->id(), write.policies}}, {0}};
}

Candidate::Preparation Candidate::prepare(const WriteServiceProperties& write, Ticks) {
  return Prepared{{SetServiceProperties{write.document}}, {0}};
}

}  // namespace entitable
