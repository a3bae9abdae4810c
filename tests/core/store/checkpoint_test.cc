#include "core/store/checkpoint.h"

#include "core/store/restore.h"
#include "core/store/snapshot_export.h"

#include "tests/support/prng.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;  // request helpers

std::string row_name(std::size_t number) {
  std::string digits = std::to_string(number);
  return std::string(6 - digits.size(), '0') + digits;
}

// Makes a row of about 2 kB, so that a few thousand rows fill several parts.
Operation large(std::size_t number, char fill) {
  Operation result = operation(OperationKind::insert_or_replace, "p", row_name(number),
                               static_cast<std::int32_t>(number));
  result.properties.push_back({"text", Value::of_string(std::string(2000, fill))});
  return result;
}

void load(Store& store, std::size_t rows) {
  publish(store, {create("big")});
  for (std::size_t first = 0; first < rows; first += 100) {
    std::vector<Operation> operations;
    for (std::size_t i = first; i < first + 100; ++i) operations.push_back(large(i, 'a'));
    publish(store, {group("big", std::move(operations))});
  }
}

}  // namespace

TEST_CASE("after a checkpoint the earlier segments are not needed") {
  Store store = new_store();
  TestHost host;
  load(store, 2000);
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  CHECK(host.segments.empty());
  CHECK(host.parts.size() >= 4);
  for (const auto& [id, bytes] : host.parts) CHECK(bytes.size() < 1'200'000);
  const auto reopened = host.open();
  REQUIRE(reopened.ok());
  CHECK(rows_of(*reopened, "big") == rows_of(store, "big"));
  CHECK(reopened->stats().segments_since_checkpoint == 0);
}

TEST_CASE("only parts with changes are written again") {
  Store store = new_store();
  TestHost host;
  load(store, 3000);
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  const auto before = host.parts;
  const bool reopen = GENERATE(false, true);
  if (reopen) store = std::move(*host.open());

  publish(store, {write("big", large(1500, 'b'))});
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  std::size_t kept = 0;
  for (const auto& [id, bytes] : host.parts) kept += before.count(id);
  CHECK(kept == before.size() - 1);
  CHECK(rows_of(*host.open(), "big") == rows_of(store, "big"));
}

TEST_CASE("deleted rows stay deleted after a checkpoint") {
  Store store = new_store();
  TestHost host;
  load(store, 2000);
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  for (std::size_t first = 600; first < 1400; first += 100) {
    std::vector<Operation> operations;
    for (std::size_t i = first; i < first + 100; ++i) {
      operations.push_back(operation(OperationKind::remove, "p", row_name(i)));
    }
    publish(store, {group("big", std::move(operations))});
  }
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  const auto reopened = host.open();
  REQUIRE(reopened.ok());
  CHECK(reopened->stats().rows == 1200);
  CHECK(rows_of(*reopened, "big") == rows_of(store, "big"));
}

TEST_CASE("a checkpoint never reuses part ids of an abandoned checkpoint") {
  Store store = new_store();
  TestHost host;
  load(store, 1500);
  host.store_pending(store);
  REQUIRE(store.begin_checkpoint());
  const PartId newest = host.next_part(store)->id;
  REQUIRE(newest > 0);
  CHECK(store.abandon_checkpoint() == std::vector<PartId>{newest});
  CHECK(store.abandon_checkpoint().empty());  // nothing to abandon
  REQUIRE(host.checkpoint(store));
  CHECK(host.parts.begin()->first == newest + 1);
  CHECK(rows_of(*host.open(), "big") == rows_of(store, "big"));
}

TEST_CASE("writes continue while a checkpoint is being written") {
  Store store = new_store();
  TestHost host;
  load(store, 1500);
  host.store_pending(store);
  REQUIRE(store.begin_checkpoint());
  std::size_t number = 0;
  while (auto part = host.next_part(store)) {
    host.parts[part->id] = std::move(part->bytes);
    publish(store, {write("big", large(number, 'z'))});
    number += 400;
    host.store_pending(store);
  }
  FinishedCheckpoint end = store.finish_checkpoint(no_history);
  host.manifest = std::move(end.manifest);
  host.segments.erase(host.segments.begin(), host.segments.lower_bound(end.first_live_sequence));
  store.mark_checkpoint_committed();
  CHECK(host.segments.size() == store.stats().segments_since_checkpoint);
  const auto reopened = host.open();
  REQUIRE(reopened.ok());
  CHECK(reopened->verify().empty());
  const auto changed = reopened->get("big", {"p", row_name(400)});
  CHECK(std::get<PinnedRow>(changed).row.find("text")->string()[0] == 'z');
  // Rows written meanwhile are dirty for the next checkpoint.
  const auto parts_before = host.parts;
  REQUIRE(host.checkpoint(store));
  CHECK(host.parts != parts_before);
  CHECK(rows_of(*host.open(), "big") == rows_of(store, "big"));
}

