// Applies random operations to a store and to the model, and compares all results and rows. The
// operations include discarded writes, crashes, checkpoints and reopening. ENTITABLE_SEED replays
// one seed, ENTITABLE_STEPS sets the number of steps.

#include "core/filter/parser.h"
#include "core/store/restore.h"
#include "tests/support/catch.h"
#include "tests/support/env_number.h"
#include "tests/support/model_store.h"
#include "tests/support/prng.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using test::ModelStore;
using test::number_from_env;
using test::Prng;
using test::TestHost;

const std::vector<std::string> tables = {"people", "Orders", "x12"};
const std::vector<std::string> partitions = {
    "", "a", "b", "a b", "\xF0\x9F\x98\x80", "\xEF\xBD\x9E", std::string(512, 'p')};
// Each row of this partition fills a leaf of the tree, so that inserts and deletes between the
// leaves of a part do not change these leaves.
const std::string large_rows = "large";
const std::vector<std::string> names = {"a", "b", "c", "Age", "name", "when", "\xC3\xA9t\xC3\xA9"};

template <typename T>
const T& pick(Prng& prng, const std::vector<T>& from) {
  return from[prng.below(from.size())];
}

std::string random_row(Prng& prng) {
  switch (prng.below(8)) {
    case 0:
      return pick(prng, partitions);
    default:
      return "r" + std::to_string(prng.below(60));
  }
}

