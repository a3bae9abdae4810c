// Parts on demand: what is not asked for stays on disk, and what is, is there in the next call.
#include "core/store/stored_part.h"

#include <set>

#include "tests/support/disk.h"
#include "tests/support/log_files.h"
#include "tests/support/store_verbs.h"

namespace entitable {
namespace {

using namespace test;  // the verbs

constexpr int rows = 400;

std::string row_name(int i) {
  return std::to_string(10'000 + i);
}

WriteRequest put_large(int i, char fill = 'x') {
  Operation put = operation(OperationKind::insert_or_replace, "p", row_name(i), i);
  put.properties.push_back({"text", Value::of_string(std::string(10'000, fill))});
  return write("big", std::move(put));
}

// About 4 MB in 5 parts, and a small table.
Disk large_disk() {
  Disk disk;
  Store store = new_store();
  publish(store, {create("big"), create("small"), insert("small", "p", "a", 1)});
  for (int i = 0; i < rows; ++i) publish(store, {put_large(i)});
  disk.store_pending(store);
  REQUIRE(disk.checkpoint(store));
  REQUIRE(disk.parts.size() >= 5);
  return disk;
}

Store all_of(const Disk& disk) {
  return std::move(*disk.open());
}

Store opened(const Disk& disk) {
  auto store = disk.open(Disk::Load::what_is_needed);
  REQUIRE(store.ok());
  REQUIRE_FALSE(store->read_only());
  return std::move(*store);
}

std::set<PartId> parts_needed_by(const Disk& disk, Store& store, const Query& query) {
  std::set<PartId> ids;
  for (;;) {
    const auto answer = store.query("big", query);
    const auto* need = std::get_if<NeedParts>(&answer);
    if (need == nullptr) return ids;
    ids.insert(need->ids.front());
    REQUIRE(disk.load_part(store, need->ids.front()).ok());
  }
}

bool needs_parts(Store& store, int row) {
  return std::holds_alternative<NeedParts>(store.get("big", {"p", row_name(row)}));
}

std::string text_of(const Disk& disk, Store& store, int row) {
  const auto answer = disk.with_parts(store, [&] {
    return store.get("big", {"p", row_name(row)});
  });
  const auto* found = std::get_if<RowAnswer>(&answer);
  if (found == nullptr) return "none";
  const auto text = found->row.find("text");
  return text.has_value() ? std::string(text->string()) : "";
}

// The large disk, and segments that change a row of the first part, take one from it, and add one
// behind the last; and that make the small table anew.
Disk disk_with_log() {
  Disk disk = large_disk();
  Store store = all_of(disk);
  publish(store, {put_large(7, 'y'), test::remove("big", "p", row_name(8)), put_large(rows)});
  publish(store, {drop("small"), create("small"), insert("small", "p", "b", 2)});
  disk.store_pending(store);
  return disk;
}

void check_logged(const Disk& disk, Store& store) {
  CHECK(text_of(disk, store, 6) == std::string(10'000, 'x'));
  CHECK(text_of(disk, store, 7) == std::string(10'000, 'y'));
  CHECK(text_of(disk, store, 8) == "none");
  CHECK(text_of(disk, store, 200) == std::string(10'000, 'x'));
  CHECK(text_of(disk, store, rows) == std::string(10'000, 'x'));
}

}  // namespace

TEST_CASE("a store opens without its parts, and a row needs one of them") {
  const Disk disk = large_disk();
  Store store = opened(disk);
  CHECK(store.stats().rows == rows + 1);
  CHECK(store.stats().memory_bytes < 20'000);
  CHECK(store.verify().empty());
  const auto answer = store.get("big", {"p", row_name(200)});
  REQUIRE(std::holds_alternative<NeedParts>(answer));
  const std::vector<PartId> ids = std::get<NeedParts>(answer).ids;
  REQUIRE(ids.size() == 1);
  disk.load_parts(store, ids);
  const auto again = store.get("big", {"p", row_name(200)});
  REQUIRE(std::holds_alternative<RowAnswer>(again));
  CHECK(store.stats().memory_bytes < 1'200'000);
  CHECK(store.stats().rows == rows + 1);
  CHECK(store.verify().empty());
}

TEST_CASE("a part that is loaded already, or is in no manifest, is ignored") {
  const Disk disk = large_disk();
  Store store = opened(disk);
  for (int times = 0; times < 2; ++times) {
    for (const auto& [id, bytes] : disk.parts) REQUIRE(store.load_part(id, bytes).ok());
  }
  CHECK(store.load_part(disk.parts.begin()->first, std::nullopt).ok());
  CHECK(store.load_part(4711, std::nullopt).ok());
  CHECK_FALSE(store.read_only());
  CHECK(store.verify().empty());
  CHECK(store.stats().rows == rows + 1);
}

TEST_CASE("replaying needs no part, and what the segments change is there with its part") {
  const Disk disk = disk_with_log();
  Store store = opened(disk);
  CHECK(store.stats().memory_bytes < 100'000);
  CHECK(needs_parts(store, 7));
  CHECK(needs_parts(store, rows));
  CHECK(rows_of(store, "small") == "b=2");
  check_logged(disk, store);
  CHECK(store.verify().empty());
}

TEST_CASE("rows that segments changed are counted when their parts have been looked at") {
  const Disk disk = disk_with_log();
  Store store = opened(disk);
  const std::vector<PartId> uncounted = store.uncounted_parts();
  CHECK(uncounted.size() == 2);
  disk.load_parts(store, {uncounted[0]});
  CHECK(store.uncounted_parts() == std::vector<PartId>{uncounted[1]});
  disk.load_parts(store, {uncounted[1]});
  CHECK(store.uncounted_parts().empty());
  CHECK(store.stats().rows == rows + 1);
  CHECK(store.stats().bytes == all_of(disk).stats().bytes);
  store.limit_memory(1);
  store.trim();
  CHECK(needs_parts(store, 7));
  CHECK(store.stats().rows == rows + 1);
  CHECK(store.uncounted_parts().empty());
  check_logged(disk, store);
}

TEST_CASE("a checkpoint needs the parts that segments changed, and writes no others") {
  Disk disk = disk_with_log();
  const auto before = disk.parts;
  Store store = opened(disk);
  CHECK(store.checkpoint_bytes() > part_bytes_target);
  const auto need = store.begin_checkpoint();
  REQUIRE(std::holds_alternative<NeedParts>(need));
  CHECK(std::get<NeedParts>(need).ids == store.uncounted_parts());
  SECTION("after opening") {}
  SECTION("when they were loaded and dropped") {
    disk.load_parts(store, store.uncounted_parts());
    store.limit_memory(1);
    store.trim();
    CHECK(std::holds_alternative<NeedParts>(store.begin_checkpoint()));
  }
  REQUIRE(disk.checkpoint(store));
  std::size_t kept = 0;
  for (const auto& [id, bytes] : before) kept += disk.parts.count(id);
  CHECK(kept == before.size() - 2 - 1);  // that of the small table went with it
  CHECK(disk.segments.empty());
  CHECK(store.checkpoint_bytes() == 0);
  check_logged(disk, store);
  Store again = opened(disk);
  CHECK(again.uncounted_parts().empty());
  CHECK(again.stats().rows == rows + 1);
  check_logged(disk, again);
}

TEST_CASE("rows may be changed whose part segments have changed") {
  Disk disk = disk_with_log();
  {
    Store store = opened(disk);
    const Staged staged = disk.stage(store,
                                     {insert("big", "p", row_name(8), -8), put_large(7, 'z'),
                                      test::remove("big", "p", row_name(9))},
                                     noon);
    for (const WriteAnswer& answer : staged.answers) CHECK(succeeded(answer));
    store.publish();
    CHECK(code_of(disk.stage(store, {insert("big", "p", row_name(rows))}, noon).answers[0]) ==
          Code::entity_already_exists);
    disk.store_pending(store);
    CHECK(text_of(disk, store, 7) == std::string(10'000, 'z'));
  }
  Store store = opened(disk);
  CHECK(text_of(disk, store, 7) == std::string(10'000, 'z'));
  CHECK(text_of(disk, store, 8).empty());
  CHECK(text_of(disk, store, 9) == "none");
  CHECK(store.verify().empty());
}

TEST_CASE("a snapshot counts the rows that segments changed") {
  const Disk disk = disk_with_log();
  Store store = opened(disk);
  Store whole = all_of(disk);
  CHECK((disk.snapshot(store) == disk.snapshot(whole)));
}

TEST_CASE("a table that is dropped takes along what waits for its parts") {
  Disk disk = disk_with_log();
  SECTION("in memory") {
    Store store = opened(disk);
    store.begin_snapshot();  // of what was
    publish(store, {drop("big")});
    CHECK(store.uncounted_parts().empty());
    const auto first = store.next_snapshot_piece();
    CHECK(std::get<NeedParts>(first).ids.size() == 2);
    store.end_snapshot();
    disk.store_pending(store);
    REQUIRE(disk.checkpoint(store));
    CHECK(disk.parts.size() == 1);
  }
  SECTION("in the log") {
    {
      Store store = opened(disk);
      publish(store, {drop("big")});
      disk.store_pending(store);
    }
    Store store = opened(disk);
    CHECK(store.uncounted_parts().empty());
    CHECK(store.stats().rows == 1);
    REQUIRE(disk.checkpoint(store));
    CHECK(disk.parts.size() == 1);
  }
}

TEST_CASE("of a damaged part what segments put there is left") {
  Disk disk = disk_with_log();
  Store store = opened(disk);
  const PartId id = std::get<NeedParts>(store.get("big", {"p", row_name(7)})).ids.front();
  disk.parts.erase(id);
  disk.load_parts(store, {id});
  CHECK(store.read_only());
  CHECK(store.damage()[0].file == part_name(id));
  CHECK(text_of(disk, store, 7) == std::string(10'000, 'y'));
  CHECK(text_of(disk, store, 6) == "none");
  CHECK(store.verify().empty());
}

TEST_CASE("commits that the manifest covers need no part when they are met again") {
  Disk disk = large_disk();
  const std::uint64_t sequence = [&] {
    Store store = all_of(disk);
    publish(store, {put_large(7, 'y')});
    // The segment arrives after the checkpoint has begun, which covers what is in it.
    auto segment = store.seal();
    REQUIRE(disk.checkpoint(store));
    disk.segments[segment->sequence] = segment->bytes;
    return segment->sequence;
  }();
  Store store = opened(disk);
  CHECK(store.stats().next_sequence == sequence + 1);
  CHECK(needs_parts(store, 7));
}

TEST_CASE("a write needs the parts of all its keys, in one answer") {
  const Disk disk = large_disk();
  Store store = opened(disk);
  const std::vector<WriteRequest> requests = {put_large(0, 'y'), insert("small", "p", "b", 2),
                                              put_large(200, 'y'), put_large(rows - 1, 'y'),
                                              put_large(201, 'y')};
  const Staged staged = store.stage(requests, noon);
  CHECK(staged.answers.empty());
  CHECK_FALSE(staged.changes);
  CHECK(staged.need_parts.size() == 4);
  CHECK(std::holds_alternative<NeedParts>(store.get("small", {"p", "a"})));
  disk.load_parts(store, staged.need_parts);
  publish(store, requests);
  CHECK(store.stats().rows == rows + 2);
  CHECK(store.verify().empty());
}

TEST_CASE("a part that is loaded while a candidate waits is there after its publication") {
  const Disk disk = large_disk();
  Store store = opened(disk);
  const Staged staged = disk.stage(store, {put_large(0, 'y')}, noon);
  REQUIRE(staged.changes);
  disk.load_parts(store, {std::get<NeedParts>(store.get("big", {"p", row_name(300)})).ids});
  CHECK_FALSE(needs_parts(store, 300));
  SECTION("published") {
    store.publish();
  }
  SECTION("discarded") {
    store.discard();
  }
  CHECK_FALSE(needs_parts(store, 300));
  CHECK(store.verify().empty());
}

TEST_CASE("a checkpoint keeps parts that are absent") {
  Disk disk = large_disk();
  const auto before = disk.parts;
  Store store = opened(disk);
  disk.stage(store, {put_large(0, 'y')}, noon);
  store.publish();
  disk.store_pending(store);
  REQUIRE(disk.checkpoint(store));
  std::size_t kept = 0;
  for (const auto& [id, bytes] : before) kept += disk.parts.count(id);
  CHECK(kept == before.size() - 1);
  CHECK(needs_parts(store, 300));
  Store again = opened(disk);
  CHECK(again.stats().rows == rows + 1);
  CHECK(parts_needed_by(disk, again, Query()).size() + 1 == disk.parts.size());
  CHECK(again.damage().empty());
}

TEST_CASE("damage that is met later is reported, and no row of the part is given out") {
  Disk disk = large_disk();
  Store store = opened(disk);
  const PartId id = std::get<NeedParts>(store.get("big", {"p", row_name(300)})).ids.front();
  const std::string good = disk.parts[id];
  SECTION("a flipped bit") {
    disk.parts[id][good.size() / 2] ^= 1;
    REQUIRE(store.load_part(id, disk.parts[id]).ok());
  }
  SECTION("a missing file") {
    REQUIRE(store.load_part(id, std::nullopt).ok());
  }
  SECTION("another part") {
    for (const auto& [other, bytes] : disk.parts) {
      if (other == id) continue;
      REQUIRE(store.load_part(id, bytes).ok());
      break;
    }
  }
  CHECK(store.read_only());
  REQUIRE(store.damage().size() == 1);
  CHECK(store.damage()[0].file == part_name(id));
  const auto answer = store.get("big", {"p", row_name(300)});
  REQUIRE(std::holds_alternative<Error>(answer));
  CHECK(std::get<Error>(answer).code == Code::resource_not_found);
  CHECK(store.verify().empty());
  disk.load_parts(store, std::get<NeedParts>(store.get("big", {"p", row_name(0)})).ids);
  CHECK_FALSE(needs_parts(store, 0));
  CHECK(code_of(store.stage({put_large(0)}, noon).answers[0]) == Code::read_only);
  CHECK_FALSE(std::get<bool>(store.begin_checkpoint()));
}

TEST_CASE("a part of a newer format changes nothing") {
  const Disk disk = large_disk();
  Store store = opened(disk);
  const PartId id = std::get<NeedParts>(store.get("big", {"p", row_name(300)})).ids.front();
  const auto loaded =
      store.load_part(id, file_of(FileKind::part, records_of(disk.parts.at(id)), format_major + 1));
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().code == Code::format_too_new);
  CHECK_FALSE(store.read_only());
  CHECK(needs_parts(store, 300));
}

TEST_CASE("a snapshot loads what it needs, and checkpoints wait for it") {
  Disk disk = large_disk();
  Store store = opened(disk);
  const std::string whole = [&] {
    Store all = all_of(disk);
    return disk.snapshot(all);
  }();
  store.begin_snapshot();
  disk.stage(store, {put_large(0, 'y')}, noon);
  store.publish();
  disk.store_pending(store);
  CHECK_FALSE(std::get<bool>(store.begin_checkpoint()));
  std::string file;
  while (true) {
    const auto piece = disk.with_parts(store, [&] { return store.next_snapshot_piece(); });
    const auto* bytes = std::get_if<std::string>(&piece);
    if (bytes == nullptr) break;
    file += *bytes;
  }
  store.end_snapshot();
  CHECK((file == whole));
  CHECK(store.verify().empty());
  CHECK(disk.checkpoint(store));
}

TEST_CASE("merging a snapshot into a store loads what it needs") {
  Disk disk = large_disk();
  Store source = all_of(disk);
  publish(source, {put_large(300, 'z')});
  Store store = opened(disk);
  store.begin_restore();
  REQUIRE(store.restore(disk.snapshot(source)).ok());
  REQUIRE(store.restored().ok());
  while (std::get<Store::Merge>(disk.with_parts(store, [&] { return store.stage_merge(noon); })) ==
         Store::Merge::staged) {
    store.publish();
  }
  store.end_restore();
  CHECK(store.stats().rows == rows + 1);
  const auto answer = store.get("big", {"p", row_name(300)});
  CHECK(std::get<RowAnswer>(answer).row.find("text")->string() == std::string(10'000, 'z'));
}

}  // namespace entitable