TEST_CASE("a crash at any file of a checkpoint leaves the store unchanged") {
  for (std::size_t stop = 0;; ++stop) {
    Store store = new_store();
    TestHost host;
    load(store, 1000);
    host.store_pending(store);
    REQUIRE(host.checkpoint(store));
    publish(store, {write("big", large(0, 'b')), write("big", large(999, 'b'))});
    host.store_pending(store);
    const bool finished = host.checkpoint(store, stop);
    const auto reopened = host.open();
    REQUIRE(reopened.ok());
    REQUIRE(reopened->damage().empty());
    CHECK(rows_of(*reopened, "big") == rows_of(store, "big"));
    if (finished) break;
    store.abandon_checkpoint();
    REQUIRE(host.checkpoint(store));  // the checkpoint can be repeated
    CHECK(rows_of(*host.open(), "big") == rows_of(store, "big"));
  }
}

TEST_CASE("a checkpoint covers deferred writes that no segment holds yet") {
  Store store = new_store();
  TestHost host;
  publish(store, {create("people"), insert("people", "p", "a", 1)});
  REQUIRE(host.checkpoint(store));
  publish(store, {upsert("people", "p", "a", 2)});
  host.store_pending(store);  // holds all three commits, two of them covered
  CHECK(rows_of(*host.open(), "people") == "a=2");
}

TEST_CASE("without changes there is nothing to checkpoint") {
  Store store = new_store();
  TestHost host;
  CHECK_FALSE(store.begin_checkpoint());
  publish(store, {create("people")});
  REQUIRE(host.checkpoint(store));
  CHECK_FALSE(store.begin_checkpoint());
}

TEST_CASE("dropping a table makes its parts obsolete") {
  Store store = new_store();
  TestHost host;
  load(store, 1000);
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  REQUIRE_FALSE(host.parts.empty());
  publish(store, {drop("big")});
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  CHECK(host.parts.empty());
  CHECK(host.open()->stats().tables.empty());
}

TEST_CASE("parts of an abandoned checkpoint are used further on") {
  Store store = new_store();
  TestHost host;
  load(store, 1500);
  host.store_pending(store);
  const std::string before = rows_of(store, "big");
  REQUIRE(store.begin_checkpoint());
  for (int i = 0; i < 3; ++i) {
    std::optional<CheckpointPart> part = host.next_part(store);
    REQUIRE(part.has_value());
    host.parts[part->id] = std::move(part->bytes);
  }
  for (const PartId id : store.abandon_checkpoint()) host.parts.erase(id);
  REQUIRE(host.parts.size() == 2);
  const auto kept = host.parts;
  store.set_memory_limit(1);
  store.enforce_memory_limit();  // unloads rows of parts that no manifest lists
  const auto first = store.get("big", {"p", row_name(0)});
  REQUIRE(std::holds_alternative<PartsNeeded>(first));
  CHECK(rows_of(*host.open(), "big") == before);  // a crash here loses nothing
  REQUIRE(host.checkpoint(store));
  for (const auto& [id, bytes] : kept) CHECK(host.parts.count(id) == 1);
  CHECK(rows_of(*host.open(), "big") == before);
}

// Finishes a checkpoint, unloading all rows that may be unloaded after each part. `after_part` is
// called after each part, too.
template <typename AfterPart>
void finish_unloading(TestHost& host, Store& store, AfterPart after_part) {
  while (std::optional<CheckpointPart> part = host.next_part(store)) {
    host.parts[part->id] = std::move(part->bytes);
    store.mark_checkpoint_part_stored();
    store.enforce_memory_limit();
    after_part();
  }
  host.commit_checkpoint(store);
  store.enforce_memory_limit();
}

// Returns the first letter of a row's text.
char fill_of(TestHost& host, Store& store, std::size_t number) {
  const EntityKey key("p", row_name(number));
  const auto found = host.with_parts(store, [&] {
    REQUIRE(store.damage().empty());  // with a missing part this would never end
    return store.get("big", key.view());
  });
  REQUIRE(std::holds_alternative<PinnedRow>(found));
  return std::get<PinnedRow>(found).row.find("text")->string().front();
}

