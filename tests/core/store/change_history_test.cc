// Tests reading changes back from the log.
#include "core/store/change_history.h"

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

// Returns for example "3: ~c=3 -a; 4: create people".
void append_text(const PastChanges& changes, std::string& text) {
  for (const ChangeBatch& batch : changes.batches) {
    text += (text.empty() ? "" : "; ") + std::to_string(batch.sequence) + ":";
    for (const RowChange& change : batch.rows) {
      REQUIRE(change.table->name.folded() == "people");
      REQUIRE(change.exists_after == change.after.has_value());
      text += (change.op() == ChangeOp::update ? " ~" : " -") + change.key.row;
      if (change.after.has_value())
        text += "=" + std::to_string(change.after->find("value")->int32());
    }
    for (const TableChange& change : batch.tables) {
      text += (change.created ? " create " : " drop ") + change.table->name.text();
    }
  }
}

// Returns the changes after `since` as text, or "truncated".
std::string history(Store& store, const TestHost& host, std::uint64_t since) {
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

}  // namespace

TEST_CASE("the commits after a number are read from pending records and from segments") {
  TestHost host;
  Store store = new_store();
  publish_people(store);
  const std::string all = "1: create People; 2: ~a=1; 3: ~c=3 ~b=2; 4: -a";
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
  CHECK(history(reopened, host, 2) == "3: ~c=3 ~b=2; 4: -a; 5: ~b=5");
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

TEST_CASE("a dropped table is known if the log has the commit that created it") {
  TestHost host;
  Store store = new_store();
  publish_people(store);
  host.store_pending(store);
  publish(store, {drop("people"), create("people"), insert("people", "p", "x", 9)});
  CHECK(history(store, host, 3) == "4: -a; 5: drop People; 6: create people; 7: ~x=9");
  const TestHost no_segments;
  CHECK(history(store, no_segments, 4) == "truncated");
  CHECK(history(store, no_segments, 5) == "6: create people; 7: ~x=9");
}

TEST_CASE("commits without changes of rows or tables have no batch") {
  TestHost host;
  Store store = new_store();
  publish_people(store);
  publish(store, {WriteRequest{std::nullopt, WriteTableAcl{"people", {}}}});
  CHECK(history(store, host, 4) == "");
}

TEST_CASE("a damaged segment is an error") {
  TestHost host;
  Store store = new_store();
  publish_people(store);
  host.store_pending(store);
  std::string bytes = host.segments.begin()->second;
  bytes[bytes.size() / 2] ^= 1;
  ChangeHistory past(store, 0);
  const auto changes = past.read_segment(1, bytes);
  REQUIRE(!changes.ok());
  CHECK(changes.error().code == ErrorCode::corrupted);
}

}  // namespace entitable
