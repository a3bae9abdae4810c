#include "core/store/checkpoint.h"

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
  REQUIRE(std::get<bool>(store.begin_checkpoint()));
  PartId newest = 0;
  while (auto part = store.next_checkpoint_part()) newest = std::max(newest, part->id);
  REQUIRE(newest > 0);
  store.abandon_checkpoint();
  store.abandon_checkpoint();  // nothing to abandon
  REQUIRE(host.checkpoint(store));
  CHECK(host.parts.begin()->first == newest + 1);
  CHECK(rows_of(*host.open(), "big") == rows_of(store, "big"));
}

TEST_CASE("writes continue while a checkpoint is being written") {
  Store store = new_store();
  TestHost host;
  load(store, 1500);
  host.store_pending(store);
  REQUIRE(std::get<bool>(store.begin_checkpoint()));
  std::size_t number = 0;
  while (auto part = store.next_checkpoint_part()) {
    host.parts[part->id] = std::move(part->bytes);
    publish(store, {write("big", large(number, 'z'))});
    number += 400;
    host.store_pending(store);
  }
  CheckpointEnd end = store.finish_checkpoint();
  host.manifest = std::move(end.manifest);
  host.segments.erase(host.segments.begin(), host.segments.lower_bound(end.first_live_sequence));
  store.mark_checkpoint_committed();
  CHECK(host.segments.size() == store.stats().segments_since_checkpoint);
  const auto reopened = host.open();
  REQUIRE(reopened.ok());
  CHECK(reopened->verify().empty());
  const auto changed = reopened->get("big", {"p", row_name(400)});
  CHECK(std::get<RowResult>(changed).row.find("text")->string()[0] == 'z');
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
  CHECK_FALSE(std::get<bool>(store.begin_checkpoint()));
  publish(store, {create("people")});
  REQUIRE(host.checkpoint(store));
  CHECK_FALSE(std::get<bool>(store.begin_checkpoint()));
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

}  // namespace entitable
