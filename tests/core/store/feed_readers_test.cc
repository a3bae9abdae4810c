// Tests durable readers of the change feed, and the history that checkpoints keep for them.
#include "core/store/feed_readers.h"

#include "core/log/field_codec.h"
#include "core/model/limits.h"
#include "core/store/change_history.h"
#include "core/store/restore.h"
#include "core/store/sync_tables.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;  // request helpers

constexpr Ticks day = 24 * 3600 * 1'000 * ticks_per_millisecond;

// A store whose commits have about a kilobyte and a segment each, and take a minute.
class Log {
 public:
  TestHost host;
  Store store = new_store();
  Ticks now = noon;

  Log() {
    host.segment_bytes = 1;
    publish(store, {create("people")}, now);
    set_limits(200'000, day);
  }
  void set_limits(std::uint64_t bytes, Ticks age) { host.history = {bytes, age, now}; }
  void write(int commits) {
    for (; commits > 0; --commits) {
      Operation large = operation(OperationKind::insert_or_replace, "p", "a", 1);
      large.properties.push_back({"text", Value::of_string(std::string(1000, 'x'))});
      publish(store, {test::write("people", std::move(large))}, now += day / 24 / 60);
      host.store_pending(store);
    }
  }
  // Makes commits of about a kilobyte that the feed does not show.
  void write_hidden(int commits) {
    SyncTables tables(store);
    tables.enable();
    if (!tables.is_synced("cities"))
      publish(store, {create("cities"), SyncTables::start("cities")}, now);
    for (; commits > 0; --commits) {
      const std::vector<Property> large{{"text", Value::of_string(std::string(1000, 'x'))}};
      const SyncedChanges changes{
          "cities", store.last_commit(), {{HiddenTable::marks, {"p", "a"}, false, 0, large}}};
      publish(store, {SyncTables::apply(changes)}, now += day / 24 / 60);
      host.store_pending(store);
    }
  }
  void checkpoint() {
    host.history.now = now;
    REQUIRE(host.checkpoint(store));
  }
  void reopen() { store = std::move(*host.open()); }
  FeedReaders readers() { return FeedReaders(store); }

  // Returns how many commits after a position are read, or -1 if some are missing. Passes only the
  // segments that are needed.
  int count_after(const FeedPosition& since) {
    ChangeHistory history(store, since);
    int count = 0;
    for (auto at = host.segments.lower_bound(history.first_segment()); at != host.segments.end();
         ++at) {
      const auto changes = history.read_segment(at->first, at->second);
      REQUIRE(changes.ok());
      count += static_cast<int>(changes->batches.size());
    }
    count += static_cast<int>(history.read_pending().batches.size());
    return history.is_truncated() ? -1 : count;
  }
  int count_after(std::uint64_t commit) { return count_after({store.position().epoch, commit}); }
  FeedPosition first_known() { return ChangeHistory(store, store.position()).first_known(); }
};

}  // namespace

TEST_CASE("readers are added, acknowledge changes and are removed") {
  Store store = new_store();
  publish(store, {create("people")});
  for (int i = 0; i < 8; ++i) publish(store, {upsert("people", "p", "a", i)});
  FeedReaders readers(store);
  CHECK(readers.find("backup") == nullptr);
  CHECK_FALSE(readers.acknowledge("backup", {1, 1}, 10));
  CHECK(readers.add("backup", {1, 7}, 10));
  CHECK_FALSE(readers.add("backup", {1, 8}, 11));
  CHECK(*readers.find("backup") == FeedReader{{1, 7}, 10});
  CHECK(readers.acknowledge("backup", {1, 9}, 20));
  CHECK(readers.acknowledge("backup", {1, 8}, 20 + FeedReaders::renewal_interval));
  CHECK(*readers.find("backup") == FeedReader{{1, 9}, 20 + FeedReaders::renewal_interval});
  CHECK(readers.remove("backup"));
  CHECK_FALSE(readers.remove("backup"));
  CHECK_FALSE(readers.add("", {}, 10));
}