Value random_value(Prng& prng) {
  switch (prng.below(8)) {
    case 0:
      return Value::of_int32(static_cast<std::int32_t>(prng.below(7)) - 3);
    case 1:
      return Value::of_int64(static_cast<std::int64_t>(prng.next()));
    case 2:
      return Value::of_double(static_cast<double>(prng.below(7)) / 2);
    case 3:
      return Value::of_boolean(prng.chance(2));
    case 4:
      return Value::of_date_time(limits::date_time_ticks_min +
                                 static_cast<Ticks>(prng.below(1'000'000)));
    case 5:
      return Value::of_binary(std::string(prng.below(40), '\0'));
    case 6:
      return Value::of_guid(Guid{{static_cast<std::uint8_t>(prng.below(4))}});
    default:
      return Value::of_string(
          std::string(prng.chance(50) ? prng.below(20'000) : prng.below(12), 's'));
  }
}

class Run {
 public:
  explicit Run(std::uint64_t seed) : prng_(seed), store_(std::move(*host_.open())) {}

  void step() {
    now_ += static_cast<Ticks>(prng_.below(30)) - 10;  // the clock also runs backwards
    prng_.chance(3) ? write_single() : write_group();
    if (prng_.chance(3)) compare_query();
    if (prng_.chance(200)) compare_everything();
    if (prng_.chance(150)) checkpoint();
    if (prng_.chance(20)) step_checkpoint();
    if (prng_.chance(15)) write_unloaded();
    if (prng_.chance(100)) step_snapshot();
    if (prng_.chance(300)) reopen();
    if (prng_.chance(10)) enforce_memory_limit();
    if (prng_.chance(30)) collect_changes();
    if (prng_.chance(20)) read_between_writes();
    if (prng_.chance(40)) write_between_leaves();
    if (prng_.chance(50)) compare_counts();
    if (prng_.chance(500)) move_by_snapshot();
  }

  void compare_everything() {
    REQUIRE(store_.verify().empty());
    const auto listed = store_.tables(Filter{}, 1000, "");
    REQUIRE(listed.ok());
    REQUIRE(listed->names.size() == model_.tables().size());
    std::size_t at = 0;
    for (const auto& [folded, table] : model_.tables()) {
      REQUIRE(listed->names[at++] == table.name);
      compare_rows(folded, Filter{});
    }
  }

 private:
  Operation random_operation(const std::string& partition, const std::string& table) {
    const bool is_large = partition == large_rows;
    Operation operation{
        static_cast<OperationKind>(prng_.below(6)),
        EntityKey(partition, is_large ? "r" + std::to_string(prng_.below(10)) : random_row(prng_)),
        {},
        {}};
    if (is_large) {
      if (prng_.chance(3)) operation.kind = OperationKind::remove;
      if (operation.kind != OperationKind::remove) {
        std::string text(9'500 + prng_.below(1'000), 'l');
        operation.properties.push_back({"text", Value::of_string(std::move(text))});
      }
    } else if (operation.kind != OperationKind::remove) {
      for (const std::string& name : names) {
        if (prng_.chance(3)) operation.properties.push_back({name, random_value(prng_)});
      }
    }
    if (operation.kind == OperationKind::replace || operation.kind == OperationKind::merge ||
        operation.kind == OperationKind::remove) {
      operation.if_match = condition_for(table, operation.key);
    }
    return operation;
  }

  IfMatch condition_for(const std::string& table, const EntityKey& key) {
    if (!prng_.chance(2)) return IfMatch::any();
    const test::ModelTable* found = model_.find(table);
    Ticks timestamp = 636'000'000'000'000'001;  // older than all rows, so its ETag does not match
    if (found != nullptr && !prng_.chance(4)) {
      const auto at = found->rows.find(test::ModelKey(key));
      if (at != found->rows.end()) timestamp = at->second.timestamp;
    }
    return *IfMatch::parse(etag_text(timestamp));
  }

  WriteRequest random_request() {
    const std::string& table = pick(prng_, tables);
    return random_request(table, pick(prng_, partitions));
  }

  WriteRequest random_request(const std::string& table, const std::string& partition) {
    if (prng_.chance(40)) return {std::nullopt, WriteCreateTable{table}};
    if (prng_.chance(400)) return {std::nullopt, WriteDropTable{table}};
    WriteEntities write{table, {}, prng_.chance(2)};
    const std::size_t wanted = write.transaction ? 1 + prng_.below(12) : 1;
    for (std::size_t i = 0; i < wanted; ++i) {
      Operation operation = random_operation(partition, table);
      const bool taken =
          std::any_of(write.operations.begin(), write.operations.end(),
                      [&](const Operation& other) { return other.key == operation.key; });
      if (!taken) write.operations.push_back(std::move(operation));
    }
    return {std::nullopt, std::move(write)};
  }

  void write_single() { write_single(random_request()); }

  // A deferred write: published at once, stored later.
  void write_single(const WriteRequest& request) {
    ModelStore after = model_;
    staged_timestamp_ = last_timestamp_;
    const StageResult staged = host_.write(store_, request, now_);
    REQUIRE(staged.results.size() == 1);
    check_answer(after, request, staged.results[0]);
    if (!staged.changes) return;
    accept(std::move(after));
    if (prng_.chance(4)) store_now();
  }

  // Writes while all rows that can be unloaded are. Upserts then do not load them.
  void write_unloaded() {
    store_.set_memory_limit(1);
    for (std::uint64_t count = 1 + prng_.below(5); count > 0; --count) {
      store_.enforce_memory_limit();
      WriteRequest request = random_request();
      if (auto* write = std::get_if<WriteEntities>(&request.body)) {
        for (Operation& operation : write->operations) {
          if (!prng_.chance(6)) operation.kind = OperationKind::insert_or_replace;
          if (operation.kind == OperationKind::insert_or_replace) operation.if_match = {};
        }
      }
      write_single(request);
      if (prng_.chance(3)) step_checkpoint();
    }
  }

  // Loads some parts, and fills memory with them, so that writes unload the parts that they change.
  void collect_changes() {
    for (std::uint64_t count = prng_.below(8); count > 0; --count) compare_query();
    store_.enforce_memory_limit();
    store_.set_memory_limit(store_.memory_bytes() + prng_.below(1000));
  }

  // Reads a page, and writes whenever the read waits for parts. As in the host, no memory is freed
  // meanwhile, and a read that needs the part again that was loaded for it fails.
  void read_between_writes() {
    const std::string& table = pick(prng_, tables);
    if (prng_.chance(2)) collect_changes();
    is_read_waiting_ = true;
    Query query;
    query.top = 1000;
    PartId loaded = 0;
    while (true) {
      const auto answer = store_.query(table, query);
      const auto* need = std::get_if<PartsNeeded>(&answer);
      if (need == nullptr) {
        if (const auto* page = std::get_if<Page>(&answer)) compare_page(table, *page);
        break;
      }
      REQUIRE(need->ids.front() != loaded);
      loaded = need->ids.front();
      host_.load_parts(store_, {loaded});
      for (std::uint64_t count = prng_.below(4); count > 0; --count)
        prng_.chance(3) ? write_single() : write_group();
      if (prng_.chance(4)) step_checkpoint();
    }
    is_read_waiting_ = false;
  }

  void compare_page(const std::string& table, const Page& page) {
    const std::vector<Entity> expected = model_.query(table, Filter{});
    REQUIRE(page.rows.size() <= expected.size());
    REQUIRE((page.next.has_value() || page.rows.size() == expected.size()));
    for (std::size_t i = 0; i < page.rows.size(); ++i)
      REQUIRE(test::sorted(page.rows[i].materialize()) == test::sorted(expected[i]));
  }

  void write_group() {
    std::vector<WriteRequest> requests;
    const bool is_large = prng_.chance(4);
    const std::string& table = pick(prng_, tables);
    for (std::uint64_t count = 1 + prng_.below(4); count > 0; --count)
      requests.push_back(is_large ? random_request(table, large_rows) : random_request());
    write_group(requests);
  }

  void write_group(const std::vector<WriteRequest>& requests) {
    ModelStore after = model_;
    staged_timestamp_ = last_timestamp_;
    const StageResult staged = host_.stage(store_, requests, now_);
    REQUIRE(staged.results.size() == requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i)
      check_answer(after, requests[i], staged.results[i]);
    if (!staged.changes) return;
    is_storing_ = true;
    if (begins_checkpoint_) step_checkpoint();
    for (std::uint64_t count = prng_.below(3); count > 0; --count) step_while_storing();
    is_storing_ = false;
    host_.segment_bytes = prng_.chance(2) ? Store::no_limit : prng_.below(1000);
    switch (prng_.below(8)) {
      case 0:  // the host could not store the group
        if (prng_.chance(2)) store_.seal(prng_.below(500));
        store_.discard();
        return;
      case 1:
      case 2:  // deferred: published now, stored later
        store_.publish();
        accept(std::move(after));
        if (prng_.chance(4)) store_now();
        return;
      default:
        host_.store_pending(store_);
        store_.publish();
        accept(std::move(after));
        mark_stored();
    }
  }

  // Inserts a row between the leaves of a part, and removes it in a group that changes another row
  // of the part.
  void write_between_leaves() {
    const std::string& table = pick(prng_, tables);
    const auto of_row = [&](OperationKind kind, const std::string& row) {
      Operation operation{kind, EntityKey(large_rows, row), {}, {}};
      std::string text(kind == OperationKind::remove ? 0 : 9'500 + prng_.below(1'000), 'l');
      if (!text.empty()) operation.properties.push_back({"text", Value::of_string(text)});
      if (kind == OperationKind::remove) operation.if_match = IfMatch::any();
      return WriteRequest{std::nullopt, WriteEntities{table, {std::move(operation)}, false}};
    };
    if (checkpoint_.has_value()) abandon_checkpoint();
    if (!prng_.chance(3)) {
      store_.set_part_bytes(part_bytes_target);
      checkpoint();
    }
    store_.set_memory_limit(0);
    store_.enforce_memory_limit();  // no read waits
    compare_rows(table, *parse_filter("PartitionKey eq 'large'"));
    const std::string between = "r" + std::to_string(prng_.below(10)) + "x";
    write_single(of_row(OperationKind::insert_or_replace, between));
    store_.set_memory_limit(store_.memory_bytes());
    const std::string other = "r" + std::to_string(prng_.below(10));
    begins_checkpoint_ = !prng_.chance(3);
    write_group(
        {of_row(OperationKind::remove, between), of_row(OperationKind::insert_or_replace, other)});
    begins_checkpoint_ = false;
    if (prng_.chance(4)) return;
    while (checkpoint_.has_value()) step_checkpoint(MayAbandon::no);
    compare_rows(table, *parse_filter("PartitionKey eq 'large'"));
  }

  // Does what may happen while a group is being stored.
  void step_while_storing() {
    switch (prng_.below(4)) {
      case 0:
        return compare_query();
      case 1:
        return step_snapshot();
      default:
        return step_checkpoint();
    }
  }

  // Called when the staged writes are published. Until then, last_timestamp_ ignores them.
  void accept(ModelStore after) {
    model_ = std::move(after);
    ++version_;
    last_timestamp_ = staged_timestamp_;
  }

  void check_answer(ModelStore& after, const WriteRequest& request, const WriteResult& answer) {
    const auto expected = after.check(request);
    if (expected.has_value()) {
      const auto* failure = std::get_if<GroupFailure>(&answer);
      REQUIRE(failure != nullptr);
      REQUIRE(failure->error.code == expected->code);
      REQUIRE(failure->index == expected->index);
      return;
    }
    const auto* done = std::get_if<WriteSuccess>(&answer);
    REQUIRE(done != nullptr);
    for (const Ticks timestamp : done->timestamps) {
      if (timestamp == 0) continue;
      REQUIRE(timestamp > staged_timestamp_);
      REQUIRE(timestamp % 10 != 0);
      staged_timestamp_ = timestamp;
    }
    after.apply(request, done->timestamps);
  }

  void store_now() {
    host_.store_pending(store_);
    mark_stored();
  }

  void checkpoint() {
    if (checkpoint_.has_value()) abandon_checkpoint();
    if (prng_.chance(3)) {  // the host may crash during the checkpoint
      if (host_.checkpoint(store_, prng_.below(4))) mark_stored();
      store_.abandon_checkpoint();
      reopen();
      return;
    }
    // The checkpoint contains all published writes, even if their segments were not stored.
    host_.checkpoint(store_);
    mark_stored();
  }

  // Everything that is published is stored.
  void mark_stored() {
    stored_model_ = model_;
    stored_version_ = version_;
  }

  // Takes the next step of a checkpoint that spans many other steps.
  enum class MayAbandon { no, yes };
  void step_checkpoint(MayAbandon may_abandon = MayAbandon::yes) {
    if (is_finishing_) return;
    if (!checkpoint_.has_value()) {
      store_.set_part_bytes(prng_.chance(2) ? part_bytes_target : 500 + prng_.below(5000));
      if (store_.begin_checkpoint()) checkpoint_ = CheckpointUnderWay{model_, version_};
      return;
    }
    if (may_abandon == MayAbandon::yes && prng_.chance(12)) return abandon_checkpoint();
    if (std::optional<CheckpointPart> part = host_.next_part(store_)) {
      host_.parts[part->id] = std::move(part->bytes);
      if (prng_.chance(2)) {
        store_.mark_checkpoint_part_stored();
        if (prng_.chance(2)) step_interim_checkpoint();
        if (prng_.chance(2)) unload_all();
        if (prng_.chance(2)) compare_query();
      }
      return;
    }
    const FinishedCheckpoint end = store_.finish_checkpoint(no_history);
    if (prng_.chance(2)) compare_query();
    if (!is_storing_ && prng_.chance(2)) {
      is_finishing_ = true;
      write_group();
      is_finishing_ = false;
    }
    host_.manifest = end.manifest;
    host_.segments.erase(host_.segments.begin(),
                         host_.segments.lower_bound(end.first_live_sequence));
    for (const PartId id : end.obsolete_parts) REQUIRE(host_.parts.erase(id) == 1);
    store_.mark_checkpoint_committed();
    // The manifest also covers what was published, but not stored, when the checkpoint began.
    if (stored_version_ < checkpoint_->version) {
      stored_version_ = checkpoint_->version;
      stored_model_ = std::move(checkpoint_->model);
    }
    checkpoint_.reset();
    if (prng_.chance(2)) unload_all();
  }

  // Stores an interim manifest of the checkpoint under way, or crashes in the middle, unless a
  // caller goes on with a group or a read.
  void step_interim_checkpoint() {
    if (!is_storing_ && prng_.chance(2)) store_now();
    const bool crashes = !is_storing_ && !is_read_waiting_ && prng_.chance(8);
    host_.interim_checkpoint(store_, crashes ? prng_.below(2) : SIZE_MAX);
    if (crashes) reopen();
  }

  // Takes the next step of a snapshot that spans many other steps.
  void step_snapshot() {
    if (!snapshot_.has_value()) {
      snapshot_.emplace(store_, model_);
      return;
    }
    const auto chunk = host_.with_parts(store_, [&] { return snapshot_->exported.next_chunk(); });
    if (const auto* bytes = std::get_if<std::string>(&chunk)) {
      snapshot_->file += *bytes;
      return;
    }
    const ModelStore model = std::move(snapshot_->model);
    const std::string file = std::move(snapshot_->file);
    snapshot_.reset();
    compare_snapshot(model, file);
  }

  void abandon_checkpoint() {
    for (const PartId id : store_.abandon_checkpoint()) host_.parts.erase(id);
    checkpoint_.reset();
  }

  // Restores a snapshot into another store with other content, and continues with that store.
  void move_by_snapshot() {
    snapshot_.reset();
    TestHost host;
    Store next = std::move(*host.open());
    next.stage({{std::nullopt, WriteCreateTable{"other"}}, {std::nullopt, WriteCreateTable{"X12"}}},
               now_);
    host.store_pending(next);
    next.publish();
    {
      Restore restore(next);
      REQUIRE(host.store_parts(restore, host_.snapshot(store_)).ok());
      const auto report = restore.finish_reading();
      REQUIRE(report.ok());
      REQUIRE(report->tables == model_.tables().size());
      REQUIRE(restore.begin_replace(std::nullopt));
      host.write_checkpoint(next);
    }
    checkpoint_.reset();
    store_ = std::move(next);
    host_ = std::move(host);
    mark_stored();
    reopen();
  }

  // Opens the stored files again. The store must contain exactly the writes that were stored.
  void reopen() {
    checkpoint_.reset();
    snapshot_.reset();
    // An owner may crash while it reads a log that is larger than its memory.
    while (prng_.chance(2)) open_within_limit(prng_.below(30));
    store_ = prng_.chance(2) ? open_within_limit(SIZE_MAX).value() : open_without_limit();
    REQUIRE(store_.damage().empty());
    model_ = stored_model_;
    version_ = ++stored_version_;
    last_timestamp_ = 0;  // deferred writes that were not stored are lost, with their timestamps
    for (const auto& [folded, table] : model_.tables()) {
      for (const auto& [key, entity] : table.rows)
        last_timestamp_ = std::max(last_timestamp_, entity.timestamp);
    }
    compare_everything();
  }

  // The store keeps the limit, so that the next writes collect changes.
  std::optional<Store> open_within_limit(std::size_t files_max) {
    host_.part_bytes = prng_.chance(2) ? part_bytes_target : 500 + prng_.below(5000);
    return host_.open_within(1 + prng_.below(40'000), files_max);
  }

  Store open_without_limit() {
    auto opened =
        host_.open(prng_.chance(4) ? TestHost::Load::all_parts : TestHost::Load::on_demand);
    REQUIRE(opened.ok());
    return std::move(*opened);
  }

  // Unloads parts if possible. Later reads may need to load them again.
  void enforce_memory_limit() {
    const std::uint64_t rows = store_.stats().rows;
    store_.set_memory_limit(prng_.chance(3) ? 0 : 1 + prng_.below(200'000));
    store_.enforce_memory_limit();
    REQUIRE(store_.stats().rows == rows);
    REQUIRE(store_.verify().empty());
  }

  void unload_all() {
    if (is_read_waiting_) return;
    store_.set_memory_limit(1);
    store_.enforce_memory_limit();
  }

  // Loads the parts that make the row count inexact; then it must equal the model's.
  void compare_counts() {
    for (auto parts = store_.parts_with_inexact_counts(); !parts.empty();
         parts = store_.parts_with_inexact_counts()) {
      host_.load_parts(store_, {parts.front()});
    }
    std::uint64_t rows = 0;
    for (const auto& [folded, table] : model_.tables()) rows += table.rows.size();
    REQUIRE(store_.stats().rows == rows);
  }

  void compare_query() {
    static const std::vector<std::string> filters = {
        "PartitionKey eq 'a'",
        "PartitionKey eq 'a' and RowKey ge 'r2' and RowKey lt 'r4'",
        "PartitionKey eq 'b' and (RowKey eq 'r1' or RowKey eq 'r33' or RowKey eq 'r7')",
        "PartitionKey gt 'a' and Age ge 1",
        "not (PartitionKey eq 'a') and (a eq 'sss' or b gt 0.5)",
        "Age ne 2",
        "RowKey eq 'r5' or c",
        "PartitionKey lt ''",
    };
    compare_rows(pick(prng_, tables), *parse_filter(pick(prng_, filters)));
  }

  void compare_rows(const std::string& table, const Filter& filter) {
    if (model_.find(table) == nullptr) return;
    const std::vector<Entity> expected = model_.query(table, filter);
    Query query;
    query.filter = filter;
    query.top = static_cast<std::uint32_t>(1 + prng_.below(200));
    std::size_t at = 0;
    do {
      const auto answer = host_.with_parts(store_, [&] { return store_.query(table, query); });
      const auto* page = std::get_if<Page>(&answer);
      REQUIRE(page != nullptr);
      REQUIRE(page->rows.size() <= query.top);
      for (const RowView& row : page->rows) {
        REQUIRE(at < expected.size());
        REQUIRE(test::sorted(row.materialize()) == test::sorted(expected[at]));
        ++at;
      }
      query.from = page->next;
    } while (query.from.has_value());
    REQUIRE(at == expected.size());
  }

  struct CheckpointUnderWay {
    ModelStore model;  // what it covers
    std::uint64_t version = 0;
  };
  struct SnapshotUnderWay {
    SnapshotUnderWay(Store& store, ModelStore content)
        : exported(store), model(std::move(content)) {}
    SnapshotExport exported;
    ModelStore model;  // what it contains
    std::string file;
  };

  // Compares the store that the file restores with the model.
  void compare_snapshot(ModelStore model, const std::string& file) {
    TestHost host;
    Store restored = std::move(*host.open());
    {
      Restore restore(restored);
      REQUIRE(host.store_parts(restore, file).ok());
      REQUIRE(restore.finish_reading().ok());
      REQUIRE(restore.begin_replace(std::nullopt));
      host.write_checkpoint(restored);
    }
    std::swap(store_, restored);
    std::swap(host_, host);
    std::swap(model_, model);
    compare_everything();
    std::swap(store_, restored);
    std::swap(host_, host);
    std::swap(model_, model);
  }

  Prng prng_;
  TestHost host_;
  Store store_;
  ModelStore model_;
  ModelStore stored_model_;
  std::uint64_t version_ = 0;  // counts the changes of model_
  std::uint64_t stored_version_ = 0;
  std::optional<CheckpointUnderWay> checkpoint_;
  std::optional<SnapshotUnderWay> snapshot_;
  bool is_read_waiting_ = false;
  bool is_storing_ = false;         // a group is staged
  bool begins_checkpoint_ = false;  // begin one while the next group is being stored
  bool is_finishing_ = false;       // the manifest of checkpoint_ is being stored
  Ticks now_ = 638'000'000'000'000'000;
  Ticks last_timestamp_ = 0;
  Ticks staged_timestamp_ = 0;
};

}  // namespace

TEST_CASE("random operations agree with the model after each step") {
  const std::uint64_t seed = number_from_env("ENTITABLE_SEED", 20261121);
  const std::uint64_t steps = number_from_env("ENTITABLE_STEPS", 3000);
  INFO("replay with ENTITABLE_SEED=" << seed);
  Run run(seed);
  for (std::uint64_t step = 0; step < steps; ++step) {
    INFO("step " << step);
    run.step();
  }
  run.compare_everything();
}

}  // namespace entitable
