// Tests damaged and missing files, byte by byte: damage is never read silently, always reported,
// and makes the store read-only.
#include "core/store/recovery.h"

#include "core/log/field_codec.h"
#include "core/model/limits.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;  // request helpers

// Makes a checkpoint with rows a and b, then three segments with c, d and e.
TestHost small_disk() {
  TestHost host;
  Store store = new_store();
  publish(store, {create("people"), insert("people", "p", "a", 1), insert("people", "p", "b", 2)});
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  for (const char* row : {"c", "d", "e"}) {
    publish(store, {insert("people", "p", row, 3)});
    host.store_pending(store);
  }
  return host;
}

// Returns the rows of the damaged store, and checks that the damage is reported.
std::string read_damaged(const TestHost& host, std::string_view file) {
  auto store = host.open();
  if (!store.ok()) {  // a damaged version byte may look like a newer version
    REQUIRE(store.error().code == ErrorCode::format_too_new);
    return "refused";
  }
  REQUIRE(store->is_damaged());
  REQUIRE_FALSE(store->damage().empty());
  CHECK(store->damage()[0].file == file);
  CHECK_FALSE(store->damage()[0].message.empty());
  CHECK(store->verify().empty());
  return rows_of(*store, "people");
}

// Same as read_damaged() for a segment, with all parts loaded before the replay and with none.
std::string read_damaged_segment(const TestHost& host, std::string_view file) {
  std::string rows = read_damaged(host, file);
  auto store = host.open(TestHost::Load::on_demand);
  if (!store.ok()) {
    REQUIRE(store.error().code == ErrorCode::format_too_new);
    REQUIRE(rows == "refused");
    return rows;
  }
  REQUIRE(store->damage().size() == 1);
  for (const auto& [id, bytes] : host.parts) REQUIRE(store->load_part(id, bytes).ok());
  REQUIRE(store->damage().size() == 1);
  CHECK(store->verify().empty());
  REQUIRE(rows_of(*store, "people") == rows);
  return rows;
}

}  // namespace

TEST_CASE("an undamaged store opens with all its rows") {
  const auto store = small_disk().open();
  REQUIRE(store.ok());
  CHECK_FALSE(store->is_damaged());
  CHECK(rows_of(*store, "people") == "a=1 b=2 c=3 d=3 e=3");
  CHECK(store->stats().segments_since_checkpoint == 3);
}

TEST_CASE("any flipped bit of a segment ends the replay before it") {
  const TestHost good = small_disk();
  const auto& bytes = std::next(good.segments.begin())->second;
  const auto sequence = std::next(good.segments.begin())->first;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      TestHost host = good;
      host.segments[sequence][at] = static_cast<char>(bytes[at] ^ (1 << bit));
      INFO("byte " << at << ", bit " << bit);
      const std::string rows = read_damaged_segment(host, segment_name(sequence));
      REQUIRE((rows == "a=1 b=2 c=3" || rows == "refused"));
    }
  }
}

TEST_CASE("a segment cut anywhere ends the replay before it") {
  const TestHost good = small_disk();
  const auto sequence = std::prev(good.segments.end())->first;
  const std::size_t size = good.segments.at(sequence).size();
  for (std::size_t length = 0; length < size; ++length) {
    TestHost host = good;
    host.segments[sequence].resize(length);
    INFO("cut to " << length);
    REQUIRE(read_damaged_segment(host, segment_name(sequence)) == "a=1 b=2 c=3 d=3");
  }
}

TEST_CASE("a missing segment below the newest is damage") {
  TestHost host = small_disk();
  const auto sequence = std::next(host.segments.begin())->first;
  host.segments.erase(sequence);
  CHECK(read_damaged_segment(host, segment_name(sequence)) == "a=1 b=2 c=3");
}

TEST_CASE("swapped segments are damage") {
  TestHost host = small_disk();
  std::swap(host.segments.begin()->second, std::next(host.segments.begin())->second);
  CHECK(read_damaged(host, segment_name(host.segments.begin()->first)) == "a=1 b=2");
}

TEST_CASE("any flipped bit of a part leaves its range empty and the rest readable") {
  const TestHost good = small_disk();
  REQUIRE(good.parts.size() == 1);
  const auto& [id, bytes] = *good.parts.begin();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      TestHost host = good;
      host.parts[id][at] = static_cast<char>(bytes[at] ^ (1 << bit));
      INFO("byte " << at << ", bit " << bit);
      const std::string rows = read_damaged(host, part_name(id));
      REQUIRE((rows == "c=3 d=3 e=3" || rows == "refused"));
    }
  }
}

TEST_CASE("a missing part is damage") {
  TestHost host = small_disk();
  const PartId id = host.parts.begin()->first;
  host.parts.clear();
  CHECK(read_damaged(host, part_name(id)) == "c=3 d=3 e=3");
}

