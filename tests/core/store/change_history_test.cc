// Tests reading changes back from the log.
#include "core/store/change_history.h"

#include "core/store/claim_history.h"
#include "core/store/feed_readers.h"
#include "core/store/restore.h"
#include "core/store/versions.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;  // request helpers

// Commits 1 to 4.
void publish_people(Store& store) {
  publish(store, {create("People"), insert("people", "p", "a", 1),
                  group("people", {operation(OperationKind::insert, "p", "c", 3),
                                   operation(OperationKind::insert, "p", "b", 2)}),
                  remove("people", "p", "a")});
}

// Returns for example "3: +c=3 ~b=1 -a; 4: create people".
void append_text(const PastChanges& changes, std::string& text) {
  for (const ChangeBatch& batch : changes.batches) {
    text += (text.empty() ? "" : "; ") + std::to_string(batch.position.commit) + ":";
    for (const RowChange& change : batch.rows) {
      REQUIRE(change.table->name.folded() == "people");
      REQUIRE(change.exists_after == change.after.has_value());
      text += (change.op() == ChangeOp::insert   ? " +"
               : change.op() == ChangeOp::update ? " ~"
                                                 : " -") +
              change.key.row;
      if (change.after.has_value())
        text += "=" + std::to_string(change.after->find("value")->int32());
    }
    for (const TableChange& change : batch.tables) {
      text += (change.created ? " create " : " drop ") + change.table->name.text();
    }
  }
}

// Returns the changes after `since` as text, or "truncated".
std::string history(Store& store, const TestHost& host, const FeedPosition& since) {
  ChangeHistory past(store, since);
  std::string text;
  for (const auto& [sequence, bytes] : host.segments) {
    const auto changes = past.read_segment(sequence, bytes);
    REQUIRE(changes.ok());
    append_text(*changes, text);
  }
  append_text(past.read_pending(), text);
  return past.is_truncated() ? "truncated" : text;
}

// After a commit that the present owner published, or found in the log.
std::string history(Store& store, const TestHost& host, std::uint64_t since) {
  return history(store, host, FeedPosition{store.position().epoch, since});
}

// Opens the store as its next owner does.
Store take_over(TestHost& host) {
  Store store = std::move(*host.open());
  host.claim(store);
  return store;
}

}  // namespace

TEST_CASE("the commits after a number are read from pending records and from segments") {
  TestHost host;
  Store store = new_store();
  publish_people(store);
  const std::string all = "1: create People; 2: +a=1; 3: +c=3 +b=2; 4: -a";
  CHECK(history(store, host, 0) == all);
  host.segment_bytes = 1;  // one commit each
  host.store_pending(store);
  CHECK(host.segments.size() == 4);
  publish(store, {upsert("people", "p", "b", 5)});
  CHECK(history(store, host, 0) == all + "; 5: ~b=5");
  CHECK(history(store, host, 3) == "4: -a; 5: ~b=5");
  CHECK(history(store, host, 5) == "");
  host.store_pending(store);
  Store reopened = std::move(*host.open());
  CHECK(history(reopened, host, 2) == "3: +c=3 +b=2; 4: -a; 5: ~b=5");
}

TEST_CASE("with a limit, reading stops early, and another object goes on") {
  TestHost host;
  Store store = new_store();
  publish_people(store);
  const auto texts = [&](const HistoryReadLimits& limits) {
    std::vector<std::string> all;
    FeedPosition at{store.position().epoch, 0};
    for (bool is_at_end = false; !is_at_end;) {
      ChangeHistory past(store, at, limits);
      std::string text;
      for (const auto& [sequence, bytes] : host.segments)
        append_text(*past.read_segment(sequence, bytes), text);
      append_text(past.read_pending(), text);
      REQUIRE_FALSE(past.is_truncated());
      CHECK((past.is_full() || past.is_at_end()));
      is_at_end = past.is_at_end();
      at = past.position();
      all.push_back(std::move(text));
    }
    return all;
  };
  using Texts = std::vector<std::string>;
  for (int stored = 0; stored < 2; ++stored) {
    CHECK(texts({3}) == Texts{"1: create People; 2: +a=1; 3: +c=3 +b=2", "4: -a"});
    CHECK(texts({2}) == Texts{"1: create People; 2: +a=1", "3: +c=3 +b=2; 4: -a"});
    CHECK(texts({100, 1}) == Texts{"1: create People; 2: +a=1", "3: +c=3 +b=2", "4: -a"});
    host.store_pending(store);
  }
}

