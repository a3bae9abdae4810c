#include "core/store/store.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/filter/parser.h"
#include "core/log/manifest_codec.h"
#include "core/log/segment.h"
#include "core/model/limits.h"
#include "core/model/service_error.h"
#include "core/store/restore.h"
#include "core/store/snapshot_export.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;  // request helpers

std::vector<std::string> names_of(const Store& store, const char* filter = "",
                                  std::uint32_t top = 1000, std::string_view from = "") {
  const auto parsed = parse_filter(filter);
  REQUIRE(parsed.ok());
  const auto page = store.tables(*parsed, top, from);
  REQUIRE(page.ok());
  return page->names;
}

}  // namespace

TEST_CASE("readers see published writes, not staged ones") {
  Store store = new_store();
  publish(store, {create("people"), insert("people", "p", "a", 1)});
  const StageResult staged =
      store.stage({upsert("people", "p", "a", 2), insert("people", "p", "b", 3)}, noon);
  REQUIRE(staged.changes);
  CHECK(rows_of(store, "people") == "a=1");
  store.publish();
  CHECK(rows_of(store, "people") == "a=2 b=3");
}

TEST_CASE("each request of a group sees the earlier ones") {
  Store store = new_store();
  const StageResult staged = store.stage(
      {insert("people", "p", "a", 1), create("people"), create("People"),
       insert("people", "p", "a", 1), insert("PEOPLE", "p", "a", 2), remove("people", "p", "a"),
       remove("people", "p", "a"), drop("people"), insert("people", "p", "a", 1), drop("people")},
      noon);
  REQUIRE(staged.results.size() == 10);
  CHECK(code_of(staged.results[0]) == ErrorCode::table_not_found);
  CHECK(succeeded(staged.results[1]));
  CHECK(code_of(staged.results[2]) == ErrorCode::table_already_exists);
  CHECK(succeeded(staged.results[3]));
  CHECK(code_of(staged.results[4]) == ErrorCode::entity_already_exists);
  CHECK(succeeded(staged.results[5]));
  CHECK(code_of(staged.results[6]) == ErrorCode::resource_not_found);
  CHECK(succeeded(staged.results[7]));
  CHECK(code_of(staged.results[8]) == ErrorCode::table_not_found);
  CHECK(code_of(staged.results[9]) == ErrorCode::resource_not_found);
}

TEST_CASE("a transaction is atomic") {
  Store store = new_store();
  publish(store, {create("people"), insert("people", "p", "b", 1), insert("people", "p", "c", 1)});
  const StageResult staged =
      store.stage({group("people", {operation(OperationKind::insert, "p", "a", 2),
                                    operation(OperationKind::merge, "p", "b", 2),
                                    operation(OperationKind::insert, "p", "c", 2)})},
                  noon);
  REQUIRE_FALSE(staged.changes);
  const auto& failure = std::get<GroupFailure>(staged.results[0]);
  CHECK(failure.error.code == ErrorCode::entity_already_exists);
  CHECK(failure.index == 2);
  CHECK(failure.prefixed);
  CHECK(rows_of(store, "people") == "b=1 c=1");
}

TEST_CASE("a missing table fails the first operation of a transaction") {
  Store store = new_store();
  const StageResult staged = store.stage(
      {group("people", {operation(OperationKind::insert, "p", "a")}), insert("people", "p", "a")},
      noon);
  CHECK(std::get<GroupFailure>(staged.results[0]).prefixed);
  CHECK_FALSE(std::get<GroupFailure>(staged.results[1]).prefixed);
}

TEST_CASE("when every request fails there is nothing to store or publish") {
  Store store = new_store();
  CHECK_FALSE(store.stage({drop("people")}, noon).changes);
  CHECK_FALSE(store.seal().has_value());
  publish(store, {create("people")});  // the next group can be staged without a discard
}

TEST_CASE("discarding restores the previous state") {
  Store store = new_store();
  TestHost host;
  publish(store, {create("people"), insert("people", "p", "a", 1)});
  host.store_pending(store);
  const StageResult first =
      store.stage({upsert("people", "p", "a", 2), drop("people")}, noon + 100);
  REQUIRE(store.seal().has_value());
  store.discard();
  CHECK(rows_of(store, "people") == "a=1");
  CHECK_FALSE(store.seal().has_value());
  const StageResult again = store.stage({upsert("people", "p", "a", 2)}, noon + 100);
  CHECK(std::get<WriteSuccess>(again.results[0]).timestamps ==
        std::get<WriteSuccess>(first.results[0]).timestamps);
  store.publish();
}