TEST_CASE("positions that the store has not reached are not accepted") {
  Log log;
  log.write(3);
  const FeedPosition last = log.store.position();
  REQUIRE(last == FeedPosition{1, 4});
  const FeedPosition wrong[] = {{1, 5}, {2, 0}, {UINT64_MAX, 0}, {0, counter_max + 1}};
  for (const FeedPosition& position : wrong) CHECK_FALSE(log.readers().add("a", position, log.now));
  REQUIRE(log.readers().add("a", {0, 0}, log.now));
  for (const FeedPosition& position : wrong)
    CHECK_FALSE(log.readers().acknowledge("a", position, log.now));
  CHECK(*log.readers().find("a") == FeedReader{{0, 0}, log.now});
  CHECK(log.readers().acknowledge("a", last, log.now));
  REQUIRE(log.readers().add("lost in a crash", {0, counter_max}, log.now));
  log.checkpoint();
  log.reopen();
  CHECK(log.readers().find("a")->acknowledged == last);
  CHECK(log.readers().find("lost in a crash")->acknowledged == FeedPosition{0, counter_max});
}

TEST_CASE("a time that cannot be stored is replaced by the nearest that can") {
  Log log;
  log.write(1);
  constexpr Ticks last_time = limits::date_time_ticks_max;
  REQUIRE(log.readers().add("early", {}, -1));
  REQUIRE(log.readers().add("late", {}, last_time));
  REQUIRE(log.readers().acknowledge("late", log.store.position(), last_time + 1));
  log.checkpoint();
  log.reopen();
  CHECK(log.readers().find("early")->acknowledged_at == 0);
  CHECK(log.readers().find("late")->acknowledged_at == last_time);
}

TEST_CASE("a reader that has all changes keeps its place while commits follow that it cannot see") {
  Log log;
  log.write_hidden(1);
  log.write(1);
  const FeedPosition last = log.store.position();
  REQUIRE(log.readers().add("copy", {}, log.now));
  REQUIRE(log.readers().acknowledge("copy", last, log.now));
  for (int i = 0; i < 10; ++i) {
    log.write_hidden(100);
    log.checkpoint();
  }
  CHECK(log.host.segments.size() < 200);  // the log is not kept for it
  CHECK(log.count_after(last) == 0);      // as another feed with this position
  const auto count_after_reader = [&] {
    return log.count_after(log.readers().find("copy")->acknowledged);
  };
  CHECK(count_after_reader() == 0);
  log.reopen();
  CHECK(count_after_reader() == 0);
  log.write_hidden(10);
  log.write(2);
  log.write_hidden(10);
  CHECK(count_after_reader() == 2);
  log.checkpoint();
  log.reopen();
  CHECK(count_after_reader() == 2);
}

TEST_CASE("a reader that reads the last change after the store was opened keeps its place, too") {
  Log log;
  log.write(1);
  REQUIRE(log.readers().add("copy", log.store.position(), log.now));
  log.write(1);
  const FeedPosition last = log.store.position();
  log.write_hidden(10);
  log.checkpoint();
  log.reopen();
  const FeedPosition before = log.readers().find("copy")->acknowledged;
  REQUIRE(log.count_after(before) == 2);  // with the table that was created
  REQUIRE(log.readers().acknowledge("copy", {last.epoch, last.commit + 1}, log.now));
  for (int i = 0; i < 10; ++i) {
    log.write_hidden(100);
    log.checkpoint();
  }
  CHECK(log.count_after(log.readers().find("copy")->acknowledged) == 0);
}

TEST_CASE("a reader that has not read the last change does not keep its place") {
  Log log;
  log.write_hidden(1);
  log.write(1);
  REQUIRE(log.readers().add("copy", log.store.position(), log.now));
  log.write(1);
  for (int i = 0; i < 10; ++i) {
    log.write_hidden(100);
    log.checkpoint();
  }
  CHECK(log.count_after(log.readers().find("copy")->acknowledged) == -1);
  log.reopen();
  CHECK(log.count_after(log.readers().find("copy")->acknowledged) == -1);
}

TEST_CASE("the number of readers is limited") {
  Store store = new_store();
  FeedReaders readers(store);
  for (std::size_t i = 0; i < FeedReaders::readers_max; ++i)
    CHECK(readers.add("r" + std::to_string(i), {}, 0));
  CHECK_FALSE(readers.add("one more", {}, 0));
  CHECK(readers.remove("r7"));
  CHECK(readers.add("one more", {}, 0));
}