TEST_CASE("segments that are not needed are not decoded") {
  TestHost host;
  Store store = new_store();
  publish_people(store);
  host.store_pending(store);
  ChangeHistory at_end(store, store.position());
  CHECK(at_end.read_segment(1, "no segment")->batches.empty());
  ChangeHistory full(store, FeedPosition{}, {1});
  const auto& [sequence, bytes] = *host.segments.begin();
  CHECK(full.read_segment(sequence, bytes)->batches.size() == 1);
  CHECK(full.read_segment(sequence + 1, "no segment")->batches.empty());
}

TEST_CASE("a staged commit is not read, even if its segment is stored") {
  TestHost host;
  Store store = new_store();
  publish_people(store);
  store.stage({upsert("people", "p", "b", 5)}, noon);
  CHECK(history(store, host, 3) == "4: -a");
  host.store_pending(store);
  CHECK(history(store, host, 3) == "4: -a");
  store.publish();
  CHECK(history(store, host, 3) == "4: -a; 5: ~b=5");
}

TEST_CASE("the history is truncated if segments are missing") {
  TestHost host;
  Store store = new_store();
  publish_people(store);
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  CHECK(history(store, host, 3) == "truncated");
  CHECK(history(store, host, 4) == "");
  publish(store, {upsert("people", "p", "b", 5)});
  CHECK(history(store, host, 3) == "truncated");
  CHECK(history(store, host, 4) == "5: ~b=5");
}

TEST_CASE("the history is truncated by a restore that replaced the content") {
  TestHost host;
  Store store = new_store();
  publish_people(store);
  host.store_pending(store);
  const std::string file = host.snapshot(store);
  Restore restore(store);
  REQUIRE(host.store_parts(restore, file).ok());
  REQUIRE(restore.finish_reading().ok());
  REQUIRE(restore.begin_replace(std::nullopt));
  host.write_checkpoint(store);
  CHECK(history(store, host, 4) == "truncated");
  CHECK(history(store, host, 5) == "");
  publish(store, {upsert("people", "p", "b", 5)});
  host.store_pending(store);
  CHECK(history(store, host, 4) == "truncated");
  CHECK(history(store, host, 5) == "6: ~b=5");
  Store reopened = std::move(*host.open());
  CHECK(history(reopened, host, 5) == "6: ~b=5");
}

TEST_CASE("the names of dropped tables are known") {
  TestHost host;
  Store store = new_store();
  publish_people(store);
  host.store_pending(store);
  publish(store, {drop("people"), create("people"), insert("people", "p", "x", 9)});
  CHECK(history(store, host, 3) == "4: -a; 5: drop People; 6: create people; 7: +x=9");
  CHECK(history(store, host, 4) == "5: drop People; 6: create people; 7: +x=9");
  host.store_pending(store);
  Store reopened = std::move(*host.open());
  CHECK(history(reopened, host, 3) == "4: -a; 5: drop People; 6: create people; 7: +x=9");
}

TEST_CASE("the manifest has the names of tables that its history still refers to") {
  TestHost host;
  Store store = new_store();
  publish_people(store);
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  REQUIRE(FeedReaders(store).add("all", store.position(), noon));
  publish(store, {upsert("people", "p", "b", 5), drop("people"), create("pets"), drop("pets")});
  host.store_pending(store);
  host.history = {1'000'000, 1000, noon};
  REQUIRE(host.checkpoint(store));
  CHECK(host.segments.size() == 1);
  Store reopened = std::move(*host.open());
  CHECK(history(reopened, host, 4) == "5: ~b=5; 6: drop People; 7: create pets; 8: drop pets");
}

