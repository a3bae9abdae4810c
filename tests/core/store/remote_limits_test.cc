#include "core/store/remote_limits.h"

#include <string>
#include <utility>
#include <vector>

#include "core/model/service_error.h"
#include "core/store/sync_tables.h"
#include "core/store/versions.h"
#include "tests/support/catch.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using namespace test;

// What the code of sync writes when it has reached the remote.
void set_remote(const TestHost& host, Store& store, const std::string& value) {
  SyncedChanges changes{"people", store.last_commit(), {}};
  changes.rows.push_back({HiddenTable::state, EntityKey("client remote", ""), false, 0,
                          std::vector<Property>{{"V0", Value::of_binary(value)}}});
  const StageResult staged = host.stage(store, {SyncTables::apply(changes)}, noon);
  REQUIRE(succeeded(staged.results.at(0)));
  store.publish();
}

const std::string cosmos = R"([1,"cosmos"])";

// Opens a store with the tables "people", which is synced, and "cities", which is not. `remote`:
// empty if it was never reached.
Store synced_store(const std::string& remote, const TestHost& host = {}) {
  auto opened = host.open();
  REQUIRE(opened.ok());
  Store store = std::move(*opened);
  SyncTables(store).enable();
  publish(store, {create("people"), create("cities"), SyncTables::start("people")});
  if (!remote.empty()) set_remote(host, store, remote);
  return store;
}

Operation put(std::string row, std::vector<Property> properties,
              OperationKind kind = OperationKind::insert_or_replace) {
  return {kind, EntityKey("p", std::move(row)), std::move(properties), {}};
}

// Returns "" if the store accepts the write, which is not published.
std::string refusal(const TestHost& host, Store& store, const WriteRequest& request) {
  const StageResult staged = host.stage(store, {request}, noon);
  const auto* failure = std::get_if<GroupFailure>(&staged.results.at(0));
  CHECK(staged.changes == (failure == nullptr));
  if (staged.changes) store.discard();
  if (failure == nullptr) return "";
  return (failure->prefixed ? std::to_string(failure->index) + ":" : "") +
         std::string(service_error_of(failure->error.code).code) + failure->error.message;
}
std::string refusal(Store& store, const WriteRequest& request) {
  return refusal(TestHost(), store, request);
}

const std::string longest_row_key(limits::cosmos_row_key_bytes_max, 'r');
const std::string too_long_row_key = longest_row_key + "r";

std::vector<Property> text(std::string value) {
  return {{"text", Value::of_string(std::move(value))}};
}

std::vector<Property> number(std::string name) {
  return {{std::move(name), Value::of_int32(1)}};
}

}  // namespace

TEST_CASE("row keys that Cosmos DB cannot have are refused") {
  Store store = synced_store(cosmos);
  const std::string too_large = "PropertyValueTooLarge";
  CHECK(refusal(store, write("people", put(longest_row_key, {}))).empty());
  CHECK(refusal(store, write("people", put(too_long_row_key, {}))) == too_large);
  std::string of_two_bytes;
  for (int i = 0; i < 127; ++i) of_two_bytes += "\u00fc";
  CHECK(refusal(store, write("people", put(of_two_bytes + "r", {}))).empty());
  CHECK(refusal(store, write("people", put(of_two_bytes + "\u00fc", {}))) == too_large);
  CHECK(refusal(store,
                write("people", {OperationKind::insert, EntityKey(too_long_row_key, ""), {}, {}}))
            .empty());
  CHECK(refusal(store, group("people", {put("a", {}), put(too_long_row_key, {})})) ==
        "1:" + too_large);
  CHECK(refusal(store, write("cities", put(too_long_row_key, {}))).empty());
}

TEST_CASE("names that Cosmos DB reserves are refused in any case") {
  Store store = synced_store(cosmos);
  for (const std::string name : {"id", "rid", "etag", "ResourceId", "Id", "ETag", "RESOURCEID"}) {
    CHECK(refusal(store, write("people", put("a", number(name)))) == "PropertyNameInvalid");
    CHECK(refusal(store, group("people", {put("a", number("x")), put("b", number(name))})) ==
          "1:PropertyNameInvalid");
    CHECK(refusal(store, group("people", {put("a", number(name))})) == "0:PropertyNameInvalid");
  }
  for (const std::string name : {"ide", "i", "_id", "ResourceIds", "resource", "tag"})
    CHECK(refusal(store, write("people", put("a", number(name)))).empty());
}

