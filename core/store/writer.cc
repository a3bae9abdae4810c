#include "core/store/writer.h"

#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/utf8.h"
#include "core/log/commit_codec.h"
#include "core/model/date_time.h"
#include "core/model/limits.h"
#include "core/txn/stage.h"

namespace entitable {
namespace {

GroupFailure failure(Code code) {
  return GroupFailure{Error(code), 0, false};
}

bool is_permission(std::string_view text) {
  std::string_view left = "raud";
  for (const char c : text) {
    const std::size_t at = left.find(c);
    if (at == std::string_view::npos) return false;
    left.remove_prefix(at + 1);
  }
  return true;
}

bool is_date(const std::optional<Ticks>& ticks) {
  return !ticks.has_value() || entitable::is_date(*ticks);
}

std::optional<Code> check_policies(const std::vector<AccessPolicy>& policies) {
  if (policies.size() > limits::access_policies_max) return Code::invalid_xml_document;
  std::set<std::string_view> ids;
  for (const AccessPolicy& policy : policies) {
    if (policy.id.empty() || !is_wtf8(policy.id)) return Code::invalid_xml_document;
    if (utf16_units(policy.id) > limits::access_policy_id_units_max) {
      return Code::invalid_xml_node_value;
    }
    if (!ids.insert(policy.id).second) return Code::invalid_xml_document;
    if (!is_date(policy.start) || !is_date(policy.expiry) ||
        !is_permission(policy.permission.value_or(""))) {
      return Code::invalid_xml_node_value;
    }
  }
  return std::nullopt;
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
  return WriteAnswer(WriteDone{commit(std::get<StagedMutations>(preparation), request.call)});
}

const ClientCall* Candidate::answered(const ClientCall& call) const {
  for (const ClientCall& earlier : calls_) {
    if (earlier.number == call.number && earlier.client == call.client) return &earlier;
  }
  return answered_.find(call.client, call.number);
}

// A list of names and types mostly comes again, as it was given, and so the log's form of it is
// kept with it. For single writes: in a group it is written once.
void Candidate::keep_definition(const Schema& schema, StagedMutations& staged) {
  constexpr std::size_t kept_max = 4096;
  auto* const row =
      staged.mutations.size() == 1 ? std::get_if<PutRow>(staged.mutations.data()) : nullptr;
  std::string* const kept = row == nullptr ? nullptr : schema.note(row->seen);
  if (kept == nullptr) return;
  if (kept->empty() && definition_room(row->properties) <= kept_max) {
    append_definition(row->properties, *kept);
  }
  row->definition = *kept;
}

std::vector<Ticks> Candidate::commit(StagedMutations& staged,
                                     const std::optional<ClientCall>& call) {
  Commit commit;
  commit.number = version_.last_commit + 1;
  commit.last_timestamp = version_.clock.last_issued();
  commit.mutations = std::move(staged.mutations);
  if (call.has_value()) {
    commit.call = ClientCall{call->client, call->number, staged.timestamps};
    calls_.push_back(*commit.call);
  }
  PendingCommit pending{commit.number, encode_commit(commit, scratch_.record)};
  constexpr std::size_t kept_bytes = 64 * 1024;
  if (scratch_.record.size() > kept_bytes) std::string().swap(scratch_.record);
  if (commits_.empty()) {
    commits_.reserve(1);
    apply_first(commit);
  } else {
    version_.catalog.apply(commit);
  }
  commits_.push_back(std::move(pending));
  version_.last_commit = commit.number;
  leave(staged, commit.mutations);
  return std::move(staged.timestamps);
}

// It counts for single writes, and what a large group took is not kept.
void Candidate::leave(StagedMutations& staged, std::vector<Mutation>& mutations) {
  if (mutations.size() != 1) return;
  mutations.clear();
  scratch_.staged.mutations = std::move(mutations);
  scratch_.staged.merged = std::move(staged.merged);
}

// Whoever gave away a version gets it back as it was if memory runs out half-way.
void Candidate::apply_first(const Commit& commit) {
  if (version_.catalog.apply_in_place(commit)) return;
  Catalog changed = version_.catalog;
  changed.apply(commit);
  version_.catalog = std::move(changed);
}

Candidate::Preparation Candidate::prepare(const WriteEntities& write, Ticks now) {
  const Table* table = version_.catalog.find(write.table);
  const Schema* schema = table == nullptr ? nullptr : &table->index.schema();
  Seen seen = 0;
  if (auto failed = check_group(write.operations, write.transaction, write.measured, schema, &seen))
    return std::move(*failed);
  if (table == nullptr) return GroupFailure{Error(Code::table_not_found), 0, write.transaction};
  StageOutcome outcome = stage_group(
      table->id(), table->index, write.operations, write.transaction,
      [&] { return version_.clock.next(now); }, seen, std::move(scratch_.staged));
  if (auto* need = std::get_if<NeedPartsToStage>(&outcome)) return NeedParts{std::move(need->ids)};
  if (auto* failed = std::get_if<GroupFailure>(&outcome)) return std::move(*failed);
  keep_definition(table->index.schema(), std::get<StagedMutations>(outcome));
  return std::move(std::get<StagedMutations>(outcome));
}

Candidate::Preparation Candidate::prepare(const WriteCreateTable& write, Ticks) {
  const auto name = TableName::parse(write.table);
  if (!name.ok()) return GroupFailure{name.error(), 0, false};
  if (version_.catalog.find(write.table) != nullptr) return failure(Code::table_already_exists);
  return StagedMutations{{CreateTable{version_.next_table++, write.table}}, {0}, {}};
}

Candidate::Preparation Candidate::prepare(const WriteDropTable& write, Ticks) {
  const Table* table = version_.catalog.find(write.table);
  if (table == nullptr) return failure(Code::resource_not_found);
  return StagedMutations{{DropTable{table->id()}}, {0}, {}};
}

Candidate::Preparation Candidate::prepare(const WriteTableAcl& write, Ticks) {
  if (const auto wrong = check_policies(write.policies)) return failure(*wrong);
  const Table* table = version_.catalog.find(write.table);
  if (table == nullptr) return failure(Code::table_not_found);
  return StagedMutations{{SetTableAcl{table->id(), write.policies}}, {0}, {}};
}

Candidate::Preparation Candidate::prepare(const WriteServiceProperties& write, Ticks) {
  return StagedMutations{
      {SetServiceProperties{write.change(version_.catalog.service_properties())}}, {0}, {}};
}

}  // namespace entitable