TEST_CASE("the manifest has the names of tables to which only a later segment refers") {
  TestHost host;
  Store store = new_store();
  publish_people(store);
  host.store_pending(store);
  publish(store, {drop("people"), create("pets")});  // deferred
  REQUIRE(host.checkpoint(store));
  host.store_pending(store);
  REQUIRE(host.segments.size() == 1);
  CHECK(history(store, host, 4) == "5: drop People; 6: create pets");
  Store reopened = std::move(*host.open());
  CHECK(history(reopened, host, 4) == "5: drop People; 6: create pets");
  CHECK(history(reopened, host, 3) == "truncated");
  // The next checkpoint covers them.
  publish(reopened, {create("people")});
  host.store_pending(reopened);
  REQUIRE(host.checkpoint(reopened));
  const Result<Manifest> manifest = decode_manifest(*host.manifest);
  REQUIRE(manifest.ok());
  CHECK_FALSE(manifest->history.has_value());
  CHECK(reopened.first_kept_sequence() == reopened.first_live_sequence());
}

TEST_CASE(
    "a position that was lost in a crash is not continued, although its number is used again") {
  TestHost host;
  Store store = take_over(host);
  publish_people(store);
  host.store_pending(store);
  publish(store, {upsert("people", "p", "b", 5), upsert("people", "p", "b", 6)});  // deferred
  CHECK(store.position() == FeedPosition{2, 6});

  Store next = take_over(host);
  CHECK(next.position() == FeedPosition{3, 4});
  publish(next, {upsert("people", "p", "c", 7), upsert("people", "p", "c", 8),
                 upsert("people", "p", "c", 9)});
  CHECK(history(next, host, {2, 6}) == "truncated");
  CHECK(history(next, host, {2, 5}) == "truncated");
  CHECK(history(next, host, {2, 4}) == "5: ~c=7; 6: ~c=8; 7: ~c=9");
  CHECK(history(next, host, {2, 3}) == "4: -a; 5: ~c=7; 6: ~c=8; 7: ~c=9");
  CHECK(history(next, host, {3, 6}) == "7: ~c=9");
}

TEST_CASE("a reader whose position was lost continues at the first commit that it has not seen") {
  TestHost host;
  Store store = take_over(host);
  publish_people(store);
  host.store_pending(store);
  publish(store, {upsert("people", "p", "b", 5), upsert("people", "p", "b", 6)});  // deferred

  Store next = take_over(host);
  FeedReaders readers(next);
  REQUIRE(readers.add("r", {2, 6}, noon));
  CHECK(ChangeHistory(next, {2, 6}).first_known() == FeedPosition{3, 5});
  REQUIRE(readers.acknowledge("r", {3, 4}, noon));
  CHECK(readers.find("r")->acknowledged == FeedPosition{3, 4});
  publish(next, {upsert("people", "p", "c", 7)});
  CHECK(history(next, host, {3, 4}) == "5: ~c=7");
  host.store_pending(next);
  REQUIRE(host.checkpoint(next));  // without history
  CHECK(ChangeHistory(next, {2, 6}).first_known() == FeedPosition{3, 6});
}

TEST_CASE("a position is not continued if its owner stored nothing, not even its claim") {
  TestHost host;
  Store store = take_over(host);
  publish_people(store);
  host.store_pending(store);
  publish(store, {upsert("people", "p", "b", 4)});
  const FeedPosition lost_before = store.position();

  Store full = std::move(*host.open());  // there is no space left
  full.make_claim_segment();
  CHECK(history(full, host, full.position()) == "");
  CHECK(history(full, host, lost_before) == "truncated");
  publish(full, {upsert("people", "p", "b", 5)});  // deferred
  const FeedPosition lost = full.position();
  CHECK(history(full, host, lost_before) == "truncated");
  CHECK(lost > FeedPosition{2, 4});

  Store next = take_over(host);
  publish(next, {upsert("people", "p", "b", 6)});
  CHECK(history(next, host, lost) == "truncated");
  CHECK(history(next, host, lost_before) == "truncated");
  CHECK(history(next, host, {2, 4}) == "5: ~b=6");
  CHECK(history(next, host, next.position()) == "");
}