TEST_CASE("after a checkpoint no rows refer to a part that it replaced") {
  const std::uint64_t part_bytes = GENERATE(std::uint64_t{20'000}, part_bytes_target);
  const bool read = GENERATE(true, false);
  Store store = new_store();
  TestHost host;
  load(store, 1000);
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  store.set_memory_limit(1);
  store.set_part_bytes(part_bytes);
  store.enforce_memory_limit();
  const auto put = [&](std::size_t number, char fill) {
    host.stage_and_publish(store, write("big", large(number, fill)), noon);
    host.store_pending(store);
  };
  put(500, 'b');  // in the overlay of an unloaded part, which the checkpoint pins
  REQUIRE(store.begin_checkpoint());
  put(501, 'c');  // the published version now has an overlay, and rows, of its own
  if (read) CHECK(fill_of(host, store, 501) == 'c');
  finish_unloading(host, store, [&] {
    if (read) CHECK(fill_of(host, store, 499) == 'a');
  });
  for (std::size_t i = 0; i < 1000; ++i) {
    INFO("row " << i);
    REQUIRE(fill_of(host, store, i) == (i == 500 ? 'b' : i == 501 ? 'c' : 'a'));
  }
  CHECK(store.damage().empty());
  CHECK(store.verify().empty());
}

TEST_CASE("a part that a new row divided when the checkpoint began does not become whole again") {
  const bool overlay = GENERATE(true, false);
  const std::size_t divided = GENERATE(range<std::size_t>(20, 44));
  Store store = new_store();
  TestHost host;
  load(store, 100);
  store.set_part_bytes(20'000);
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  store.set_memory_limit(1);
  store.enforce_memory_limit();
  if (overlay) {
    for (std::size_t i = 0; i < 100; i += 5) {
      host.stage_and_publish(store, write("big", large(i, 'b')), noon);
    }
  }
  store.set_memory_limit(0);
  for (std::size_t i = 0; i < 100; ++i) CHECK(fill_of(host, store, i) != 0);
  Operation between = large(divided, 'x');
  between.key.row += "x";  // after a row; sometimes between two leaves, which stay as they are
  host.stage_and_publish(store, write("big", large(0, 'b')), noon);
  host.stage_and_publish(store, write("big", between), noon);
  host.store_pending(store);
  REQUIRE(store.begin_checkpoint());
  between.kind = OperationKind::remove;
  between.properties.clear();
  between.if_match = IfMatch::any();
  host.stage_and_publish(store, write("big", between), noon);
  host.store_pending(store);
  store.set_memory_limit(1);
  finish_unloading(host, store, [] {});
  for (int round = 0; round < 2; ++round) {  // the second checkpoint deletes what the first left
    for (std::size_t i = 0; i < 100; ++i) {
      INFO("divided after row " << divided << ", row " << i);
      REQUIRE(fill_of(host, store, i) == (i == 0 || (overlay && i % 5 == 0) ? 'b' : 'a'));
    }
    host.stage_and_publish(store, write("big", large(0, 'b')), noon);
    host.store_pending(store);
    REQUIRE(host.checkpoint(store));
    store.enforce_memory_limit();
  }
  CHECK(store.verify().empty());
}

TEST_CASE("a snapshot keeps the parts that a checkpoint replaces") {
  Store store = new_store();
  TestHost host;
  load(store, 1000);
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  store.set_memory_limit(1);
  store.enforce_memory_limit();
  const std::string before = rows_of(*host.open(), "big");
  std::optional<SnapshotExport> exported(std::in_place, store);
  host.stage(store, {write("big", large(500, 'b'))}, noon);
  host.store_pending(store);
  store.publish();
  const auto replaced = host.parts;
  REQUIRE(host.checkpoint(store));
  for (const auto& [id, bytes] : replaced) CHECK(host.parts.count(id) == 1);
  store.enforce_memory_limit();
  std::string file;
  while (true) {
    const auto chunk = host.with_parts(store, [&] { return exported->next_chunk(); });
    if (std::holds_alternative<SnapshotComplete>(chunk)) break;
    file += std::get<std::string>(chunk);
    store.enforce_memory_limit();
    CHECK(store.stats().memory_bytes < 1'000'000);
  }
  exported.reset();
  Store copy = new_store();
  Restore restore(copy);
  TestHost other;
  REQUIRE(other.store_parts(restore, file).ok());
  REQUIRE(restore.finish_reading().ok());
  REQUIRE(restore.begin_replace(std::nullopt));
  REQUIRE(other.write_checkpoint(copy));
  CHECK(rows_of(copy, "big") == before);
  host.stage(store, {write("big", large(1, 'c'))}, noon);
  host.store_pending(store);
  store.publish();
  REQUIRE(host.checkpoint(store));
  CHECK(host.parts.size() == replaced.size());  // the next checkpoint removes the replaced parts
}

}  // namespace entitable
