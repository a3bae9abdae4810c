// Random live queries and random writes. After each publish, the rows that a client gets by
// applying deltas must be those that the query returns when it is run again. A reader of the change
// feed must arrive at the store's content, and reading the log back must give the same changes. The
// operations include discarded groups, tables that are created and dropped, checkpoints, unloaded
// parts, restores, rollbacks and reopening.
// ENTITABLE_SEED replays one seed, ENTITABLE_STEPS sets the number of steps of a run. With
// ENTITABLE_CHECKS, runs of other seeds follow until each test has checked so many results.
#include <list>
#include <memory>

#include "core/store/change_history.h"
#include "core/store/feed_readers.h"
#include "core/store/restore.h"
#include "core/store/versions.h"
#include "tests/support/catch.h"
#include "tests/support/env_number.h"
#include "tests/support/generators.h"
#include "tests/support/live_clients.h"
#include "tests/support/prng.h"
#include "tests/support/random_filter.h"
#include "tests/support/store_helpers.h"

namespace entitable {
namespace {

using test::FeedClient;
using test::number_from_env;
using test::pick;
using test::Prng;
using test::TestHost;
using test::WatchClient;

const std::vector<std::string> tables = {"people", "Orders", "x12"};
const std::vector<std::string> partitions = {"", "a", "b", "\xF0\x9F\x98\x80", "\xEF\xBD\x9E"};
const std::vector<std::string> names = {"a", "b", "Age", "name"};

// What a store may do: a store with kept versions has no parts.
enum class Kind { with_parts, with_versions };

// Which rows have listeners. All rows: a feed reads the whole store, so that all changes are
// recorded. Some rows: the other changes are not recorded, and there may be no listener at all.
enum class Listening { all_rows, some_rows };

std::vector<Property> random_properties(Prng& prng) {
  std::vector<Property> properties;
  for (const std::string& name : names) {
    if (prng.chance(3)) continue;
    properties.push_back({name, prng.chance(3)
                                    ? Value::of_string(std::string(prng.below(4), 's'))
                                    : Value::of_int32(static_cast<std::int32_t>(prng.below(4)))});
  }
  if (prng.chance(30)) properties.push_back({"large", Value::of_string(std::string(9'000, 'l'))});
  return properties;
}

std::string random_row(Prng& prng) {
  return "r" + std::to_string(prng.below(40));
}

test::FilterVocabulary make_vocabulary(Prng& prng) {
  test::FilterVocabulary vocabulary;
  vocabulary.partitions = partitions;
  for (int i = 0; i < 20; ++i) {
    vocabulary.rows.push_back(random_row(prng));
    for (Property& property : random_properties(prng))
      vocabulary.properties.push_back(std::move(property));
  }
  vocabulary.timestamps.push_back(test::noon + 1000);
  return vocabulary;
}

// What a batch says, apart from what the log does not have.
struct PastBatch {
  FeedPosition position;
  CommitOrigin origin;
  struct Row {
    std::string table;
    ChangeOp op;
    Entity after;
    friend bool operator==(const Row&, const Row&) = default;
  };
  std::vector<Row> rows;
  std::vector<std::pair<std::string, bool>> tables;
  friend bool operator==(const PastBatch&, const PastBatch&) = default;
};

PastBatch past_batch(const ChangeBatch& batch) {
  PastBatch past{batch.position, batch.origin, {}, {}};
  for (const RowChange& change : batch.rows) {
    const bool removed = change.op() == ChangeOp::remove;
    past.rows.push_back(
        {change.table->name.folded(), change.op(),
         removed ? Entity{change.key, 0, {}} : test::sorted(change.after->materialize())});
  }
  for (const TableChange& change : batch.tables)
    past.tables.emplace_back(change.table->name.text(), change.created);
  return past;
}

class Run {
 public:
  Run(std::uint64_t seed, Kind kind, Listening listening)
      : prng_(seed), kind_(kind), listening_(listening), vocabulary_(make_vocabulary(prng_)) {
    store_ = std::make_unique<Store>(std::move(*host_.open()));
    open_listeners();
  }

  // The canary: clients ignore rows that leave.
  void drop_leaves() {
    drops_leaves_ = true;
    for (WatchClient& client : clients_) client.drops_leaves = true;
  }

  // Returns whether the clients that were checked have the right rows.
  bool step() {
    now_ += static_cast<Ticks>(prng_.below(30));
    change_listeners();
    prng_.chance(2) ? write_single() : write_group();
    if (kind_ == Kind::with_parts) {
      if (prng_.chance(30)) host_.store_pending(*store_);
      if (prng_.chance(40)) checkpoint();
      if (prng_.chance(10)) limit_memory();
      if (prng_.chance(200)) reopen();
      if (prng_.chance(150)) restore();
    } else if (prng_.chance(40)) {
      change_versions();
    }
    if (feed_ != nullptr && prng_.chance(60)) compare_history();
    return settle() && (!prng_.chance(50) || check_everything());
  }

  bool check_everything() {
    for (WatchClient& client : clients_) {
      read_on(client, 1000);
      if (!client.equals_query(*store_, host_)) return false;
    }
    for (const FeedClient& feed : feeds_) {
      if (!feed.equals_store(*store_, host_)) return false;
    }
    if (feed_ != nullptr && !feed_->equals_store(*store_, host_)) return false;
    return store_->verify().empty();
  }

  std::uint64_t checks() const { return checks_; }

 private:
  // ---- Listeners ----

  bool listens_to_all() const { return listening_ == Listening::all_rows; }

  void open_listeners() {
    clients_.clear();
    feeds_.clear();
    if (listens_to_all()) feed_ = std::make_unique<FeedClient>(*store_, host_);
    while (clients_.size() < watches_max()) open_watch();
  }

  std::size_t watches_max() const { return listens_to_all() ? 20 : 4; }

  void change_listeners() {
    if (prng_.chance(8)) change_watches();
    if (prng_.chance(8)) change_feeds();
    if (!listens_to_all() && prng_.chance(60)) {
      while (!clients_.empty()) close_watch(0);
      while (!feeds_.empty()) close_feed();
    }
  }

  void change_watches() {
    const bool closes = listens_to_all() || clients_.size() == watches_max() ||
                        (!clients_.empty() && prng_.chance(2));
    if (closes) close_watch(prng_.below(clients_.size()));
    if (listens_to_all() || !closes) open_watch();
  }

  void close_watch(std::size_t i) {
    LiveQueries(*store_).close_watch(clients_[i].id());
    clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void close_feed() {
    LiveQueries(*store_).close_feed(feeds_.front().id());
    feeds_.pop_front();
  }

  // Opens or closes a feed of a table and some keys. As a host does, opens it after the changes
  // were taken if a group is staged.
  void change_feeds() {
    if (feeds_.size() >= 2 || (!feeds_.empty() && prng_.chance(2))) return close_feed();
    FeedQuery query;
    query.tables.push_back(pick(prng_, tables));
    query.range.lower = EntityKey(pick(prng_, partitions), random_row(prng_));
    if (prng_.chance(2))
      query.range.upper = EntityKey(query.range.lower.partition, random_row(prng_) + "0");
    if (!is_staged_) {
      feeds_.emplace_back(*store_, host_, query);
      return;
    }
    REQUIRE(!LiveQueries(*store_).open_feed(query).has_value());
    feeds_to_open_.push_back(std::move(query));
  }

  // Returns a condition that few rows of a partition fulfil.
  Filter narrow_filter() {
    std::string from = random_row(prng_);
    std::string to = random_row(prng_) + "0";
    if (to < from) std::swap(from, to);
    std::string text = "PartitionKey eq '" + pick(prng_, partitions) + "' and RowKey ge '" + from +
                       "' and RowKey lt '" + to + "'";
    if (prng_.chance(3)) text += " and Age ge 2";
    Result<Filter> filter = parse_filter(text);
    REQUIRE(filter.ok());
    return std::move(*filter);
  }

  void open_watch() {
    WatchQuery query;
    if (!listens_to_all()) {
      query.filter = narrow_filter();
    } else if (!prng_.chance(5)) {
      query.filter =
          test::RandomFilter(prng_, vocabulary_).make(static_cast<std::uint32_t>(prng_.below(4)));
    }
    if (prng_.chance(3)) query.limit = 1 + static_cast<std::uint32_t>(prng_.below(12));
    if (prng_.chance(4)) query.from = EntityKey(pick(prng_, partitions), random_row(prng_));
    std::string table = pick(prng_, tables);
    if (prng_.chance(2)) table[0] = static_cast<char>(table[0] ^ 0x20);
    clients_.emplace_back(*store_, std::move(table), std::move(query));
    clients_.back().drops_leaves = drops_leaves_;
  }

  WatchClient& client_of(WatchId id) {
    const auto at = std::find_if(clients_.begin(), clients_.end(),
                                 [id](const WatchClient& client) { return client.id() == id; });
    REQUIRE(at != clients_.end());
    return *at;
  }

  void take() {
    const TakenChanges taken = LiveQueries(*store_).take_changes();
    for (const ChangeBatch& batch : taken.batches) {
      for (FeedClient& feed : feeds_) feed.apply(*store_, host_, batch);
      if (feed_ == nullptr) continue;
      feed_->apply(*store_, host_, batch);
      if (batch.unknown) {
        forget_past();
      } else {
        past_.push_back(past_batch(batch));
      }
    }
    for (const WatchDelta& delta : taken.deltas) client_of(delta.watch).apply(delta, taken.rows);
    for (const FeedQuery& query : feeds_to_open_) feeds_.emplace_back(*store_, host_, query);
    feeds_to_open_.clear();
  }

  void read_on(WatchClient& client, std::uint32_t rows_max) {
    while (!client.is_complete() && client.read(*store_, host_, rows_max)) {
    }
  }

  // Takes the changes, and compares some clients. Some clients read their rows later.
  bool settle() {
    take();
    for (const FeedClient& feed : feeds_) {
      if (prng_.chance(8) && !feed.equals_store(*store_, host_)) return false;
    }
    for (int i = 0; i < 4 && !clients_.empty(); ++i) {
      WatchClient& client = clients_[prng_.below(clients_.size())];
      if (!client.is_complete() && prng_.chance(3)) {
        client.read(*store_, host_, 1 + static_cast<std::uint32_t>(prng_.below(5)));
        if (!client.is_complete()) continue;
      }
      read_on(client, 1 + static_cast<std::uint32_t>(prng_.below(20)));
      ++checks_;
      if (!client.equals_query(*store_, host_)) return false;
    }
    return true;
  }

  // ---- History ----

  void forget_past() {
    forget_lost_past();
    past_.clear();
    past_begins_ = store_->position();
    covered_ = store_->last_commit();
  }

  // Forgets the batches of commits that a crash or a rollback has lost.
  void forget_lost_past() {
    while (!past_.empty() && past_.back().position.commit > store_->last_commit()) {
      lost_.push_back(past_.back().position);
      past_.pop_back();
    }
  }

  // Returns the commits after `since` as the log has them, or nothing if it lacks some.
  std::optional<std::vector<PastBatch>> read_log(const FeedPosition& since) {
    ChangeHistory history(*store_, since);
    std::vector<PastBatch> read;
    for (auto at = host_.segments.lower_bound(history.first_segment()); at != host_.segments.end();
         ++at) {
      const auto changes = history.read_segment(at->first, at->second);
      REQUIRE(changes.ok());
      for (const ChangeBatch& batch : changes->batches) read.push_back(past_batch(batch));
    }
    const PastChanges pending = history.read_pending();
    for (const ChangeBatch& batch : pending.batches) read.push_back(past_batch(batch));
    if (history.is_truncated()) return std::nullopt;
    return read;
  }

  // Compares the log with the batches that the feed has returned before.
  void compare_history() {
    take();
    if (!lost_.empty()) REQUIRE(!read_log(pick(prng_, lost_)).has_value());
    const std::size_t seen = prng_.below(past_.size() + 1);
    const FeedPosition since = seen == 0 ? past_begins_ : past_[seen - 1].position;
    const std::vector<PastBatch> expected(past_.begin() + static_cast<std::ptrdiff_t>(seen),
                                          past_.end());
    const auto read = read_log(since);
    REQUIRE((read.has_value() || since.commit < covered_));
    acknowledge(since);
    if (read.has_value()) REQUIRE(*read == expected);
  }

  // A durable reader, which is added and removed, and acknowledges positions at random.
  void acknowledge(const FeedPosition& position) {
    FeedReaders readers(*store_);
    if (prng_.chance(10)) readers.remove("reader");
    if (!prng_.chance(2) || readers.acknowledge("reader", position, now_)) return;
    readers.add("reader", position, now_);
  }

  // ---- Writes ----

  Operation random_operation(const std::string& partition) {
    Operation operation{static_cast<OperationKind>(prng_.below(6)),
                        EntityKey(partition, random_row(prng_)),
                        {},
                        {}};
    if (operation.kind == OperationKind::insert && prng_.chance(2))
      operation.kind = OperationKind::insert_or_replace;
    if (operation.kind == OperationKind::remove || operation.kind == OperationKind::replace ||
        operation.kind == OperationKind::merge) {
      operation.if_match = IfMatch::any();
    }
    if (operation.kind != OperationKind::remove) operation.properties = random_properties(prng_);
    return operation;
  }

  WriteRequest random_request() {
    const std::string& table = pick(prng_, tables);
    if (prng_.chance(20)) return test::create(table);
    if (prng_.chance(150)) return test::drop(table);
    WriteEntities write{table, {}, prng_.chance(2)};
    const std::string& partition = pick(prng_, partitions);
    const std::size_t wanted = write.transaction ? 1 + prng_.below(12) : 1;
    for (std::size_t i = 0; i < wanted; ++i) {
      Operation operation = random_operation(partition);
      const bool taken =
          std::any_of(write.operations.begin(), write.operations.end(),
                      [&](const Operation& other) { return other.key == operation.key; });
      if (!taken) write.operations.push_back(std::move(operation));
    }
    return {std::nullopt, std::move(write)};
  }

  void write_single() {
    const WriteRequest request = random_request();
    host_.write(*store_, request, now_);
  }

  void write_group() {
    std::vector<WriteRequest> requests;
    for (std::uint64_t count = 1 + prng_.below(5); count > 0; --count)
      requests.push_back(random_request());
    const StageResult staged = host_.stage(*store_, requests, now_);
    if (!staged.changes) return;
    is_staged_ = true;
    change_listeners();
    is_staged_ = false;
    if (!clients_.empty() && prng_.chance(4)) read_on(clients_[prng_.below(clients_.size())], 3);
    if (prng_.chance(6)) return store_->discard();
    if (kind_ == Kind::with_parts && prng_.chance(2)) host_.store_pending(*store_);
    store_->publish();
  }

  // ---- Files and versions ----

  void checkpoint() {
    take();
    store_->set_part_bytes(prng_.chance(2) ? part_bytes_target : 500 + prng_.below(3000));
    // Sometimes too little for a single segment.
    host_.history = {prng_.chance(4) ? 1 : std::uint64_t{1} << 40, Ticks{1} << 40, now_};
    host_.checkpoint(*store_);
    const FeedReader* const reader = FeedReaders(*store_).find("reader");
    const bool keeps = reader != nullptr && host_.history.bytes > 1;
    covered_ =
        std::max(covered_, keeps ? std::min(reader->acknowledged.commit, store_->last_commit())
                                 : store_->last_commit());
  }

  void limit_memory() {
    store_->set_memory_limit(prng_.chance(3) ? 0 : 1 + prng_.below(60'000));
    store_->enforce_memory_limit();
  }

  void reopen() {
    take();
    const bool crashes = prng_.chance(2);  // and loses what was not stored
    if (!crashes) host_.store_pending(*store_);
    clients_.clear();
    feeds_.clear();
    feed_.reset();
    store_ = std::make_unique<Store>(std::move(*host_.open(TestHost::Load::on_demand)));
    host_.claim(*store_);
    forget_lost_past();
    // A manifest may have kept commits that were not stored otherwise.
    if (crashes) covered_ = store_->last_commit();
    open_listeners();
  }

  // Restores a snapshot of the store, some steps later or at once.
  void restore() {
    if (snapshot_.empty() || prng_.chance(2)) {
      snapshot_ = host_.snapshot(*store_);
      if (prng_.chance(2)) return;
    }
    host_.store_pending(*store_);
    Restore restore(*store_);
    REQUIRE(host_.store_parts(restore, snapshot_).ok());
    REQUIRE(restore.finish_reading().ok());
    if (prng_.chance(2)) {
      REQUIRE(restore.begin_replace(std::nullopt));
      host_.write_checkpoint(*store_);
      return;
    }
    while (true) {
      const auto merged =
          host_.with_parts(*store_, [&] { return restore.stage_merge_chunk(now_); });
      if (std::get<Restore::Merge>(merged) == Restore::Merge::done) break;
      store_->publish();
      take();
    }
    for (const PartId part : restore.unused_parts()) host_.parts.erase(part);
  }

  void change_versions() {
    if (kept_.empty() || prng_.chance(3)) {
      kept_.push_back(Versions(*store_).keep());
    } else {
      Versions(*store_).rollback(pick(prng_, kept_));
    }
  }

  Prng prng_;
  Kind kind_;
  Listening listening_;
  test::FilterVocabulary vocabulary_;
  TestHost host_;
  std::unique_ptr<Store> store_;
  std::vector<WatchClient> clients_;
  std::unique_ptr<FeedClient> feed_;  // of the whole store, or null
  std::list<FeedClient> feeds_;       // of some rows
  std::vector<FeedQuery> feeds_to_open_;
  bool is_staged_ = false;
  std::string snapshot_;
  std::vector<std::uint64_t> kept_;
  std::vector<PastBatch> past_;  // the batches after past_begins_
  FeedPosition past_begins_;
  std::vector<FeedPosition> lost_;
  std::uint64_t covered_ = 0;  // the log may lack the commits up to this one
  bool drops_leaves_ = false;
  std::uint64_t checks_ = 0;
  Ticks now_ = test::noon;
};

void run_steps(Kind kind, Listening listening, std::uint64_t seed_offset) {
  const std::uint64_t first_seed = number_from_env("ENTITABLE_SEED", 20261125 + seed_offset);
  const std::uint64_t steps = number_from_env("ENTITABLE_STEPS", 3000);
  const std::uint64_t checks_min = number_from_env("ENTITABLE_CHECKS", 0);
  std::uint64_t checks = 0;
  std::uint64_t seed = first_seed;
  do {
    INFO("replay with ENTITABLE_SEED=" << seed);
    Run run(seed, kind, listening);
    for (std::uint64_t step = 0; step < steps; ++step) {
      INFO("step " << step);
      REQUIRE(run.step());
    }
    REQUIRE(run.check_everything());
    checks += run.checks();
    seed += 4;  // the other tests use the seeds between
  } while (checks < checks_min);
  if (checks_min != 0) WARN(checks << " results were checked");
}

}  // namespace

TEST_CASE("live queries return what the query returns again, with parts and restores") {
  run_steps(Kind::with_parts, Listening::all_rows, 0);
}

TEST_CASE("live queries return what the query returns again, with rollbacks") {
  run_steps(Kind::with_versions, Listening::all_rows, 1);
}

TEST_CASE("live queries of some rows return what the query returns again, with parts") {
  run_steps(Kind::with_parts, Listening::some_rows, 2);
}

TEST_CASE("live queries of some rows return what the query returns again, with rollbacks") {
  run_steps(Kind::with_versions, Listening::some_rows, 3);
}

TEST_CASE("canary: the check finds a client that ignores rows that leave") {
  Run run(20261125, Kind::with_parts, Listening::all_rows);
  run.drop_leaves();
  bool equal = true;
  for (int step = 0; step < 1000 && equal; ++step) equal = run.step();
  CHECK(!equal);
}

}  // namespace entitable