TEST_CASE("a single write is published at once or changes nothing") {
  Store store = new_store();
  TestHost host;
  CHECK(store.write(create("people"), noon).changes);
  const StageResult made = store.write(insert("people", "p", "a", 1), noon);
  REQUIRE(succeeded(made.results[0]));
  const Ticks timestamp = std::get<WriteSuccess>(made.results[0]).timestamps[0];
  CHECK(std::get<PinnedRow>(store.get("people", {"p", "a"})).row.timestamp() == timestamp);

  const StageResult refused = store.write(insert("people", "p", "a", 2), noon);
  CHECK_FALSE(refused.changes);
  CHECK(code_of(refused.results[0]) == ErrorCode::entity_already_exists);
  CHECK(store.write(upsert("people", "p", "a", 3), noon).changes);
  CHECK(store.write(insert("people", "p", "b", 4), noon).changes);
  CHECK(store.write(remove("people", "p", "b"), noon).changes);
  CHECK(rows_of(store, "people") == "a=3");
  CHECK(store.stats().pending_commits == 5);
  CHECK(store.verify() == "");
  host.store_pending(store);
  CHECK(rows_of(*host.open(), "people") == "a=3");

  store.report_damage({"wal", "lost"});
  CHECK(code_of(store.write(insert("people", "p", "c"), noon).results[0]) == ErrorCode::read_only);
}

TEST_CASE("a reused result does not affect the next write") {
  Store store = new_store();
  Store other = new_store();
  StageResult answer;
  const std::vector<WriteRequest> requests = {
      create("people"),       insert("people", "p", "a", 1), insert("people", "p", "a", 2),
      insert("no", "p", "a"), upsert("people", "p", "a", 3), remove("people", "p", "a"),
      create("people"),       insert("people", "p", "b", 4)};
  for (const WriteRequest& request : requests) {
    answer = store.write(request, noon, std::move(answer));
    const StageResult fresh = other.write(request, noon);
    CHECK(answer.changes == fresh.changes);
    REQUIRE(answer.results.size() == 1);
    REQUIRE(succeeded(answer.results[0]) == succeeded(fresh.results[0]));
    if (!succeeded(fresh.results[0])) {
      CHECK(code_of(answer.results[0]) == code_of(fresh.results[0]));
    } else {
      CHECK(std::get<WriteSuccess>(answer.results[0]).timestamps ==
            std::get<WriteSuccess>(fresh.results[0]).timestamps);
    }
  }
}

TEST_CASE("repeated and similar property lists are stored correctly") {
  Store store = new_store();
  TestHost host;
  for (const char* table : {"people", "things"}) REQUIRE(store.write(create(table), noon).changes);
  const auto text = [](const char* name) { return Property{name, Value::of_string("x")}; };
  const auto number = [](const char* name) { return Property{name, Value::of_int32(1)}; };
  const std::vector<std::vector<Property>> lists = {
      {text("a"), number("bc")}, {text("ab"), number("c")}, {number("a"), text("bc")}, {}};
  std::vector<std::vector<Property>> written;
  for (int i = 0; i < 40; ++i) {
    const std::vector<Property>& list = lists[static_cast<std::size_t>(i * i + i / 5) % 4];
    WriteRequest request = insert(i % 3 == 0 ? "things" : "people", "p", std::to_string(i));
    std::get<WriteEntities>(request.body).operations[0].properties = list;
    REQUIRE(store.write(request, noon).changes);
    if (i % 7 == 0) host.store_pending(store);
    written.push_back(list);
  }
  host.store_pending(store);
  const auto opened = host.open();
  for (int i = 0; i < 40; ++i) {
    const auto row = opened->get(i % 3 == 0 ? "things" : "people", {"p", std::to_string(i)});
    Entity entity = std::get<PinnedRow>(row).row.materialize();
    std::vector<Property>& list = written[static_cast<std::size_t>(i)];
    const auto by_name = [](const Property& a, const Property& b) { return a.name < b.name; };
    std::sort(entity.properties.begin(), entity.properties.end(), by_name);
    std::sort(list.begin(), list.end(), by_name);
    CHECK(entity.properties == list);
  }
}

