#include "core/store/snapshot_export.h"

#include "tests/support/snapshot_files.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;  // request helpers

Operation large(int number) {
  Operation result =
      operation(OperationKind::insert_or_replace, "p", std::to_string(10'000 + number));
  result.properties.push_back({"text", Value::of_string(std::string(3000, 'x'))});
  return result;
}

}  // namespace

TEST_CASE("a snapshot holds tables, policies, rows and the service's properties") {
  Store store = new_store();
  publish(store,
          {create("people"),
           create("Zoo"),
           insert("people", "p", "1", 7),
           {std::nullopt, WriteTableAcl{"people", {{"id", std::nullopt, noon, "r"}}}},
           {std::nullopt, WriteServiceProperties{[](const std::string&) { return "<p/>"; }}}});
  const auto content = read_snapshot(TestHost().snapshot(store));
  REQUIRE(content.ok());
  CHECK((content->header == SnapshotHeader{2, 1, "<p/>"}));
  REQUIRE(content->tables.size() == 2);
  CHECK(content->tables[0].info.name == "people");
  CHECK(content->tables[0].info.acl == std::vector<AccessPolicy>{{"id", std::nullopt, noon, "r"}});
  CHECK(content->tables[1].info.name == "Zoo");
  REQUIRE(content->tables[0].rows.size() == 1);
  const auto answer = store.get("people", {"p", "1"});
  CHECK(content->tables[0].rows[0].timestamp == std::get<PinnedRow>(answer).row.timestamp());
}

TEST_CASE("an empty store has a snapshot") {
  Store store = new_store();
  const auto content = read_snapshot(TestHost().snapshot(store));
  REQUIRE(content.ok());
  CHECK((*content == SnapshotContent()));
}

TEST_CASE("a snapshot has the content from when it began, and is returned in chunks") {
  Store store = new_store();
  publish(store, {create("big")});
  for (int i = 0; i < 1000; ++i) publish(store, {write("big", large(i))});
  const std::string before = TestHost().snapshot(store);
  SnapshotExport snapshot(store);
  std::string file;
  std::size_t chunks = 0;
  while (true) {
    const auto next = snapshot.next_chunk();
    const auto* chunk = std::get_if<std::string>(&next);
    if (chunk == nullptr) break;
    CHECK(chunk->size() < 1'100'000);
    file += *chunk;
    ++chunks;
    publish(store, {write("big", large(static_cast<int>(chunks) * 300)),
                    remove("big", "p", "10005"), insert("big", "p", "10005", 1)});
    if (chunks == 2) publish(store, {drop("big"), create("big"), insert("big", "p", "10005")});
  }
  CHECK(chunks >= 3);
  CHECK((file == before));
}

TEST_CASE("the same content gives the same bytes, whatever its history") {
  Store one = new_store();
  publish(one, {create("aaa"), create("bbb"), insert("aaa", "p", "1", 1)});
  Store other = new_store();
  publish(other, {create("xxx"), create("bbb"), create("aaa"), drop("xxx")});
  publish(other, {insert("aaa", "p", "1", 1)});
  CHECK((TestHost().snapshot(one) == TestHost().snapshot(other)));
  // The reopened store has other leaves and parts.
  TestHost host;
  host.store_pending(other);
  REQUIRE(host.checkpoint(other));
  auto reopened = host.open();
  REQUIRE(reopened.ok());
  CHECK((TestHost().snapshot(one) == TestHost().snapshot(*reopened)));
}

}  // namespace entitable