TEST_CASE("a part with rows outside its range is damage, even with valid checksums") {
  const auto part_of = [](PartId id, const char* row) {
    PartWriter writer(id, 1);
    writer.begin_row("p", row, noon);
    writer.add_property("value", ValueView::of_int32(1));
    writer.end_row();
    return std::move(writer).finish();
  };
  const auto listed = [](const char* lower, PartId id, const std::string& file) {
    return ManifestPart{EntityKey("p", lower), id, 1, 1, part_checksum(file)};
  };
  const auto opened = [&](const char* first, const char* second) {
    TestHost host;
    host.parts = {{1, part_of(1, first)}, {2, part_of(2, second)}};
    Manifest manifest;
    manifest.last_timestamp = noon;
    manifest.next_table = 2;
    manifest.next_part = 3;
    manifest.tables = {
        {1, "people", {}, {listed("a", 1, host.parts[1]), listed("m", 2, host.parts[2])}}};
    host.manifest = encode_manifest(manifest);
    return host;
  };
  CHECK(rows_of(*opened("b", "m").open(), "people") == "b=1 m=1");
  CHECK(read_damaged(opened("m", "n"), part_name(1)) == "n=1");
  CHECK(read_damaged(opened("b", "l"), part_name(2)) == "b=1");
}

TEST_CASE("any flipped bit of the manifest leaves the store empty") {
  const TestHost good = small_disk();
  for (std::size_t at = 0; at < good.manifest->size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      TestHost host = good;
      (*host.manifest)[at] = static_cast<char>((*good.manifest)[at] ^ (1 << bit));
      INFO("byte " << at << ", bit " << bit);
      const std::string rows = read_damaged(host, manifest_name);
      REQUIRE((rows == "no table" || rows == "refused"));
    }
  }
}

TEST_CASE("a manifest cut anywhere leaves the store empty") {
  const TestHost good = small_disk();
  for (std::size_t length = 0; length < good.manifest->size(); ++length) {
    TestHost host = good;
    host.manifest->resize(length);
    REQUIRE(read_damaged(host, manifest_name) == "no table");
  }
}

TEST_CASE("a lost manifest is detected by the remaining segments") {
  TestHost host = small_disk();
  host.manifest.reset();
  CHECK(read_damaged(host, segment_name(1)) == "no table");
}

TEST_CASE("a recovery that begins again forgets the damage found before") {
  const TestHost host = small_disk();
  Store store;
  REQUIRE(store.begin_recovery("no manifest").ok());
  REQUIRE(store.is_damaged());
  REQUIRE(store.begin_recovery(*host.manifest).ok());
  CHECK_FALSE(store.is_damaged());
}

TEST_CASE("a damaged store rejects writes") {
  TestHost host = small_disk();
  host.segments.begin()->second.back() ^= 1;
  auto store = host.open();
  REQUIRE(store.ok());
  const StageResult staged = store->stage({insert("people", "p", "z"), create("orders")}, noon);
  CHECK_FALSE(staged.changes);
  CHECK(code_of(staged.results[0]) == ErrorCode::read_only);
  CHECK(code_of(staged.results[1]) == ErrorCode::read_only);
  CHECK_FALSE(store->begin_checkpoint());
}

TEST_CASE("damage that the host reports makes the store read-only") {
  const TestHost host = small_disk();
  Store store;
  REQUIRE(store.begin_recovery(*host.manifest).ok());
  REQUIRE(store.load_part(host.parts.begin()->first, host.parts.begin()->second).ok());
  REQUIRE(store.replay(host.segments.begin()->first, host.segments.begin()->second).ok());
  store.report_damage({segment_name(2), "the file cannot be read"});
  store.finish_recovery();
  CHECK(store.is_damaged());
  CHECK(store.damage().back().file == segment_name(2));
  CHECK(rows_of(store, "people") == "a=1 b=2 c=3");
}

TEST_CASE("a store without numbers left is read-only, and can still be compacted") {
  const auto error_of = [](const Manifest& manifest, const WriteRequest& request) {
    TestHost host;
    host.manifest = encode_manifest(manifest);
    auto store = host.open();
    REQUIRE(store.ok());
    CHECK(store->verify().empty());
    const StageResult staged = store->write(request, noon);
    host.store_pending(*store);
    host.claim(*store);
    REQUIRE(host.checkpoint(*store));
    CHECK(host.open()->damage().empty());
    const auto* failed = std::get_if<GroupFailure>(&staged.results.at(0));
    return failed == nullptr ? ErrorCode::internal_error : failed->error.code;
  };
  const ErrorCode none = ErrorCode::internal_error;
  Manifest manifest;
  manifest.last_commit = counter_max - 1;
  CHECK(error_of(manifest, create("people")) == none);
  manifest.last_commit = counter_max;
  CHECK(error_of(manifest, create("people")) == ErrorCode::read_only);
  manifest = Manifest();
  manifest.next_table = table_id_max;
  CHECK(error_of(manifest, create("people")) == none);
  manifest.next_table = table_id_max + 1;
  CHECK(error_of(manifest, create("people")) == ErrorCode::read_only);
  manifest = Manifest();
  manifest.next_table = 2;
  manifest.tables = {{1, "people", {}, {}}};
  manifest.last_timestamp = limits::date_time_ticks_max - 200;
  CHECK(error_of(manifest, insert("people", "p", "r")) == none);
  manifest.last_timestamp = limits::date_time_ticks_max - 199;
  CHECK(error_of(manifest, insert("people", "p", "r")) == ErrorCode::read_only);
}

}  // namespace entitable