TEST_CASE("a write does not change the version of open pages, snapshots and checkpoints") {
  Store store = new_store();
  TestHost host;
  publish(store, {create("people"), insert("people", "p", "a", 1)});
  host.store_pending(store);
  const auto page = store.query("people", Query{});
  std::optional<SnapshotExport> snapshot(std::in_place, store);
  REQUIRE(store.write(upsert("people", "p", "a", 2), noon).changes);
  REQUIRE(store.write(insert("people", "p", "b", 3), noon).changes);
  CHECK(std::get<Page>(page).rows[0].find("value")->int32() == 1);
  std::string file;
  for (auto chunk = snapshot->next_chunk(); std::holds_alternative<std::string>(chunk);
       chunk = snapshot->next_chunk()) {
    file += std::get<std::string>(chunk);
  }
  snapshot.reset();
  Store other = new_store();
  Restore restore(other);
  REQUIRE(host.store_parts(restore, file).ok());
  CHECK(restore.finish_reading()->entities == 1);
  CHECK(rows_of(store, "people") == "a=2 b=3");

  host.store_pending(store);
  REQUIRE(store.begin_checkpoint());
  REQUIRE(store.write(upsert("people", "p", "a", 4), noon).changes);
  store.abandon_checkpoint();
  CHECK(rows_of(store, "people") == "a=4 b=3");
  CHECK(store.verify() == "");
}

TEST_CASE("a segment holds everything that is pending, in order") {
  Store store = new_store();
  TestHost host;
  publish(store, {create("people")});
  publish(store, {insert("people", "p", "a", 1)});
  CHECK(store.stats().pending_commits == 2);
  CHECK(store.stats().pending_bytes > 0);
  REQUIRE(store.stage({insert("people", "p", "b", 2)}, noon)
              .changes);  // a strict write, after the deferred writes above
  host.store_pending(store);
  store.publish();
  CHECK(store.stats().pending_commits == 0);
  CHECK(host.segments.size() == 1);
  CHECK(rows_of(*host.open(), "people") == "a=1 b=2");
}

TEST_CASE("thousands of deferred writes wait for one segment") {
  Store store = new_store();
  TestHost host;
  publish(store, {create("people")});
  for (std::int32_t i = 1; i <= 3000; ++i) {
    publish(store, {upsert("people", "p", std::to_string(i % 7), i)}, noon + i);
  }
  CHECK(store.stats().pending_commits == 3001);
  host.store_pending(store);
  CHECK(host.segments.size() == 1);
  CHECK(store.stats().pending_commits == 0);
  CHECK(rows_of(*host.open(), "people") == rows_of(store, "people"));
}

TEST_CASE("a deferred write published while a segment is being stored goes to the next segment") {
  Store store = new_store();
  TestHost host;
  publish(store, {create("people")});
  const auto segment = store.seal();
  publish(store, {insert("people", "p", "a", 1)});
  REQUIRE(segment.has_value());
  host.segments[segment->sequence] = segment->bytes;
  store.mark_stored(segment->sequence);
  CHECK(store.stats().pending_commits == 1);
  CHECK(rows_of(*host.open(), "people").empty());
  host.store_pending(store);
  CHECK(rows_of(*host.open(), "people") == "a=1");
}

TEST_CASE("after a failed store the commits are sealed again with the same sequence") {
  Store store = new_store();
  publish(store, {create("people")});
  const auto first = store.seal();
  const auto second = store.seal();
  REQUIRE(second.has_value());
  CHECK(first->sequence == second->sequence);
  CHECK(first->bytes == second->bytes);
}

