// Tests the versions of a store: forks, kept versions and rollbacks.
#include "core/store/versions.h"

#include "core/index/schema.h"
#include "core/store/restore.h"
#include "core/store/snapshot_export.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;  // request helpers

Store people() {
  Store store = new_store();
  publish(store, {create("people"), insert("people", "p", "a", 1)});
  return store;
}

// Marks pending commits as stored, as a host without a log does.
void store_nowhere(Store& store) {
  if (const auto segment = store.seal()) store.mark_stored(segment->sequence);
}

std::string file_of(Store& store) {
  return TestHost().snapshot(store);
}

WriteRequest put(const std::string& row, const std::vector<std::string>& names) {
  Operation operation{OperationKind::insert_or_replace, EntityKey("p", row), {}, {}};
  for (const std::string& name : names) operation.properties.push_back({name, Value::of_int32(1)});
  return write("people", std::move(operation));
}

// Returns the names of a row's properties in the order in which readers see them.
std::string names_in(const Store& store, std::string_view row) {
  const auto answer = store.get("people", {"p", row});
  std::string names;
  std::get<PinnedRow>(answer).row.for_each_property(
      [&names](std::string_view name, const ValueView&) {
        names += (names.empty() ? "" : " ") + std::string(name);
      });
  return names;
}

bool is_generic(const Store& store, std::string_view row) {
  const auto answer = store.get("people", {"p", row});
  return std::get<PinnedRow>(answer).row.shape().is_generic();
}

}  // namespace

TEST_CASE("a fork starts with the published version and changes independently") {
  Store store = people();
  Store fork = Versions(store).fork_store();
  CHECK(rows_of(fork, "people") == "a=1");
  publish(store, {upsert("people", "p", "a", 2), create("more")});
  publish(fork, {insert("people", "p", "b", 3), drop("people"), create("other")});
  CHECK(rows_of(store, "people") == "a=2");
  CHECK(rows_of(store, "other") == "no table");
  CHECK(rows_of(fork, "people") == "no table");
  CHECK(rows_of(fork, "more") == "no table");
  CHECK(rows_of(fork, "other").empty());
  CHECK(store.verify().empty());
  CHECK(fork.verify().empty());
}

TEST_CASE("a fork outlives its store, and can be forked itself") {
  std::optional<Store> store = people();
  Store fork = Versions(*store).fork_store();
  store.reset();
  Store second = Versions(fork).fork_store();
  publish(fork, {upsert("people", "p", "a", 5)});
  CHECK(rows_of(fork, "people") == "a=5");
  CHECK(rows_of(second, "people") == "a=1");
  CHECK(second.verify().empty());
}