TEST_CASE("a remote of another service, or one that was not reached, has no such limits") {
  const Operation bad = put(too_long_row_key, number("id"));
  for (const std::string remote : {"", R"([1,"azure"])", R"([2,"cosmos"])", "?"}) {
    Store store = synced_store(remote);
    CHECK(refusal(store, write("people", bad)).empty());
  }
  Store store = synced_store(cosmos);
  set_remote(TestHost(), store, R"([1,"entitable"])");
  CHECK(refusal(store, write("people", bad)).empty());
  set_remote(TestHost(), store, cosmos);
  Store fork = Versions(store).fork_store();
  CHECK_FALSE(refusal(fork, write("people", bad)).empty());
  publish(store, {SyncTables::stop("people", false)});
  CHECK(refusal(store, write("people", bad)).empty());
}

TEST_CASE("what was written before the remote was known stays, and can be deleted or mended") {
  TestHost host;
  Store store = synced_store("", host);
  publish(store,
          {write("people", put(too_long_row_key, {})), write("people", put("a", number("id")))});
  set_remote(host, store, cosmos);
  host.store_pending(store);
  auto opened = host.open();
  REQUIRE(opened.ok());
  SyncTables(*opened).enable();
  const auto pending =
      host.with_parts(*opened, [&] { return SyncTables(*opened).has_pending_operations(); });
  CHECK(std::get<bool>(pending));
  CHECK(rows_of(*opened, "people") == "a=? " + too_long_row_key + "=?");
  CHECK(refusal(host, *opened, test::remove("people", "p", too_long_row_key)).empty());
  // A merge would keep the property that cannot be pushed; a replace removes it.
  CHECK(refusal(host, *opened,
                write("people", put("a", number("x"), OperationKind::insert_or_merge))) ==
        "PropertyNameInvalid");
  CHECK(refusal(host, *opened, write("people", put("a", number("x")))).empty());
}

TEST_CASE("the limits hold if the row that has the remote is not in memory") {
  TestHost host;
  Store store = synced_store(cosmos, host);
  host.store_pending(store);
  host.checkpoint(store);
  auto opened = host.open(TestHost::Load::on_demand);
  REQUIRE(opened.ok());
  SyncTables(*opened).enable();
  const WriteRequest bad = write("people", put(too_long_row_key, {}));
  const StageResult staged = opened->stage({bad}, noon);
  CHECK_FALSE(staged.parts_needed.empty());
  CHECK(refusal(host, *opened, bad) == "PropertyValueTooLarge");
}

namespace {

// Returns whether the operations have at most this many bytes by check_cosmos_limits(). The bytes
// that are missing are in a text of one more operation, a character each.
bool fits_exactly(std::vector<OperationToPush> operations, std::size_t bytes) {
  constexpr std::size_t other_bytes = 1024 + 6 + 2 + 64 + 2;  // with empty keys and a name of 1
  const auto refuses = [&](std::size_t characters) {
    const std::string filling(characters, 'x');
    const PropertyView property{"t", ValueView::of_string(filling)};
    const PutRow row{1, {}, 0, {&property, 1}, false, 0, {}, PutEffect::insert};
    std::vector<OperationToPush> all = operations;
    all.push_back({{}, &row, row.properties, false});
    return check_cosmos_limits(all, true).has_value();
  };
  const std::size_t left = limits::cosmos_batch_bytes_max - bytes - other_bytes;
  return !refuses(left) && refuses(left + 1);
}

bool has_bytes(const ValueView& value, std::size_t bytes) {
  const PropertyView property{"name", value};
  const PutRow row{1, {"p", "r"}, 0, {&property, 1}, false, 0, {}, PutEffect::insert};
  return fits_exactly({{row.key, &row, row.properties, false}}, 1024 + 6 * 3 + 2 * 4 + 64 + bytes);
}

}  // namespace