TEST_CASE("pending commits are sealed in segments of limited size with at least one commit each") {
  Store store = new_store();
  TestHost host;
  publish(store, {create("people")});
  for (int i = 0; i < 10; ++i) {
    publish(store, {insert("people", "p", std::string(1, static_cast<char>('a' + i)), i)});
  }
  store.stage({insert("people", "p", "z", 1)}, noon);
  const std::size_t whole = store.seal()->bytes.size();
  for (const std::size_t limit :
       {std::size_t{0}, std::size_t{1}, whole / 4, whole / 2, whole - 1, 2 * whole}) {
    TestHost stored;
    std::size_t commits = 0;
    std::uint64_t sequence = 1;
    for (auto segment = store.seal(limit); segment.has_value(); segment = store.seal_next(limit)) {
      CHECK(segment->sequence == sequence++);
      const Result<Segment> decoded = decode_segment(segment->bytes, segment->sequence);
      REQUIRE(decoded.ok());
      CHECK((segment->bytes.size() <= limit || decoded->commits.size() == 1));
      commits += decoded->commits.size();
      stored.segments[segment->sequence] = segment->bytes;
    }
    CHECK(commits == 12);
    CHECK((sequence > 2) == (limit < whole));
    CHECK(rows_of(*stored.open(), "people") == "a=0 b=1 c=2 d=3 e=4 f=5 g=6 h=7 i=8 j=9 z=1");
  }
  host.segment_bytes = whole / 4;
  host.store_pending(store);
  store.publish();
  CHECK(store.stats().pending_commits == 0);
  CHECK(store.stats().next_sequence == host.segments.size() + 1);
  CHECK_FALSE(store.seal(1).has_value());
  CHECK_FALSE(store.seal_next(1).has_value());
}

TEST_CASE("commits published while segments are being stored are in none of them") {
  Store store = new_store();
  TestHost host;
  publish(store, {create("people")});
  publish(store, {insert("people", "p", "a", 1)});
  for (auto segment = store.seal(1); segment.has_value(); segment = store.seal_next(1)) {
    host.segments[segment->sequence] = std::move(segment->bytes);
  }
  publish(store, {insert("people", "p", "b", 1)});
  store.mark_stored(2);
  CHECK(store.stats().pending_commits == 1);
  CHECK(rows_of(*host.open(), "people") == "a=1");
  host.store_pending(store);
  CHECK(rows_of(*host.open(), "people") == "a=1 b=1");
}

TEST_CASE("a claim takes the sequence that the previous owner would use next") {
  Store before = new_store();
  TestHost host;
  publish(before, {create("people")});
  host.store_pending(before);

  auto after = host.open();
  const std::uint64_t claimed = host.claim(*after);
  publish(before, {insert("people", "p", "a", 1)});
  CHECK(before.seal()->sequence == claimed);
  publish(*after, {insert("people", "p", "b", 1)});
  host.store_pending(*after);

  const auto reopened = host.open();
  CHECK_FALSE(reopened->is_damaged());
  CHECK(reopened->stats().rows == 1);
  CHECK(reopened->stats().next_sequence == 4);
}

TEST_CASE("if a claim is not stored, the next segment has the same effect") {
  Store before = new_store();
  TestHost host;
  publish(before, {create("people")});
  host.store_pending(before);
  auto after = host.open();
  static_cast<void>(after->make_claim_segment());
  publish(*after, {insert("people", "p", "b", 1)});
  host.store_pending(*after);
  REQUIRE(host.open()->stats().rows == 1);

  // If the previous owner could still write by mistake, its segment would be reported as damage.
  TestHost elsewhere;
  publish(before, {insert("people", "p", "a", 1)});
  elsewhere.store_pending(before);
  publish(before, {insert("people", "p", "c", 1)});
  host.store_pending(before);
  const auto damaged = host.open();
  REQUIRE(damaged->damage().size() == 1);
  CHECK(damaged->damage()[0].message == "the file was written by an owner that had been replaced");
}

TEST_CASE("a checkpoint also covers segments that only claim") {
  TestHost host;
  Store store = new_store();
  publish(store, {create("people")});
  host.store_pending(store);
  REQUIRE(host.checkpoint(store));
  CHECK_FALSE(store.begin_checkpoint());
  for (int i = 0; i < 3; ++i) {
    auto opened = host.open();
    host.claim(*opened);
  }
  auto opened = host.open();
  CHECK(opened->stats().segments_since_checkpoint == 3);
  REQUIRE(host.checkpoint(*opened));
  CHECK(opened->stats().segments_since_checkpoint == 0);
  CHECK(host.open()->stats().next_sequence == 5);
}