TEST_CASE("a checkpoint stores the readers, also if nothing else has changed") {
  Log log;
  log.write(1);
  log.checkpoint();
  CHECK_FALSE(log.store.begin_checkpoint());
  REQUIRE(log.readers().add("backup", log.store.position(), log.now));
  log.checkpoint();
  log.reopen();
  CHECK(*log.readers().find("backup") == FeedReader{{1, 2}, log.now});
  CHECK_FALSE(log.store.begin_checkpoint());
  const Ticks renewal = log.now + FeedReaders::renewal_interval;
  REQUIRE(log.readers().acknowledge("backup", {1, 2}, renewal - 1));
  CHECK(*log.readers().find("backup") == FeedReader{{1, 2}, log.now});
  CHECK_FALSE(log.store.begin_checkpoint());
  REQUIRE(log.readers().acknowledge("backup", {1, 2}, renewal));
  CHECK(*log.readers().find("backup") == FeedReader{{1, 2}, renewal});
  log.checkpoint();
  REQUIRE(log.readers().remove("backup"));
  log.checkpoint();
  log.reopen();
  CHECK(log.readers().find("backup") == nullptr);
}

TEST_CASE("a change of the readers during a checkpoint is stored by the next one") {
  Log log;
  log.write(1);
  REQUIRE(log.store.begin_checkpoint());
  while (auto part = log.host.next_part(log.store)) log.host.parts[part->id] = part->bytes;
  const FinishedCheckpoint end = log.store.finish_checkpoint(log.host.history);
  REQUIRE(log.readers().add("backup", log.store.position(), log.now));
  log.host.manifest = end.manifest;
  log.store.mark_checkpoint_committed();
  log.checkpoint();
  log.reopen();
  CHECK(log.readers().find("backup") != nullptr);
}

TEST_CASE("a manifest has no acknowledgement of a commit that a crash can lose") {
  Log log;
  log.write(3);
  const FeedPosition before = log.store.position();
  REQUIRE(log.readers().add("b", before, log.now));
  log.checkpoint();
  log.write(2);
  const FeedPosition stored = log.store.position();
  REQUIRE(log.readers().add("a", stored, log.now));
  REQUIRE(log.store.begin_checkpoint());
  publish(log.store, {upsert("people", "p", "a", 5)});  // deferred
  for (const char* name : {"a", "b"})
    REQUIRE(log.readers().acknowledge(name, log.store.position(), log.now));
  log.host.write_checkpoint(log.store);
  CHECK(log.readers().find("a")->acknowledged == log.store.position());
  CHECK_FALSE(log.readers().are_stored());
  Store reopened = std::move(*log.host.open());  // after a crash
  CHECK(FeedReaders(reopened).find("a")->acknowledged == stored);
  CHECK(FeedReaders(reopened).find("b")->acknowledged == stored);
  CHECK_FALSE(ChangeHistory(reopened, stored).is_truncated());
  log.host.store_pending(log.store);
  log.checkpoint();
  CHECK(log.readers().are_stored());
  log.reopen();
  CHECK(log.readers().find("a")->acknowledged == log.store.position());
}

TEST_CASE("without readers, a checkpoint keeps no segments") {
  Log log;
  log.write(20);
  log.checkpoint();
  CHECK(log.host.segments.empty());
  CHECK(log.store.stats().history_bytes == 0);
  CHECK(log.count_after(20) == -1);
  CHECK(log.first_known() == FeedPosition{1, 22});
}

TEST_CASE("covered segments are kept until all readers have acknowledged them") {
  Log log;
  log.write(5);  // commits 2 to 6
  REQUIRE(log.readers().add("a", {1, 3}, log.now));
  REQUIRE(log.readers().add("b", {1, 4}, log.now));
  log.checkpoint();
  CHECK(log.store.stats().history_bytes > 5000);
  CHECK(log.count_after(3) == 3);
  log.write(5);  // commits 7 to 11
  log.checkpoint();
  CHECK(log.count_after(3) == 8);
  log.reopen();
  CHECK(log.count_after(3) == 8);
  CHECK(log.count_after(11) == 0);
  // Whole stretches are dropped: the first has the commits up to 6.
  REQUIRE(log.readers().acknowledge("a", {1, 11}, log.now));
  REQUIRE(log.readers().acknowledge("b", {1, 6}, log.now));
  log.checkpoint();
  CHECK(log.count_after(6) == 5);
  CHECK(log.count_after(5) == -1);
  CHECK(log.first_known() == FeedPosition{1, 7});
  REQUIRE(log.readers().acknowledge("b", {1, 11}, log.now));
  log.checkpoint();
  CHECK(log.host.segments.empty());
  CHECK(log.count_after(11) == 0);
}