TEST_CASE("an owner whose claim was not stored continues the feed once it stores a commit") {
  TestHost host;
  Store store = take_over(host);
  publish_people(store);
  host.store_pending(store);
  Store full = std::move(*host.open());
  full.make_claim_segment();
  publish(full, {upsert("people", "p", "b", 5)});
  host.store_pending(full);
  CHECK(full.position() == FeedPosition{3, 5});
  CHECK(history(full, host, {2, 4}) == "5: ~b=5");
  CHECK(history(full, host, {3, 5}) == "");
  Store next = take_over(host);
  CHECK(history(next, host, {3, 5}) == "");
  CHECK(history(next, host, {3, 4}) == "5: ~b=5");
}

TEST_CASE("a claim that is made while a checkpoint is written is not in its manifest") {
  TestHost host;
  Store store = std::move(*host.open());
  publish_people(store);
  host.store_pending(store);
  REQUIRE(store.begin_checkpoint());
  host.claim(store);
  REQUIRE(host.write_checkpoint(store));
  CHECK(store.position() == FeedPosition{2, 4});
  Store reopened = std::move(*host.open());
  CHECK(reopened.damage().empty());
  CHECK(reopened.position() == FeedPosition{2, 4});
  CHECK(history(reopened, host, {1, 4}) == "");
  CHECK(history(reopened, host, {1, 5}) == "truncated");
}

TEST_CASE("a position is good if it was found by all owners since, also by those in the manifest") {
  TestHost host;
  Store store = take_over(host);
  publish_people(store);
  host.store_pending(store);
  publish(store, {upsert("people", "p", "b", 5)});  // lost
  for (int owner = 0; owner < 3; ++owner) {
    store = take_over(host);
    publish(store, {upsert("people", "p", "c", owner)});
    host.store_pending(store);
    publish(store, {upsert("people", "p", "c", 9)});  // lost
  }
  const std::string later = "5: ~c=0; 6: ~c=1; 7: ~c=2";
  const auto check = [&](Store& owner) {
    CHECK(history(owner, host, {2, 4}) == later);
    CHECK(history(owner, host, {2, 5}) == "truncated");
    CHECK(history(owner, host, {3, 5}) == "6: ~c=1; 7: ~c=2");
    CHECK(history(owner, host, {3, 6}) == "truncated");
    CHECK(history(owner, host, {5, 7}) == "");
    CHECK(history(owner, host, {5, 8}) == "truncated");
    CHECK(history(owner, host, {owner.position().epoch + 1, 7}) == "truncated");
  };
  store = take_over(host);
  check(store);
  // The manifest has the claims of the segments that it covers.
  REQUIRE(FeedReaders(store).add("all", {}, noon));
  host.history = {1'000'000, 1000, noon};
  REQUIRE(host.checkpoint(store));
  CHECK(store.first_live_sequence() > store.first_kept_sequence());
  check(store);
  Store reopened = std::move(*host.open());
  check(reopened);
}

TEST_CASE("positions of an epoch are known until too many owners have followed") {
  TestHost host;
  Store store = take_over(host);
  publish_people(store);
  host.store_pending(store);
  const auto write = [&](std::size_t value) {
    publish(store, {upsert("people", "p", "c", static_cast<std::int32_t>(value))});
    host.store_pending(store);
  };
  std::size_t owner = 0;
  for (; owner + 1 < ClaimHistory::claims_max; ++owner) {
    store = take_over(host);
    write(owner);
  }
  store = take_over(host);
  CHECK(history(store, host, {2, 4}).substr(0, 8) == "5: ~c=0;");
  CHECK(history(store, host, {1, 4}) == "truncated");
  CHECK(history(store, host, {0, 0}).substr(0, 16) == "1: create People");
  // Owners that store nothing do not count.
  for (int idle = 0; idle < 100; ++idle) store = take_over(host);
  CHECK(history(store, host, {2, 4}).substr(0, 8) == "5: ~c=0;");
  write(owner);
  store = take_over(host);
  CHECK(history(store, host, {2, 4}) == "truncated");
  CHECK(history(store, host, {3, 5}).substr(0, 8) == "6: ~c=1;");
}