TEST_CASE("a call sent again is answered and not applied twice") {
  Store store = new_store();
  TestHost host;
  publish(store, {create("people")});
  WriteRequest request = insert("people", "p", "a", 1);
  request.call = ClientCall{ClientId{{1}}, 17, {}};
  const StageResult staged = store.stage({request, request}, noon);
  REQUIRE(succeeded(staged.results[1]));
  const auto& timestamps = std::get<WriteSuccess>(staged.results[0]).timestamps;
  CHECK(std::get<WriteSuccess>(staged.results[1]).timestamps == timestamps);
  store.publish();
  host.store_pending(store);

  SECTION("by this store") {
    const StageResult again = store.stage({request}, noon + 50);
    CHECK_FALSE(again.changes);
    CHECK(std::get<WriteSuccess>(again.results[0]).timestamps == timestamps);
  }
  SECTION("by this store, alone") {
    const StageResult again = store.write(request, noon + 50);
    CHECK_FALSE(again.changes);
    CHECK(std::get<WriteSuccess>(again.results[0]).timestamps == timestamps);
  }
  SECTION("by one that replayed its segment") {
    const StageResult again = host.open()->stage({request}, noon + 50);
    CHECK(std::get<WriteSuccess>(again.results[0]).timestamps == timestamps);
  }
  SECTION("by one that opened its checkpoint") {
    REQUIRE(host.checkpoint(store));
    const StageResult again = host.open()->stage({request}, noon + 50);
    CHECK(std::get<WriteSuccess>(again.results[0]).timestamps == timestamps);
  }
}

TEST_CASE("the calls of a client that were applied are known, whichever way they were written") {
  Store store = new_store();
  TestHost host;
  const ClientId client{{1}};
  publish(store, {create("people")});
  const auto call = [&](std::uint64_t number, const char* key) {
    WriteRequest request = insert("people", "p", key, 1);
    request.call = ClientCall{client, number, {}};
    return request;
  };
  CHECK(store.known_calls(client).empty());
  CHECK(store.write(call(1, "a"), noon).changes);
  CHECK_FALSE(store.write(call(2, "a"), noon).changes);  // the row exists
  REQUIRE(store.stage({call(3, "b"), call(4, "b"), call(5, "c")}, noon).changes);
  store.publish();
  REQUIRE(store.stage({call(6, "d")}, noon).changes);
  store.discard();
  const std::vector<std::uint64_t> known = {1, 3, 5};
  CHECK(store.known_calls(client) == known);
  CHECK(store.known_calls(ClientId{{2}}).empty());
  SECTION("by one that replayed the segments") {
    host.store_pending(store);
    CHECK(host.open()->known_calls(client) == known);
  }
  SECTION("by one that opened a checkpoint, although no segment has the calls") {
    REQUIRE(host.checkpoint(store));
    CHECK(host.open()->known_calls(client) == known);
  }
}

TEST_CASE("the commits of forgotten clients are known, also after opening") {
  Store store = new_store();
  TestHost host;
  publish(store, {create("people")});
  const std::uint64_t before = store.stats().last_commit;
  const auto write = [&](std::size_t client) {
    WriteRequest request = insert("people", "p", std::to_string(client).c_str(), 1);
    request.call = ClientCall{ClientId{{static_cast<std::uint8_t>(client & 0xff),
                                        static_cast<std::uint8_t>(client >> 8)}},
                              1,
                              {}};
    REQUIRE(store.write(request, noon).changes);
  };
  for (std::size_t client = 0; client < CallWindow::clients_max; ++client) write(client);
  CHECK(store.calls_dropped_through() == 0);
  write(CallWindow::clients_max);
  CHECK(store.calls_dropped_through() == before + 1);
  CHECK(store.known_calls(ClientId{{0}}).empty());
  SECTION("of one that replays the segments") {
    host.store_pending(store);
    CHECK(host.open()->calls_dropped_through() == before + 1);
  }
  SECTION("of one that opens a checkpoint") {
    REQUIRE(host.checkpoint(store));
    auto opened = host.open();
    CHECK(opened->calls_dropped_through() == before + 1);
    WriteRequest request = insert("people", "p", "new", 1);
    request.call = ClientCall{ClientId{{0xff, 0xff}}, 1, {}};
    REQUIRE(opened->write(request, noon).changes);
    CHECK(opened->calls_dropped_through() == before + 2);
  }
  SECTION("approximately of one that opens a checkpoint of version 1.0") {
    REQUIRE(host.checkpoint(store));
    Manifest manifest = *decode_manifest(*host.manifest);
    manifest.call_commits.reset();
    host.manifest = encode_manifest(manifest);
    auto opened = host.open();
    CHECK(opened->calls_dropped_through() == manifest.last_commit + 1);
    manifest.calls.pop_back();
    host.manifest = encode_manifest(manifest);
    CHECK(host.open()->calls_dropped_through() == 0);
  }
}

