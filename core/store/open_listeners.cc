#include "core/store/open_listeners.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/model/limits.h"

namespace entitable {
namespace {

// Derives the changes of one commit.
class CommitChanges {
 public:
  // `earlier`: what was recorded for commits that are not published yet.
  CommitChanges(const Listeners& listeners, const RecordedChanges& earlier, const Catalog& before,
                const Catalog* base)
      : listeners_(listeners), earlier_(earlier), before_(before), base_(base) {}

  // Returns a list of one batch, or of none if the commit changes nothing that a listener covers.
  ChangeBatches derive(const Commit& commit) {
    ChangeBatches batches;
    ChangeBatch& batch = batches.emplace_back();
    batch.position.commit = commit.number;
    batch.origin = commit.origin;
    if (commit.call.has_value()) batch.client = commit.call->client;
    batch.last_timestamp = commit.last_timestamp;
    rows_expected_ = std::min<std::size_t>(commit.mutations.size(), limits::group_operations_max);
    for (const Mutation& mutation : commit.mutations) add(mutation, batch);
    if (batch.rows.empty() && batch.tables.empty()) batches.clear();
    return batches;
  }

 private:
  void add(const Mutation& mutation, ChangeBatch& batch) {
    if (const auto* put = std::get_if<PutRow>(&mutation)) {
      add_row(put->table, put->key, true, batch, put->effect);
    } else if (const auto* erase = std::get_if<DeleteRow>(&mutation)) {
      add_row(erase->table, erase->key.view(), false, batch);
    } else if (const auto* create = std::get_if<CreateTable>(&mutation)) {
      auto name = TableName::parse(create->name);
      ENTITABLE_CHECK(name.ok());
      batch.tables.push_back({make_ref<TableIdentity>(create->table, std::move(*name)), true});
      batch.memory_bytes += sizeof(TableChange) + create->name.size();
    } else if (const auto* drop = std::get_if<DropTable>(&mutation)) {
      drop_table(table_of(drop->table), batch);
    }
  }

  void drop_table(const Table& table, ChangeBatch& batch) {
    TableChange& change = batch.tables.emplace_back(TableChange{table.identity, false});
    batch.memory_bytes += sizeof(TableChange);
    const TableId id = table.id();
    if (!listeners_.recorded().lists_rows_of(id) && !earlier_.lists_rows_of(id)) return;
    change.dropped = table.index;
    batch.dropped_bytes += table.index.memory_bytes();
  }

  void add_row(TableId id, const KeyView& key, bool exists_after, ChangeBatch& batch,
               PutEffect effect = PutEffect::unknown) {
    if (is_hidden_table(id)) return;
    const Table& table = table_of(id);
    if (!listeners_.covers(table.identity->name.folded(), key)) return;
    TableIndex::Found found;
    if (effect != PutEffect::insert) found = find_before(table, key);
    if (!found.row.has_value() && !exists_after) return;
    if (batch.rows.empty()) batch.rows.reserve(rows_expected_);
    RowChange& change = batch.rows.emplace_back();
    change.table = table.identity;
    change.key = EntityKey(key.partition, key.row);
    change.existed_before = found.row.has_value();
    change.exists_after = exists_after;
    batch.memory_bytes += sizeof(RowChange) + key.partition.size() + key.row.size();
    if (!found.row.has_value()) return;
    change.before.emplace(*found.row);
    batch.memory_bytes += change.before->memory_bytes();
  }

  TableIndex::Found find_before(const Table& table, const KeyView& key) const {
    const Table* const base = base_ == nullptr ? nullptr : base_->find(table.id());
    TableIndex::Found found =
        table.index.find_in_memory(key, base == nullptr ? nullptr : &base->index);
    ENTITABLE_CHECK(found.part_needed == 0);
    return found;
  }

  // Returns a table. Most mutations of a commit have the same.
  const Table& table_of(TableId id) {
    if (table_ == nullptr || table_->id() != id) table_ = before_.find(id);
    ENTITABLE_CHECK(table_ != nullptr);
    return *table_;
  }

  const Listeners& listeners_;
  const RecordedChanges& earlier_;
  const Catalog& before_;
  const Catalog* base_;
  const Table* table_ = nullptr;
  std::size_t rows_expected_ = 0;  // for how many rows of a batch memory is allocated at first
};

}  // namespace

class OpenListeners::CommitRecorder final : public Recorder {
 public:
  explicit CommitRecorder(const Listeners& listeners)
      : listeners_(listeners),
        recorded_for_(listeners.last_watch()),
        changes_(listeners.recorded().bytes_max()) {}

  bool covers(std::string_view table, const KeyView& key) const override {
    return listeners_.covers(table, key);
  }
  void prepare(const Commit& commit, const Catalog& before, const Catalog* base) override {
    prepared_.clear();
    if (changes_.known())
      prepared_ = CommitChanges(listeners_, changes_, before, base).derive(commit);
  }
  void add_prepared() override { changes_.append(std::move(prepared_)); }

  RecordedChanges release() { return std::move(changes_); }
  WatchId recorded_for() const { return recorded_for_; }

 private:
  const Listeners& listeners_;
  WatchId recorded_for_;  // the newest watch when recording began
  ChangeBatches prepared_;
  RecordedChanges changes_;
};

std::unique_ptr<StoreListeners::Recorder> OpenListeners::make_recorder() const {
  return std::make_unique<CommitRecorder>(listeners_);
}

void OpenListeners::publish(Recorder* recorder, std::uint64_t epoch) {
  if (recorder == nullptr) return listeners_.publish(RecordedChanges(), 0, epoch);
  auto& made = static_cast<CommitRecorder&>(*recorder);
  listeners_.publish(made.release(), made.recorded_for(), epoch);
}

}  // namespace entitable