TEST_CASE("the first kept segment is known as soon as the manifest was read") {
  Log log;
  log.write(2);
  REQUIRE(log.readers().add("a", log.store.position(), log.now));
  log.checkpoint();
  log.write(2);
  log.checkpoint();
  CHECK(log.store.first_kept_sequence() == 4);
  CHECK(log.store.first_live_sequence() == 6);
  Store opening;
  REQUIRE(opening.begin_recovery(*log.host.manifest).ok());
  CHECK(opening.first_kept_sequence() == 4);
  CHECK(opening.first_live_sequence() == 6);
  opening.finish_recovery();
  CHECK(opening.first_kept_sequence() == 4);
}

TEST_CASE("history has at most as many bytes as the limit") {
  Log log;
  REQUIRE(log.readers().add("a", {1, 1}, log.now));
  log.write(10);
  log.checkpoint();
  log.write(10);
  log.checkpoint();
  const std::uint64_t bytes = log.store.stats().history_bytes;
  log.set_limits(bytes, day);
  log.write(1);
  log.host.history.bytes = bytes + 6000;
  log.checkpoint();
  CHECK(log.count_after(1) == 21);
  log.host.history.bytes = log.store.stats().history_bytes - 1;
  REQUIRE(log.readers().acknowledge("a", {1, 2}, log.now));
  log.checkpoint();
  CHECK(log.count_after(1) == -1);
  CHECK(log.store.stats().history_bytes <= log.host.history.bytes);
  CHECK(log.count_after(log.first_known().commit - 1) > 0);
}