TEST_CASE("the calls of one group are compared whatever the order of their numbers") {
  Store store = new_store();
  publish(store, {create("people")});
  const auto call = [&](std::uint8_t client, std::uint64_t number, const char* key) {
    WriteRequest request = insert("people", "p", key, 1);
    request.call = ClientCall{ClientId{{client}}, number, {}};
    return request;
  };
  const StageResult staged =
      store.stage({call(1, 5, "a"), call(2, 9, "b"), call(1, 4, "c"), call(1, 5, "a"),
                   call(1, 4, "c"), call(2, 5, "d"), call(2, 4, "e"), call(1, 9, "f")},
                  noon);
  for (const WriteResult& result : staged.results) CHECK(succeeded(result));
  store.publish();
  CHECK(store.stats().rows == 6);
}

TEST_CASE("a clock set back does not repeat a timestamp, also after reopening") {
  Store store = new_store();
  TestHost host;
  publish(store, {create("people"), insert("people", "p", "a")}, noon + 1000);
  host.store_pending(store);
  const bool checkpoint = GENERATE(false, true);
  if (checkpoint) REQUIRE(host.checkpoint(store));
  auto reopened = host.open();
  const StageResult staged = reopened->stage({insert("people", "p", "b")}, noon);
  CHECK(std::get<WriteSuccess>(staged.results[0]).timestamps[0] > noon + 1000);
}

TEST_CASE("reads of missing tables and rows return the service's errors") {
  Store store = new_store();
  publish(store, {create("people"), insert("people", "p", "a")});
  const auto no_table = store.get("nobody", {"p", "a"});
  REQUIRE(std::holds_alternative<Error>(no_table));
  CHECK(std::get<Error>(no_table).code == ErrorCode::table_not_found);
  const auto no_row = store.get("people", {"p", "b"});
  REQUIRE(std::holds_alternative<Error>(no_row));
  CHECK(std::get<Error>(no_row).code == ErrorCode::resource_not_found);
  CHECK(std::holds_alternative<PinnedRow>(store.get("PEOPLE", {"p", "a"})));
  CHECK(std::holds_alternative<Error>(store.query("nobody", Query{})));
  CHECK(std::holds_alternative<Error>(store.explain("nobody", Query{}, "")));
}

TEST_CASE("a key that is invalid in an address is rejected after a missing table") {
  Store store = new_store();
  publish(store, {create("people"), insert("people", "p", "r")});
  const auto error_of = [&](std::string_view table, const KeyView& key) {
    const auto answer = store.get(table, key);
    REQUIRE(std::holds_alternative<Error>(answer));
    return std::get<Error>(answer);
  };
  CHECK(error_of("people", {"p", "a/b"}) ==
        Error(ErrorCode::invalid_input, "Bad Request - Error in query syntax."));
  CHECK(error_of("people", {"p#", "r"}) == Error(ErrorCode::out_of_range_input));
  CHECK(error_of("people", {"p", std::string(2048, 'x')}) == Error(ErrorCode::resource_not_found));
  CHECK(error_of("nobody", {"p", "a/b"}) == Error(ErrorCode::table_not_found));
}

TEST_CASE("later writes do not change a page") {
  Store store = new_store();
  publish(store, {create("people"), insert("people", "p", "a", 1), insert("people", "p", "b", 2)});
  const auto answer = store.query("people", Query{});
  publish(store, {upsert("people", "p", "a", 9), remove("people", "p", "b")});
  const auto& page = std::get<Page>(answer);
  REQUIRE(page.rows.size() == 2);
  CHECK(page.rows[0].find("value")->int32() == 1);
  CHECK(page.rows[1].find("value")->int32() == 2);
}

TEST_CASE("tables are listed by name, filtered and paged") {
  Store store = new_store();
  publish(store, {create("Delta"), create("alpha"), create("charlie"), create("Bravo")});
  CHECK(names_of(store) == std::vector<std::string>{"alpha", "Bravo", "charlie", "Delta"});
  CHECK(names_of(store, "TableName ge 'a'") == std::vector<std::string>{"alpha", "charlie"});
  CHECK(names_of(store, "", 0).empty());
  const auto page = store.tables(Filter{}, 2, "");
  REQUIRE(page.ok());
  CHECK(page->names == std::vector<std::string>{"alpha", "Bravo"});
  REQUIRE(page->next.has_value());
  CHECK(names_of(store, "", 2, *page->next) == std::vector<std::string>{"charlie", "Delta"});
  CHECK_FALSE(store.tables(Filter{}, 4, "")->next.has_value());
  const auto wrong = store.tables(*parse_filter("Name eq 'alpha'"), 10, "");
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().code == ErrorCode::invalid_input);
}