TEST_CASE("the size of a batch is that of its JSON") {
  CHECK(has_bytes(ValueView::of_string(""), 2));
  CHECK(has_bytes(ValueView::of_string("abc"), 5));
  CHECK(has_bytes(ValueView::of_string("\u00fc\u20ac\U0001F600"), 2 + 2 + 3 + 4));
  CHECK(has_bytes(ValueView::of_string("\"\\/\b\t\n\f\r"), 2 + 2 * 7 + 1));
  CHECK(has_bytes(ValueView::of_string("\x01\x0b\x1f\x7f"), 2 + 6 * 3 + 1));
  CHECK(has_bytes(ValueView::of_string("\xed\xa0\x80\xed\x9f\xbf"), 2 + 6 + 3));
  CHECK(has_bytes(ValueView::of_binary(""), 2));
  CHECK(has_bytes(ValueView::of_binary("abcd"), 2 + 8));
  CHECK(has_bytes(ValueView::of_boolean(true), 38));
  CHECK(has_bytes(ValueView::of_int64(1), 38));
}

TEST_CASE("only what a push sends counts for the size of a batch") {
  const PropertyView all[] = {{"a", ValueView::of_string("long text")},
                              {"b", ValueView::of_string("x")}};
  const std::span<const PropertyView> set(all + 1, 1);
  const PutRow row{1, {"p", "r"}, 0, all, false, 0, {}, PutEffect::update};
  const std::size_t none = 1024 + 6 * 3;
  const std::size_t one = none + 2 + 64 + 2 + 1;
  const std::size_t both = one + 2 + 64 + 2 + 9;
  CHECK(fits_exactly({{row.key, nullptr, {}, false}}, none));
  CHECK(fits_exactly({{row.key, &row, set, false}}, one));
  CHECK(fits_exactly({{row.key, &row, set, true}}, both));
  const PropertyView encrypted[] = {{"a", ValueView::of_string("x")},
                                    {"_ClientEncryptionMetadata1", ValueView::of_string("y")}};
  const PutRow other{1, {"p", "r"}, 0, encrypted, false, 0, {}, PutEffect::update};
  CHECK(fits_exactly({{row.key, &other, {}, false}}, one + 2 * 26 + 64 + 2 + 1));
}

TEST_CASE("transactions that are too large for Cosmos DB are refused as a whole") {
  Store store = synced_store(cosmos);
  const auto rows = [](std::size_t count, OperationKind kind) {
    std::vector<Operation> operations;
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<Property> texts;
      for (int t = 0; t < 10; ++t)
        texts.push_back({"t" + std::to_string(t), Value::of_string(std::string(20'000, 'x'))});
      operations.push_back(put(std::to_string(i), std::move(texts), kind));
    }
    return group("people", std::move(operations));
  };
  const auto merges = [](std::vector<Property> properties) {
    std::vector<Operation> operations;
    for (int i = 0; i < 10; ++i)
      operations.push_back(put(std::to_string(i), properties, OperationKind::insert_or_merge));
    return group("people", std::move(operations));
  };
  CHECK(refusal(store, rows(9, OperationKind::insert)).empty());
  CHECK(refusal(store, rows(10, OperationKind::insert)) == "RequestBodyTooLarge");
  publish(store, {rows(5, OperationKind::insert)});
  std::vector<Operation> others =
      std::get<WriteEntities>(rows(10, OperationKind::insert).body).operations;
  others.erase(others.begin(), others.begin() + 5);
  publish(store, {group("people", std::move(others))});
  // A merge sends what it changes, and nothing that is the same as before.
  CHECK(refusal(store, merges(text("short"))).empty());
  CHECK(refusal(store, merges(text(std::string(32'000, '\x01')))).empty());
  CHECK(refusal(store, rows(10, OperationKind::insert_or_merge)).empty());
  // A replace that removes a property sends the entity.
  publish(store, {merges(text("short"))});
  CHECK(refusal(store, rows(10, OperationKind::insert_or_replace)) == "RequestBodyTooLarge");
}

}  // namespace entitable