TEST_CASE("each segment of the history counts as a file, however small it is") {
  Log log;
  REQUIRE(log.readers().add("a", {1, 1}, log.now));
  for (int i = 0; i < 100; ++i) {
    publish(log.store, {upsert("people", "p", "a", i)}, log.now);
    log.host.store_pending(log.store);
  }
  log.set_limits(200'000, day);
  log.checkpoint();
  CHECK(log.store.stats().history_bytes <= 200'000);
  CHECK(log.host.segments.size() * 4096 <= 200'000);
  CHECK(log.count_after(1) == -1);
  log.write(1);
  log.checkpoint();
  CHECK(log.count_after(101) == 1);
}

TEST_CASE("history is not older than the limit") {
  Log log;
  REQUIRE(log.readers().add("a", {1, 1}, log.now));
  log.write(3);
  log.checkpoint();
  log.now += day - day / 24 / 60;
  log.write(1);
  log.checkpoint();
  CHECK(log.count_after(1) == 4);
  log.write(1);
  log.checkpoint();
  CHECK(log.count_after(1) == -1);
  CHECK(log.count_after(4) == 2);
}

TEST_CASE("a reader that is silent and has lost its place keeps no history") {
  Log log;
  REQUIRE(log.readers().add("a", {1, 1}, log.now));
  log.write(1);
  log.checkpoint();
  log.now += 2 * day;
  log.write(1);
  log.checkpoint();
  log.write(1);
  log.checkpoint();
  CHECK(log.host.segments.empty());
  // It is back.
  REQUIRE(log.readers().acknowledge("a", log.store.position(), log.now));
  log.write(2);
  log.checkpoint();
  CHECK(log.count_after(log.readers().find("a")->acknowledged) == 2);
}

TEST_CASE("a reader that has read everything keeps its place, however long it is silent") {
  Log log;
  log.write(1);
  REQUIRE(log.readers().add("a", log.store.position(), log.now));
  log.checkpoint();
  log.now += 9 * day;
  log.write(1);
  log.checkpoint();
  CHECK(log.count_after(2) == 1);
}

TEST_CASE("few stretches are counted, however many checkpoints there are") {
  Log log;
  log.set_limits(100'000'000, 1000 * day);
  REQUIRE(log.readers().add("a", {1, 1}, log.now));
  for (int i = 0; i < 100; ++i) {
    log.write(1);
    log.checkpoint();
  }
  const Result<Manifest> manifest = decode_manifest(*log.host.manifest);
  REQUIRE(manifest.ok());
  CHECK(manifest->history->stretches.size() == 1);
  CHECK(log.count_after(1) == 100);
  CHECK(log.count_after(77) == 24);
}

TEST_CASE("if commits are missing in the log, earlier segments are no history") {
  Log log;
  REQUIRE(log.readers().add("a", {1, 1}, log.now));
  log.write(3);
  // The manifest has a commit that is not stored otherwise before the crash.
  publish(log.store, {upsert("people", "p", "b", 5)}, log.now);
  log.checkpoint();
  log.reopen();
  log.host.claim(log.store);
  CHECK(log.store.position() == FeedPosition{2, 5});
  CHECK(log.count_after({1, 4}) == -1);
  CHECK(log.count_after({1, 5}) == 0);
  CHECK(log.first_known() == FeedPosition{2, 6});
  log.write(2);
  CHECK(log.count_after({1, 5}) == 2);
  log.checkpoint();
  CHECK(log.count_after({1, 4}) == -1);
  CHECK(log.count_after({1, 5}) == 2);
}

TEST_CASE("a content that a restore replaces is no history") {
  Log log;
  REQUIRE(log.readers().add("a", {1, 1}, log.now));
  log.write(3);
  log.checkpoint();
  const std::string file = log.host.snapshot(log.store);
  {
    Restore restore(log.store);
    REQUIRE(log.host.store_parts(restore, file).ok());
    REQUIRE(restore.finish_reading().ok());
    REQUIRE(restore.begin_replace(std::nullopt));
    log.host.write_checkpoint(log.store);
  }
  CHECK(log.host.segments.empty());
  CHECK(log.count_after(4) == -1);
  CHECK(log.first_known() == FeedPosition{1, 6});
  log.write(2);
  log.checkpoint();
  CHECK(log.count_after(5) == 2);
  log.reopen();
  CHECK(log.count_after(5) == 2);
}

TEST_CASE("a reader does not fall behind while sync changes only what it remembers") {
  Log log;
  SyncTables(log.store).enable();
  publish(log.store, {SyncTables::start("people"), upsert("people", "p", "a", 1)});
  REQUIRE(log.readers().add("in step", log.store.position(), log.now));
  REQUIRE(log.readers().add("behind", {log.store.position().epoch, 1}, log.now));
  const auto remember = [&](int commits) {
    for (int i = 0; i < commits; ++i) {
      const std::string key = std::to_string(i);
      const SyncedChanges changes{"people",
                                  log.store.last_commit(),
                                  {{HiddenTable::marks, EntityKey("p", key), false, 0, {}}}};
      publish(log.store, {SyncTables::apply(changes)});
      log.host.store_pending(log.store);
    }
  };
  log.set_limits(0, day);  // keeps no history
  for (int round = 0; round < 3; ++round) {
    remember(5);
    log.checkpoint();
    CHECK(log.readers().find("in step")->acknowledged == log.store.position());
    CHECK(log.readers().are_stored());
    CHECK(log.readers().find("behind")->acknowledged.commit == 1);
    remember(3);
    log.reopen();
    SyncTables(log.store).enable();
    // What recovery has read is known, and what the manifest covers is not.
    CHECK(log.count_after(log.readers().find("in step")->acknowledged) == 0);
    CHECK(log.count_after(log.readers().find("behind")->acknowledged) == -1);
    publish(log.store, {upsert("people", "p", "a", round)});
    const FeedPosition& before = log.readers().find("in step")->acknowledged;
    CHECK(log.count_after(before) == 1);
    log.host.store_pending(log.store);
    // Not before it has acknowledged that.
    log.checkpoint();
    CHECK(log.count_after(log.readers().find("in step")->acknowledged) == -1);
    REQUIRE(log.readers().acknowledge("in step", log.store.position(), log.now));
  }
}

}  // namespace entitable