TEST_CASE("names, policies and properties survive in the log and in a checkpoint") {
  Store store = new_store();
  TestHost host;
  const std::vector<AccessPolicy> policies = {{"read", noon, std::nullopt, "r"}};
  publish(store,
          {create("people"),
           {std::nullopt, WriteTableAcl{"people", policies}},
           {std::nullopt, WriteServiceProperties{[](const std::string&) { return "<cors/>"; }}}});
  host.store_pending(store);
  if (GENERATE(false, true)) REQUIRE(host.checkpoint(store));
  const auto reopened = host.open();
  REQUIRE(reopened.ok());
  CHECK(*reopened->table_acl("PEOPLE") == policies);
  CHECK(reopened->service_properties() == "<cors/>");
  CHECK(reopened->table_acl("nobody").error().code == ErrorCode::table_not_found);
}

TEST_CASE("a change of the service's properties sees earlier changes") {
  Store store = new_store();
  const auto append = [](std::string text) {
    return WriteRequest{std::nullopt, WriteServiceProperties{[text](const std::string& current) {
                          return current + text;
                        }}};
  };
  const StageResult staged = store.stage({append("a"), append("b")}, noon);
  CHECK(staged.changes);
  CHECK(store.service_properties().empty());
  store.discard();
  publish(store, {append("c"), create("people"), append("d")});
  CHECK(store.service_properties() == "cd");
  publish(store, {append("e")});
  CHECK(store.service_properties() == "cde");
}

TEST_CASE("access policies are checked before the table") {
  Store store = new_store();
  publish(store, {create("people")});
  const auto answer_to = [&](std::string_view table, std::vector<AccessPolicy> policies) {
    const StageResult staged =
        store.stage({{std::nullopt, WriteTableAcl{std::string(table), std::move(policies)}}}, noon);
    if (staged.changes) store.publish();
    return succeeded(staged.results[0]) ? std::optional<ErrorCode>() : code_of(staged.results[0]);
  };
  const auto with_id = [](std::string id) { return AccessPolicy{std::move(id), {}, {}, {}}; };
  std::vector<AccessPolicy> five;
  for (const char* id : {"a", "b", "c", "d", "e"}) five.push_back(with_id(id));
  CHECK(answer_to("people", five) == std::nullopt);
  five.push_back(with_id("f"));
  CHECK(answer_to("people", five) == ErrorCode::invalid_xml_document);
  CHECK(answer_to("nobody", five) == ErrorCode::invalid_xml_document);
  CHECK(answer_to("nobody", {}) == ErrorCode::table_not_found);
  CHECK(store.table_acl("people")->size() == 5);

  std::string longest;  // 64 UTF-16 units, each two bytes long in UTF-8
  for (std::size_t i = 0; i < 64; ++i) longest += "\xC3\xA4";
  CHECK(answer_to("people", {with_id(longest)}) == std::nullopt);
  CHECK(answer_to("people", {with_id(longest + "a")}) == ErrorCode::invalid_xml_node_value);
  CHECK(answer_to("people", {with_id("")}) == ErrorCode::invalid_xml_document);
  CHECK(answer_to("people", {with_id("\xFF")}) == ErrorCode::invalid_xml_document);
  CHECK(answer_to("people", {with_id("a"), with_id("A")}) == std::nullopt);
  CHECK(answer_to("people", {with_id("a"), with_id("a")}) == ErrorCode::invalid_xml_document);

  for (const char* permission : {"", "r", "rd", "raud"}) {
    CHECK(answer_to("people", {{"a", {}, {}, permission}}) == std::nullopt);
  }
  for (const char* permission : {"dr", "rr", "x", "raud "}) {
    CHECK(answer_to("people", {{"a", {}, {}, permission}}) == ErrorCode::invalid_xml_node_value);
  }
  const Ticks first = limits::date_time_ticks_min;
  const Ticks last = limits::date_time_ticks_max;
  CHECK(answer_to("people", {{"a", first, last, {}}}) == std::nullopt);
  CHECK(answer_to("people", {{"a", first - 1, {}, {}}}) == ErrorCode::invalid_xml_node_value);
  CHECK(answer_to("people", {{"a", {}, last + 1, {}}}) == ErrorCode::invalid_xml_node_value);
}