TEST_CASE("positions of batches are not below the position that the reader has") {
  TestHost host;
  Store store = take_over(host);
  publish_people(store);
  host.store_pending(store);
  store = take_over(host);
  publish(store, {upsert("people", "p", "c", 7)});
  host.store_pending(store);
  REQUIRE(store.position() == FeedPosition{3, 5});
  // The reader continues with a position of a later epoch than that of the commits 3 and 4.
  for (const std::uint64_t epoch : {2U, 3U}) {
    ChangeHistory past(store, {epoch, 2});
    std::vector<FeedPosition> positions;
    for (const auto& [sequence, bytes] : host.segments) {
      const auto changes = past.read_segment(sequence, bytes);
      for (const ChangeBatch& batch : changes->batches) positions.push_back(batch.position);
    }
    CHECK(positions == std::vector<FeedPosition>{{epoch, 3}, {epoch, 4}, {3, 5}});
  }
}

TEST_CASE("a rollback makes the positions that it drops invalid") {
  const TestHost host;
  Store store = new_store();
  publish_people(store);
  const std::uint64_t kept = Versions(store).keep();
  publish(store, {upsert("people", "p", "b", 5)});
  const FeedPosition dropped = store.position();
  Versions(store).rollback(kept);
  publish(store, {upsert("people", "p", "b", 6), upsert("people", "p", "b", 7)});
  CHECK(history(store, host, dropped) == "truncated");
  CHECK(history(store, host, {dropped.epoch, 4}) == "5: ~b=6; 6: ~b=7");
}

TEST_CASE("a fork continues at the position where it was forked, and not at later ones") {
  TestHost host;
  Store store = take_over(host);
  publish_people(store);
  host.store_pending(store);
  store = take_over(host);
  const FeedPosition forked = store.position();
  Store fork = Versions(store).fork_store();
  CHECK(fork.position() > forked);
  CHECK(history(fork, host, forked) == "");
  publish(store, {upsert("people", "p", "b", 5)});
  publish(fork, {upsert("people", "p", "b", 6), upsert("people", "p", "b", 7)});
  const TestHost none;
  CHECK(history(fork, none, forked) == "5: ~b=6; 6: ~b=7");
  CHECK(history(fork, none, {forked.epoch, 3}) == "truncated");
  CHECK(history(fork, none, store.position()) == "truncated");
  CHECK(history(store, host, fork.position()) == "truncated");
  CHECK(history(store, host, forked) == "5: ~b=5");
}

TEST_CASE("commits without changes of rows or tables have no batch") {
  TestHost host;
  Store store = new_store();
  publish_people(store);
  publish(store, {WriteRequest{std::nullopt, WriteTableAcl{"people", {}}}});
  CHECK(history(store, host, 4) == "");
}

TEST_CASE("a reader can continue after a commit of a table whose name is not known") {
  TestHost host;
  Store store = new_store();
  publish_people(store);
  publish(store, {upsert("people", "p", "b", 5), upsert("people", "p", "b", 6)});
  host.store_pending(store);
  Commit commit;
  commit.number = 5;
  commit.mutations.push_back(DeleteRow{TableId{99}, EntityKey("p", "b")});
  ChangeHistory past(store, {1, 4});
  CHECK(past.read_segment(Segment{1, 1, {commit}}).batches.empty());
  CHECK(past.is_truncated());
  CHECK(past.first_known() == FeedPosition{1, 6});
}

TEST_CASE("a damaged segment is an error") {
  TestHost host;
  Store store = new_store();
  publish_people(store);
  host.store_pending(store);
  std::string bytes = host.segments.begin()->second;
  bytes[bytes.size() / 2] ^= 1;
  ChangeHistory past(store, FeedPosition{});
  const auto changes = past.read_segment(1, bytes);
  REQUIRE(!changes.ok());
  CHECK(changes.error().code == ErrorCode::corrupted);
}

}  // namespace entitable