TEST_CASE("a fork has its own policies, properties, calls and clock") {
  Store store = people();
  const auto service = [](std::string text) {
    return WriteRequest{std::nullopt, WriteServiceProperties{
                                          [text](const std::string& now) { return now + text; }}};
  };
  const auto policies = [](std::string id) {
    return WriteRequest{std::nullopt,
                        WriteTableAcl{"people", {{std::move(id), noon, std::nullopt, "r"}}}};
  };
  WriteRequest call = upsert("people", "p", "called", 1);
  call.call = ClientCall{ClientId{{1}}, 1, {}};
  publish(store, {service("a"), policies("one"), call}, noon + 1'000);
  Store fork = Versions(store).fork_store();
  CHECK_FALSE(fork.stage({call}, noon).changes);  // the call was already applied

  WriteRequest second = upsert("people", "p", "called", 2);
  second.call = ClientCall{ClientId{{1}}, 2, {}};
  publish(fork, {service("b"), policies("two"), second}, noon + 2'000);
  CHECK(fork.service_properties() == "ab");
  CHECK(store.service_properties() == "a");
  CHECK(fork.table_acl("people")->front().id == "two");
  CHECK(store.table_acl("people")->front().id == "one");
  const StageResult staged = store.stage({second}, noon);
  REQUIRE(staged.changes);  // the call was applied in the fork, but not in this store
  const Ticks timestamp = std::get<WriteSuccess>(staged.results[0]).timestamps[0];
  CHECK(timestamp > noon + 1'000);
  CHECK(timestamp < noon + 1'100);
}

TEST_CASE("a fork does not store the commits from before the fork") {
  Store store = people();
  CHECK(store.stats().pending_commits == 2);
  Store fork = Versions(store).fork_store();
  CHECK(fork.stats().pending_commits == 0);
  CHECK_FALSE(fork.seal().has_value());
  publish(fork, {insert("people", "p", "b", 2)});
  const auto segment = fork.seal();
  REQUIRE(segment.has_value());
  CHECK(segment->sequence == 1);
  fork.mark_stored(1);
  CHECK(fork.stats().pending_commits == 0);
  CHECK(store.stats().pending_commits == 2);
}

TEST_CASE("a store can roll back to kept versions any number of times") {
  Store store = people();
  const std::uint64_t one = Versions(store).keep();
  publish(store, {upsert("people", "p", "a", 2)});
  const std::uint64_t two = Versions(store).keep();
  CHECK(one != two);
  for (int round = 0; round < 3; ++round) {
    publish(store, {drop("people")});
    Versions(store).rollback(two);
    CHECK(rows_of(store, "people") == "a=2");
    publish(store, {insert("people", "p", "b", 3)});
    Versions(store).rollback(one);
    CHECK(rows_of(store, "people") == "a=1");
    CHECK(store.verify().empty());
  }
  Versions(store).release(one);
  Versions(store).rollback(two);
  CHECK(rows_of(store, "people") == "a=2");
  Versions(store).release(two);
  CHECK(rows_of(store, "people") == "a=2");
  CHECK(Versions(store).keep() > two);
}

TEST_CASE("a rollback drops pending commits, and later commits are stored") {
  Store store = people();
  store_nowhere(store);
  const std::uint64_t version = Versions(store).keep();
  publish(store, {upsert("people", "p", "a", 2)});
  Versions(store).rollback(version);
  CHECK(store.stats().pending_commits == 0);
  CHECK_FALSE(store.seal().has_value());
  publish(store, {upsert("people", "p", "a", 3)});
  CHECK(store.stats().pending_commits == 1);
  store_nowhere(store);
  CHECK(store.stats().pending_commits == 0);

  // The new commits reuse numbers of commits in a stored segment.
  publish(store, {upsert("people", "p", "a", 4)});
  store_nowhere(store);
  Versions(store).rollback(version);
  publish(store, {upsert("people", "p", "a", 5)});
  CHECK(store.seal().has_value());
  CHECK(rows_of(store, "people") == "a=5");
}

TEST_CASE("the same calls return the same bytes, in forks and after a rollback") {
  Store store = people();
  const auto calls = [](Store& in) {
    publish(in, {put("x", {"one", "two"}), upsert("people", "q", "y", 2)}, noon + 500);
    publish(in, {create("more"), put("z", {"three", "one"})}, noon);
    return file_of(in);
  };
  Store alone = people();
  const std::string expected = calls(alone);
  const std::uint64_t version = Versions(store).keep();
  Store first = Versions(store).fork_store();
  Store second = Versions(store).fork_store();
  CHECK(calls(first) == expected);
  publish(store, {put("other", {"three", "two", "four"})}, noon + 10'000);
  CHECK(calls(second) == expected);
  Versions(store).rollback(version);
  CHECK(calls(store) == expected);
}

TEST_CASE("columns are in the order of the store's own writes") {
  Store store = people();
  const std::uint64_t version = Versions(store).keep();
  Store one = Versions(store).fork_store();
  Store two = Versions(store).fork_store();
  publish(one, {put("x", {"b", "a"})});
  publish(two, {put("x", {"a", "b"})});
  publish(store, {put("x", {"b", "value", "a"})});
  CHECK(names_in(one, "x") == "b a");
  CHECK(names_in(two, "x") == "a b");
  CHECK(names_in(store, "x") == "value b a");
  Versions(store).rollback(version);
  publish(store, {put("x", {"a", "b", "value"})});
  CHECK(names_in(store, "x") == "value a b");
}

TEST_CASE("a fork that has used all its shapes does not affect other stores") {
  Store store = people();
  Store greedy = Versions(store).fork_store();
  for (std::size_t i = 0; i < shapes_max; ++i) {
    publish(greedy, {put("many", {"p" + std::to_string(i)})});
  }
  CHECK(is_generic(greedy, "many"));  // the last set, because people() had one shape already
  publish(store, {put("x", {"new"})});
  CHECK_FALSE(is_generic(store, "x"));
  Store fork = Versions(greedy).fork_store();
  publish(fork, {put("y", {"newer"}), put("z", {"p7"})});
  CHECK(is_generic(fork, "y"));
  CHECK_FALSE(is_generic(fork, "z"));
}

TEST_CASE("any number of nested forks with changes") {
  std::vector<Store> line;
  line.push_back(people());
  constexpr int generations = 300;
  for (int i = 1; i <= generations; ++i) {
    Store next = Versions(line.back()).fork_store();
    const std::string name = "p" + std::to_string(i);
    publish(next, {put("r" + std::to_string(i), {name, "all", "value"})});
    line.push_back(std::move(next));
  }
  CHECK(line.back().stats().rows == generations + 1);
  CHECK(names_in(line.back(), "r1") == "value p1 all");
  CHECK(names_in(line.back(), "r300") == "value all p300");
  CHECK(line[100].stats().rows == 101);
  line.erase(line.begin(), line.end() - 1);  // the last store keeps the nodes that it shares
  CHECK(line.back().verify().empty());
  CHECK(names_in(line.back(), "r150") == "value all p150");
  publish(line.back(), {put("x", {"p299", "p150"})});
  CHECK(names_in(line.back(), "x") == "p150 p299");
}

TEST_CASE("a snapshot continues with the version it started with") {
  Store store = people();
  const std::string expected = file_of(store);
  const std::uint64_t version = Versions(store).keep();
  SnapshotExport snapshot(store);
  publish(store, {drop("people")});
  Store fork = Versions(store).fork_store();
  Versions(store).rollback(version);
  publish(store, {upsert("people", "p", "a", 9)});
  std::string file;
  for (;;) {
    auto chunk = snapshot.next_chunk();
    if (std::holds_alternative<SnapshotComplete>(chunk)) break;
    file += std::get<std::string>(chunk);
  }
  CHECK(file == expected);
}

TEST_CASE("a fork can be replaced by a snapshot and forked again") {
  Store other = new_store();
  publish(other, {create("towns"), insert("towns", "p", "x", 7)});
  const std::string file = file_of(other);
  Store store = people();
  const std::uint64_t version = Versions(store).keep();
  Store fork = Versions(store).fork_store();
  for (Store* into : {&fork, &store}) {
    TestHost nowhere;
    store_nowhere(*into);
    Restore restore(*into);
    REQUIRE(nowhere.store_parts(restore, file).ok());
    REQUIRE(restore.finish_reading().ok());
    REQUIRE(restore.begin_replace(std::nullopt));
    REQUIRE(nowhere.write_checkpoint(*into));
    CHECK(rows_of(*into, "towns") == "x=7");
    CHECK(rows_of(*into, "people") == "no table");
    Store again = Versions(*into).fork_store();
    publish(again, {upsert("towns", "p", "y", 8)});
    CHECK(rows_of(again, "towns") == "x=7 y=8");
    CHECK(rows_of(*into, "towns") == "x=7");
  }
  store.set_memory_limit(1);
  store.enforce_memory_limit();  // unloads nothing, because no file could be loaded again
  CHECK(rows_of(store, "towns") == "x=7");
  Versions(store).rollback(version);
  CHECK(rows_of(store, "people") == "a=1");
  CHECK(store.verify().empty());
}

}  // namespace entitable
