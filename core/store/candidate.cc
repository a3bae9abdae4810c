#include "core/store/candidate.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/log/commit_codec.h"
#include "core/log/commit_effects.h"
#include "core/log/field_codec.h"
#include "core/log/shape_codec.h"
#include "core/store/pending_operations.h"
#include "core/txn/stage.h"

namespace entitable {
namespace {

GroupFailure failure(ErrorCode code) {
  return GroupFailure{Error(code), 0, false};
}

// Only a store that was opened from crafted files can reach this state.
GroupFailure exhausted() {
  return GroupFailure{Error(ErrorCode::read_only,
                            "The store has used up its commit numbers, timestamps or table ids, so "
                            "it can only be read."),
                      0, false};
}

struct ChangedRow {
  TableId table;
  KeyView key;
};

// Returns the row that the mutation changes, or table 0 if it changes none.
ChangedRow row_of(const Mutation& mutation) {
  if (const auto* put = std::get_if<PutRow>(&mutation)) return {put->table, put->key};
  if (const auto* erase = std::get_if<DeleteRow>(&mutation))
    return {erase->table, erase->key.view()};
  return {0, {}};
}

}  // namespace

std::optional<PartsNeeded> Candidate::apply_request(const WriteRequest& request, Ticks now,
                                                    WriteResult& answer) {
  if (request.call.has_value()) {
    if (const ClientCall* call = find_answered(*request.call)) {
      answer = WriteSuccess{call->timestamps};
      return std::nullopt;
    }
  }
  if (auto* done = std::get_if<WriteSuccess>(&answer)) {
    staged().timestamps = std::move(done->timestamps);
  }
  if (version_.last_commit >= counter_max || version_.clock.is_exhausted()) {
    answer = exhausted();
    return std::nullopt;
  }
  auto reason = std::visit([&](const auto& body) { return prepare(body, now); }, request.body);
  if (!reason.has_value()) {
    if (!staged().mutations.empty()) commit(request);
    answer = WriteSuccess{std::move(staged().timestamps)};
  }
  recycle_scratch();
  if (!reason.has_value()) return std::nullopt;
  if (auto* need = std::get_if<PartsNeeded>(&*reason)) return std::move(*need);
  answer = std::move(std::get<GroupFailure>(*reason));
  return std::nullopt;
}

// Numbers usually ascend, so that no call has to be compared. A candidate of one call allocates
// nothing here.
const ClientCall* Candidate::find_answered(const ClientCall& call) {
  const auto highest_of = [this](const ClientId& client) {
    return std::find_if(highest_.begin(), highest_.end(),
                        [&](const HighestNumber& h) { return h.client == client; });
  };
  for (; compared_ < calls().size(); ++compared_) {
    const auto& [client, number, timestamps] = calls()[compared_];
    const auto highest = highest_of(client);
    if (highest == highest_.end()) {
      highest_.push_back({client, number});
    } else {
      highest->number = std::max(highest->number, number);
    }
  }
  const auto highest = highest_of(call.client);
  if (highest == highest_.end() || call.number > highest->number) {
    return call_window_.find(call.client, call.number);
  }
  for (const ClientCall& earlier : calls()) {
    if (earlier.number == call.number && earlier.client == call.client) return &earlier;
  }
  return call_window_.find(call.client, call.number);
}

// Sets encoded_definition of a single row from the schema's cache, and fills the cache at first.
// This saves encoding the same property list for every write. Not for groups, which encode each
// property list only once.
void Candidate::cache_definition(const Schema& schema) {
  constexpr std::size_t kept_max = 4096;
  std::vector<Mutation>& mutations = staged().mutations;
  auto* const row = mutations.size() == 1 ? std::get_if<PutRow>(mutations.data()) : nullptr;
  std::string* const kept = row == nullptr ? nullptr : schema.cached_definition(row->shape_hint);
  if (kept == nullptr) return;
  if (kept->empty() && definition_bytes_max(row->properties) <= kept_max) {
    append_definition(row->properties, *kept);
  }
  row->encoded_definition = *kept;
}

void Candidate::commit(const WriteRequest& request) {
  const std::optional<ClientCall>& call = request.call;
  Commit commit;
  commit.number = version_.last_commit + 1;
  commit.last_timestamp = version_.clock.last_issued();
  commit.mutations = std::move(staged().mutations);
  commit.origin = request.origin;
  if (call.has_value()) {
    commit.call.emplace(ClientCall{call->client, call->number, staged().timestamps});
  }
  const std::size_t record_bytes = encode_commit(commit, records_);
  std::string codes;
  const CommitEffects effects = effects_of(commit, codes);
  if (commit.call.has_value()) calls().push_back(std::move(*commit.call));
  if (recorder_ != nullptr) recorder_->prepare(commit, version_.catalog, published_);
  std::optional<Catalog> before;
  if (awaited_ != nullptr) before = unload_parts_to_change(commit);
  if (changes_) {
    version_.catalog.apply(commit);
  } else {
    apply_first_commit(commit);
  }
  records_.add(commit.number, record_bytes, effects);
  if (recorder_ != nullptr) recorder_->add_prepared();
  changes_ = true;
  version_.last_commit = commit.number;
  if (is_in_change_feed(commit)) version_.last_commit_in_feed = commit.number;
  staged().mutations = std::move(commit.mutations);
}

// Unloads the parts whose rows the commit changes. Returns the catalog as it was if anything was
// changed: the properties in the commit may refer to rows of the parts.
std::optional<Catalog> Candidate::unload_parts_to_change(const Commit& commit) {
  const Catalog& base = published_ != nullptr ? *published_ : version_.catalog;
  std::optional<Catalog> changed;
  for (const Mutation& mutation : commit.mutations) {
    const auto [id, key] = row_of(mutation);
    const Table* const table = changed.has_value() ? changed->find(id) : version_.catalog.find(id);
    const Table* const there = base.find(id);
    if (table == nullptr || there == nullptr) continue;
    const PartId part = table->index.part_to_unload_at(key, there->index);
    const bool unloads = part != 0 && awaited_->count(part) == 0;
    if (!unloads && !table->index.lacks_row(key, there->index)) continue;
    if (!changed.has_value()) changed = version_.catalog;
    TableIndex& index = changed->mutable_table(id)->index;
    if (unloads) {
      index.unload_part_at(key);
      ++unloaded_parts_;
    }
    if (index.lacks_row(key, there->index)) index.keep_row(key, there->index);
  }
  if (changed.has_value()) std::swap(*changed, version_.catalog);
  return changed;
}

// Keeps the memory of a single write for the next request, and frees that of a group. A write of a
// synced table has a few mutations.
void Candidate::recycle_scratch() {
  constexpr std::size_t kept_max = 8;
  if (staged().mutations.capacity() > kept_max) {
    staged() = StagedMutations();
  } else {
    staged().mutations.clear();
  }
}

// Applies the candidate's first commit. If this throws std::bad_alloc, the version is unchanged: a
// caller that moved its version into the candidate can move the same version back.
void Candidate::apply_first_commit(const Commit& commit) {
  if (version_.catalog.try_apply_in_place(commit)) return;
  Catalog changed = version_.catalog;
  changed.apply(commit);
  version_.catalog = std::move(changed);
}

void Candidate::stage(Mutation mutation) {
  staged().mutations.clear();
  staged().mutations.push_back(std::move(mutation));
  staged().timestamps.assign(1, 0);
}

// Returns whether a listener must know the rows that the write replaces.
bool Candidate::listeners_cover(const Table& table, const WriteEntities& write) const {
  if (recorder_ == nullptr) return false;
  return std::any_of(
      write.operations.begin(), write.operations.end(), [&](const Operation& operation) {
        return recorder_->covers(table.identity->name.folded(), operation.key.view());
      });
}

std::optional<Candidate::PrepareFailure> Candidate::prepare(const WriteEntities& write, Ticks now) {
  const Table* table = version_.catalog.find(write.table);
  const Schema* schema = table == nullptr ? nullptr : &table->index.schema();
  ShapeHint shape_hint = 0;
  if (auto failed =
          check_group(write.operations, write.transaction, write.size_checked, schema, &shape_hint))
    return std::move(*failed);
  if (table == nullptr)
    return GroupFailure{Error(ErrorCode::table_not_found), 0, write.transaction};
  const Table* const base = published_ == nullptr ? nullptr : published_->find(table->id());
  UpsertNeeds needs = upsert_needs_;
  if (needs == UpsertNeeds::nothing && (table->synced || listeners_cover(*table, write)))
    needs = UpsertNeeds::part;
  auto reason = stage_group(
      table->id(), table->index, write.operations, write.transaction,
      [&] { return version_.clock.next(now); }, shape_hint, staged(), needs,
      base == nullptr ? nullptr : &base->index);
  if (!reason.has_value()) {
    if (table->synced) return add_to_outbox(*table, write.transaction);
    cache_definition(table->index.schema());
    return std::nullopt;
  }
  if (auto* need = std::get_if<PartsNeededToStage>(&*reason))
    return PartsNeeded{std::move(need->ids)};
  return std::move(std::get<GroupFailure>(*reason));
}

// REQUIRES: a write of the table was staged.
std::optional<Candidate::PrepareFailure> Candidate::add_to_outbox(const Table& table,
                                                                  bool transaction) {
  if (scratch_.outbox == nullptr) return PartsNeeded{{outbox_code}};
  const std::uint64_t number = version_.last_commit + 1;
  if (number > OutboxWriter::commit_max) return exhausted();
  const OutboxWriter::LocalWrite write{
      table, version_.catalog, published_, number, version_.clock.last_issued(), transaction};
  return scratch_.outbox->add_operations(write, staged());
}

std::optional<Candidate::PrepareFailure> Candidate::prepare(const WriteSynced& write, Ticks now) {
  staged().mutations.clear();
  staged().timestamps.clear();
  return write.stage(version_, version_.clock, published_, now, staged());
}

std::optional<Candidate::PrepareFailure> Candidate::prepare(const WriteCreateTable& write, Ticks) {
  const auto name = TableName::parse(write.table);
  if (!name.ok()) return GroupFailure{name.error(), 0, false};
  if (version_.catalog.find(write.table) != nullptr)
    return failure(ErrorCode::table_already_exists);
  if (version_.next_table > table_id_max) return exhausted();
  stage(CreateTable{version_.next_table++, write.table});
  return std::nullopt;
}

std::optional<Candidate::PrepareFailure> Candidate::prepare(const WriteDropTable& write, Ticks) {
  const Table* table = version_.catalog.find(write.table);
  if (table == nullptr) return failure(ErrorCode::resource_not_found);
  if (auto refused = refuse_if_pending(version_.catalog, *table)) return refused;
  dropped_tables().push_back({table->id(), table->name(), version_.last_commit + 1});
  stage(DropTable{table->id()});
  return std::nullopt;
}

std::optional<Candidate::PrepareFailure> Candidate::prepare(const WriteTableAcl& write, Ticks) {
  if (const auto wrong = check_policies(write.policies)) return failure(wrong->code);
  const Table* table = version_.catalog.find(write.table);
  if (table == nullptr) return failure(ErrorCode::table_not_found);
  stage(SetTableAcl{table->id(), write.policies});
  return std::nullopt;
}

std::optional<Candidate::PrepareFailure> Candidate::prepare(const WriteServiceProperties& write,
                                                            Ticks) {
  stage(SetServiceProperties{write.change(version_.catalog.service_properties())});
  return std::nullopt;
}

}  // namespace entitable