TEST_CASE("table names are checked on creation") {
  Store store = new_store();
  const StageResult staged = store.stage({create("tables"), create("ab"), create("a-bcd")}, noon);
  CHECK(code_of(staged.results[0]) == ErrorCode::invalid_input);
  CHECK(code_of(staged.results[1]) == ErrorCode::out_of_range_input);
  CHECK(code_of(staged.results[2]) == ErrorCode::invalid_resource_name);
}

TEST_CASE("statistics count rows and pending commits") {
  Store store = new_store();
  TestHost host;
  publish(store, {create("people"), insert("people", "p", "a"), insert("people", "p", "b")});
  host.store_pending(store);
  const StoreStats stats = store.stats();
  REQUIRE(stats.tables.size() == 1);
  CHECK(stats.tables[0].name == "people");
  CHECK(stats.rows == 2);
  CHECK(stats.bytes > 0);
  CHECK(stats.memory_bytes > 0);
  CHECK(stats.last_commit == 3);
  CHECK(stats.segments_since_checkpoint == 1);
  CHECK(stats.segment_bytes_since_checkpoint == host.segments[1].size());
  CHECK(store.verify().empty());
}

TEST_CASE("service read mode can be turned on and off") {
  Store store = new_store();
  publish(store, {create("people")});
  for (const char* row : {"a", "b", "c"}) publish(store, {insert("people", "p", row, 1)});
  publish(store, {insert("people", "q", "a", 1)});
  Query query;
  query.filter = *parse_filter("RowKey eq 'a' and (PartitionKey eq 'p' or PartitionKey eq 'q')");
  const auto page = [&] { return std::get<Page>(store.query("people", query)); };
  CHECK(page().rows_read == 2);
  CHECK(!page().partition.has_value());
  store.simulate_service_reads(true);
  CHECK(page().rows_read == 3);
  CHECK(page().rows.size() == 1);
  CHECK(page().partition == "p");
  CHECK(page().next == Continuation{EntityKey("q", "a")});
  store.truncate_result_pages(0);
  CHECK(page().rows.empty());
  CHECK(page().next == Continuation{EntityKey("p", "a")});
  store.truncate_result_pages(1);
  store.simulate_service_reads(false);
  CHECK(page().rows.size() == 2);
  CHECK(!page().next.has_value());
}

TEST_CASE("shortened pages still lead to all rows") {
  Store store = new_store();
  publish(store, {create("people"), create("others"), create("rest")});
  for (const char* row : {"a", "b", "c", "d", "e"}) {
    publish(store, {insert("people", "p", row, 1)});
  }
  const auto page_of = [&](double share, const Query& query) {
    store.truncate_result_pages(share);
    return std::get<Page>(store.query("people", query));
  };
  Query query;
  const Page empty = page_of(0, query);
  CHECK(empty.rows.empty());
  REQUIRE(empty.next.has_value());
  query.from = empty.next;
  const Page part = page_of(0.5, query);
  REQUIRE(part.rows.size() == 3);  // half of the rows, rounded up
  CHECK(part.rows.front().row_key() == "a");
  query.from = part.next;
  const Page least = page_of(0.001, query);
  REQUIRE(least.rows.size() == 1);
  CHECK(least.rows.front().row_key() == "d");
  query.from = least.next;
  const Page last = page_of(1, query);
  REQUIRE(last.rows.size() == 1);
  CHECK(last.rows.front().row_key() == "e");
  CHECK(!last.next.has_value());
  query.from.reset();
  query.top = 0;
  CHECK(!page_of(0, query).next.has_value());

  const auto tables = [&](double share, std::string_view from) {
    store.truncate_result_pages(share);
    return *store.tables({}, 1000, from);
  };
  CHECK(tables(0, "").names.empty());
  CHECK(tables(0, "").next == "others");
  CHECK(tables(0.4, "").names == std::vector<std::string>{"others", "people"});
  CHECK(tables(0.4, "").next == "rest");
  CHECK(tables(0.4, "rest").names == std::vector<std::string>{"rest"});
  CHECK(!tables(0.4, "rest").next.has_value());
}

}  // namespace entitable
