// A store that is larger than its memory.
#include "core/store/residency.h"

#include "tests/support/disk.h"
#include "tests/support/store_verbs.h"

namespace entitable {
namespace {

using namespace test;  // the verbs

constexpr int rows = 400;

EntityKey key(int i) {
  return EntityKey("p", std::to_string(10'000 + i));
}

WriteRequest put_large(int i) {
  Operation put = operation(OperationKind::insert_or_replace, "p", key(i).row, i);
  put.properties.push_back({"text", Value::of_string(std::string(10'000, 'x'))});
  return write("big", std::move(put));
}

// About 4 MB in 5 parts, all in memory.
Store filled(Disk& disk) {
  Store store = new_store();
  publish(store, {create("big")});
  for (int i = 0; i < rows; ++i) publish(store, {put_large(i)});
  disk.store_pending(store);
  REQUIRE(disk.checkpoint(store));
  return store;
}

bool is_absent(const Store& store, int row) {
  return std::holds_alternative<NeedParts>(store.get("big", key(row).view()));
}

}  // namespace

TEST_CASE("without a limit, or below it, nothing is dropped") {
  Disk disk;
  Store store = filled(disk);
  const std::uint64_t memory = store.stats().memory_bytes;
  store.trim();
  CHECK(store.stats().memory_bytes == memory);
  store.limit_memory(memory);
  store.trim();
  CHECK(store.stats().memory_bytes == memory);
}

TEST_CASE("above the limit parts are dropped until memory is well below it") {
  Disk disk;
  Store store = filled(disk);
  store.limit_memory(store.stats().memory_bytes - 1);
  const std::uint64_t limit = store.stats().memory_bytes - 1;
  store.trim();
  CHECK(store.stats().memory_bytes <= limit / 8 * 7);
  CHECK(store.stats().memory_bytes > limit / 2);
  CHECK(store.stats().rows == rows);
  CHECK(store.verify().empty());
  store.limit_memory(1);
  store.trim();
  CHECK(store.stats().memory_bytes < 20'000);
  CHECK(store.verify().empty());
  Query query;
  query.top = 1000;
  const auto all = disk.with_parts(store, [&] { return store.query("big", query); });
  CHECK(std::get<Page>(all).rows.size() > 50);
}

TEST_CASE("parts that were used since are kept before others") {
  Disk disk;
  Store store = filled(disk);
  const std::uint64_t memory = store.stats().memory_bytes;
  store.limit_memory(1);
  store.trim();  // and all is forgotten
  for (const auto& [id, bytes] : disk.parts) REQUIRE(store.load_part(id, bytes).ok());
  CHECK_FALSE(is_absent(store, 0));
  CHECK_FALSE(is_absent(store, rows - 1));
  store.limit_memory(memory * 6 / 10);
  store.trim();
  CHECK_FALSE(is_absent(store, 0));
  CHECK_FALSE(is_absent(store, rows - 1));
  CHECK(is_absent(store, rows / 2));
}

TEST_CASE("what has changed since the checkpoint stays") {
  Disk disk;
  Store store = filled(disk);
  publish(store, {put_large(200)});
  store.limit_memory(1);
  store.trim();
  CHECK(is_absent(store, 0));
  CHECK_FALSE(is_absent(store, 200));
  CHECK(store.verify().empty());
  disk.store_pending(store);
  REQUIRE(disk.checkpoint(store));
  store.trim();
  CHECK(is_absent(store, 200));
}

TEST_CASE("what a checkpoint would write is what changed, and the rest of its parts") {
  Disk disk;
  Store store = new_store();
  CHECK(store.checkpoint_bytes() == 0);
  publish(store, {create("big")});
  for (int i = 0; i < rows; ++i) publish(store, {put_large(i)});
  const std::uint64_t all = store.stats().bytes;
  CHECK(store.checkpoint_bytes() == all);
  disk.store_pending(store);
  REQUIRE(disk.checkpoint(store));
  CHECK(store.checkpoint_bytes() == 0);
  publish(store, {put_large(200)});
  CHECK(store.checkpoint_bytes() > part_bytes_target / 2);
  CHECK(store.checkpoint_bytes() < part_bytes_target / 10 * 11);
  store.limit_memory(1);
  store.trim();
  CHECK(store.checkpoint_bytes() < part_bytes_target / 10 * 11);
  disk.store_pending(store);
  REQUIRE(disk.checkpoint(store));
  CHECK(store.checkpoint_bytes() == 0);
}

TEST_CASE("a part that became empty is found also when its whole table is") {
  Disk disk;
  { const Store store = filled(disk); }
  const auto bring = [&disk](Store& store, int row) {
    const auto answer = store.get("big", key(row).view());
    if (const auto* need = std::get_if<NeedParts>(&answer)) disk.load_parts(store, need->ids);
    CHECK_FALSE(is_absent(store, row));
  };
  const auto erase = [&](Store& store, int from, int to) {
    for (int i = from; i < to; ++i) {
      bring(store, i);
      publish(store, {write("big", operation(OperationKind::remove, "p", key(i).row, 0))});
    }
    disk.store_pending(store);
    REQUIRE(disk.checkpoint(store));
    CHECK(store.verify().empty());
  };
  int first = 0;  // of the last part
  {
    Store store = std::move(*disk.open(Disk::Load::what_is_needed));
    bring(store, rows - 1);
    while (is_absent(store, first)) ++first;
    REQUIRE(first > 0);
    erase(store, first, rows);
  }
  Store store = std::move(*disk.open(Disk::Load::what_is_needed));
  erase(store, 0, first);
  REQUIRE(is_absent(store, rows - 1));
  bring(store, rows - 1);
  CHECK(store.stats().rows == 0);
}

TEST_CASE("a leaf that was split off behind a new row is found again") {
  Disk disk;
  Store store = new_store();
  publish(store, {create("big")});
  for (const int i : {200, 201}) publish(store, {put_large(i)});
  disk.store_pending(store);
  REQUIRE(disk.checkpoint(store));
  publish(store, {put_large(100)});
  store.limit_memory(1);
  store.trim();
  REQUIRE(is_absent(store, 200));
  disk.load_parts(store, std::get<NeedParts>(store.get("big", key(200).view())).ids);
  CHECK_FALSE(is_absent(store, 200));
  CHECK(store.verify().empty());
}

TEST_CASE("a part is not dropped when a new row has taken the place of one that the log erased") {
  Disk disk;
  {
    Store store = new_store();
    publish(store, {create("big")});
    for (const int i : {200, 201, 202}) publish(store, {put_large(i)});
    disk.store_pending(store);
    REQUIRE(disk.checkpoint(store));
    publish(store, {write("big", operation(OperationKind::remove, "p", key(200).row, 0))});
    disk.store_pending(store);
  }
  Store store = std::move(*disk.open(Disk::Load::what_is_needed));
  disk.load_parts(store, std::get<NeedParts>(store.get("big", key(201).view())).ids);
  publish(store, {put_large(200)});
  store.limit_memory(1);
  store.trim();
  CHECK(store.verify().empty());
  for (const int i : {200, 201, 202}) CHECK_FALSE(is_absent(store, i));
  CHECK(store.stats().rows == 3);
}

TEST_CASE("nothing is dropped while another version is held") {
  Disk disk;
  Store store = filled(disk);
  store.limit_memory(1);
  SECTION("a candidate") {
    store.stage({put_large(0)}, noon);
    store.trim();
    CHECK_FALSE(is_absent(store, 300));
    store.discard();
  }
  SECTION("a checkpoint") {
    publish(store, {put_large(0)});
    REQUIRE(std::get<bool>(store.begin_checkpoint()));
    store.trim();
    CHECK_FALSE(is_absent(store, 300));
    store.abandon_checkpoint();
  }
  SECTION("a snapshot") {
    store.begin_snapshot();
    store.trim();
    CHECK_FALSE(is_absent(store, 300));
    store.end_snapshot();
  }
  store.trim();
  CHECK(is_absent(store, 300));
}

TEST_CASE("a page ends where rows are absent once memory is full, and pages give everything") {
  Disk disk;
  Store store = filled(disk);
  store.limit_memory(1'200'000);
  store.trim();
  Query query;
  query.filter = *parse_filter("value ge 0");
  query.top = 1000;
  int pages = 0;
  std::int32_t next = 0;
  do {
    auto answer = store.query("big", query);
    while (const auto* need = std::get_if<NeedParts>(&answer)) {
      disk.load_parts(store, {need->ids.front()});
      answer = store.query("big", query);
    }
    const Page& page = std::get<Page>(answer);
    for (const RowView& row : page.rows) CHECK(row.find("value")->int32() == next++);
    query.from = page.next;
    ++pages;
    store.trim();
    CHECK(store.stats().memory_bytes < 3'000'000);
  } while (query.from.has_value());
  CHECK(next == rows);
  CHECK(pages > 2);
}

}  // namespace entitable
