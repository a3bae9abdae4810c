// Checks that a single write (Store::write) has the same response and the same pending commits as a
// group of one, even after memory ran out. The allocator of this test program fails on demand.
#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dispatch/dispatcher.h"
#include "core/store/versions.h"
#include "tests/core/rpc/request_builder.h"
#include "tests/support/call_messages.h"
#include "tests/support/catch.h"
#include "tests/support/env_number.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/prng.h"
#include "tests/support/test_host.h"

namespace entitable::dispatch {
namespace {

using rpc::RequestKind;
using test::OperationRecord;
using test::Prng;
using test::PropertyRecord;
using test::RequestBuilder;
using test::TestHost;

constexpr Ticks second = 10'000'000;

PropertyRecord property(Prng& prng, const std::string& name) {
  switch (prng.below(25)) {
    case 0:
      return test::bits_property(name, EdmType::int32, prng.below(100));
    case 1:
      return test::binary_property(name, std::string(prng.below(40), 'b'));
    case 2:
      return test::string_property(name, std::string(prng.below(20) == 0 ? 33'000 : 5, 's'));
    case 3:
      return test::text_property(name, EdmType::guid, 1, "c9da6455-213d-42c9-9a79-3e9149a57833");
    default:
      return test::string_property(name, std::string(prng.below(200), 'x'));
  }
}

std::vector<PropertyRecord> nearly_too_many_properties(Prng& prng) {
  std::vector<PropertyRecord> result;
  for (std::size_t i = 250 + prng.below(5); i > 0; --i) {
    result.push_back(test::bits_property("p" + std::to_string(i), EdmType::int32, i));
  }
  return result;
}

std::vector<PropertyRecord> nearly_too_large_properties(Prng& prng) {
  std::vector<PropertyRecord> result;
  for (std::size_t i = 16; i > 0; --i) {
    const std::size_t units = 32'000 + prng.below(900);
    result.push_back(test::string_property("t" + std::to_string(i), std::string(units, 'y')));
  }
  return result;
}

// Returns mostly one of a few short property lists, so that lists repeat; sometimes an invalid one.
std::vector<PropertyRecord> properties(Prng& prng) {
  static const std::vector<std::vector<std::string>> usual = {
      {"a", "bc"}, {"ab", "c"}, {"bc", "a"}, {}, {"a", "bc", "d"}};
  static const std::vector<std::vector<std::string>> others = {
      {"PartitionKey"}, {"a", "a"}, {"no name"}, {"Timestamp", "a"}};
  if (prng.below(40) == 0) return nearly_too_many_properties(prng);
  if (prng.below(40) == 0) return nearly_too_large_properties(prng);
  std::vector<PropertyRecord> result;
  if (prng.below(30) == 0) {
    result.push_back(test::string_property(std::string(254 + prng.below(3), 'n'), "long name"));
  }
  const auto& lists = prng.below(8) == 0 ? others : usual;
  for (const std::string& name : lists[prng.below(lists.size())]) {
    result.push_back(property(prng, name));
  }
  return result;
}

std::string table_message(RequestKind kind, const std::string& table) {
  return RequestBuilder(kind).text(table).build();
}

std::string random_message(Prng& prng) {
  const char* const tables[] = {"people", "things", "none"};
  const std::string table = tables[prng.below(20) == 0 ? 2 : prng.below(2)];
  if (prng.below(60) == 0) return table_message(RequestKind::drop_table, table);
  if (prng.below(20) == 0) return table_message(RequestKind::create_table, table);
  OperationRecord operation;
  operation.kind = static_cast<std::uint32_t>(prng.below(6));
  operation.partition = prng.below(5) == 0 ? "q" : "p";
  operation.row = std::to_string(prng.below(40));
  if (prng.below(30) == 0) operation.row = "a/b";
  if (prng.below(30) == 0) operation.row = std::string(511 + prng.below(3), 'k');
  if (operation.kind != 5) operation.properties = properties(prng);
  if (prng.below(2) == 0) operation.etag = "*";
  if (prng.below(9) == 0) operation.etag = "W/\"datetime'2020-01-01T00%3A00%3A00.0000001Z'\"";
  if (prng.below(40) == 0) operation.etag = "?";
  std::string message =
      test::write_request({table, {operation}, prng.below(4) == 0 ? 1U : 0U}).build();
  if (prng.below(40) == 0) message.resize(prng.below(message.size()));
  return message;
}

struct Fixture {
  Fixture() {
    REQUIRE(store.begin_recovery(std::nullopt).ok());
    store.finish_recovery();
  }
  rest::Account account;
  Store store;
  TestHost host;
  StagedResponses responses;
};

void write_as_group(Fixture& fixture, const std::string& message, Ticks now) {
  fixture.responses = StagedResponses();
  dispatch::stage(fixture.account, fixture.store, {message}, now, fixture.responses);
  while (!fixture.responses.parts_needed.empty()) {
    fixture.host.load_parts(fixture.store, fixture.responses.parts_needed);
    dispatch::stage(fixture.account, fixture.store, {message}, now, fixture.responses);
  }
  if (fixture.responses.changes) fixture.store.publish();
}

// Returns false if memory ran out after `allocations` allocations.
bool try_to_write(Fixture& fixture, const std::string& message, Ticks now, long allocations) {
  const std::vector<std::string_view> messages = {message};
  bool done = true;
  allocations_left = allocations;
  try {
    dispatch::stage_and_publish(fixture.account, fixture.store, messages, now, fixture.responses);
  } catch (const std::bad_alloc&) {
    done = false;
  }
  allocations_left = never;
  return done;
}

void check_same(const StoreStats& a, const StoreStats& b) {
  REQUIRE(a.last_commit == b.last_commit);
  REQUIRE(a.pending_bytes == b.pending_bytes);
  REQUIRE(a.rows == b.rows);
  REQUIRE(a.bytes == b.bytes);
}

// Repeats the write until it succeeds: memory runs out at the first allocation, then `every`
// allocations later in each attempt; 0: never. Returns the time of the last attempt. Each attempt
// has its own time, because the timestamps of a failed attempt are not issued again.
Ticks write_single(Fixture& fixture, const std::string& message, Ticks now, long every) {
  for (long left = every == 0 ? never : 0;; left += every) {
    const StoreStats before = fixture.store.stats();
    now += second;
    const bool done = try_to_write(fixture, message, now, left);
    if (done && fixture.responses.parts_needed.empty()) return now;
    if (done) {
      fixture.host.load_parts(fixture.store, fixture.responses.parts_needed);
      continue;
    }
    REQUIRE(fixture.store.verify() == "");
    check_same(fixture.store.stats(), before);
  }
}

// Two stores that get the same writes, one as single writes and one as groups.
class Pair {
 public:
  explicit Pair(Prng& prng) : prng_(prng), has_versions_(prng.below(2) == 0) {
    for (const char* table : {"people", "things"}) {
      write(table_message(RequestKind::create_table, table), 0);
    }
  }

  void write(const std::string& message, long every) {
    now_ = write_single(alone_, message, now_, every);
    write_as_group(group_, message, now_);
    REQUIRE(alone_.responses.changes == group_.responses.changes);
    REQUIRE(alone_.responses.failed == group_.responses.failed);
    REQUIRE(alone_.responses.responses.size() == 1);
    REQUIRE(alone_.responses.responses[0].view() == group_.responses.responses[0].view());
    REQUIRE(alone_.store.verify() == "");
    check_same(alone_.store.stats(), group_.store.stats());
    const ClientId client = test::client_id('a');
    REQUIRE(alone_.store.known_calls(client) == group_.store.known_calls(client));
  }

  // Changes versions or the log, which may affect what a store caches for later writes.
  void change_state() { has_versions_ ? change_versions() : change_log(); }

 private:
  void store_pending() {
    const std::size_t limit = prng_.below(2) == 0 ? Store::no_limit : prng_.below(2000);
    alone_.host.segment_bytes = group_.host.segment_bytes = limit;
    alone_.host.store_pending(alone_.store);
    group_.host.store_pending(group_.store);
    REQUIRE(alone_.host.segments == group_.host.segments);
  }

  void change_log() {
    store_pending();
    switch (prng_.below(3)) {
      case 0:
        alone_.host.checkpoint(alone_.store);
        group_.host.checkpoint(group_.store);
        REQUIRE(alone_.host.parts == group_.host.parts);
        break;
      case 1:
        alone_.store = std::move(*alone_.host.open(TestHost::Load::on_demand));
        group_.store = std::move(*group_.host.open(TestHost::Load::on_demand));
        break;
      default:
        break;
    }
  }

  void change_versions() {
    switch (prng_.below(4)) {
      case 0:
        kept_.push_back(Versions(alone_.store).keep());
        REQUIRE(Versions(group_.store).keep() == kept_.back());
        break;
      case 1:
        if (kept_.empty()) break;
        Versions(alone_.store).rollback(kept_.back());
        Versions(group_.store).rollback(kept_.back());
        break;
      case 2:
        kept_.clear();
        alone_.store = Versions(alone_.store).fork_store();
        group_.store = Versions(group_.store).fork_store();
        break;
      default:
        store_pending();
        break;
    }
  }

  Prng& prng_;
  bool has_versions_;
  Fixture alone_, group_;
  std::vector<std::uint64_t> kept_;
  Ticks now_ = 638'000'000'000'000'001;
};

}  // namespace

TEST_CASE("a single write has the same effect as a group of one, wherever memory ran out before") {
  const std::uint64_t seed = test::number_from_env("ENTITABLE_SEED", 1);
  const std::uint64_t steps =
      std::min<std::uint64_t>(test::number_from_env("ENTITABLE_STEPS", 600), 20'000);
  CAPTURE(seed);
  Prng prng(seed);
  std::optional<Pair> pair;
  for (std::uint64_t step = 0; step < steps; ++step) {
    CAPTURE(step);
    if (step % 150 == 0) pair.emplace(prng);
    std::string message = random_message(prng);
    // A few calls have the number of an earlier one.
    if (prng.below(2) == 0)
      message = test::in_call(prng.below(10) == 0 ? step - step / 9 : step, message);
    pair->write(message, prng.below(4) == 0 ? 1 + static_cast<long>(prng.below(5)) : 0);
    if (prng.below(4) == 0) pair->change_state();
  }
}

}  // namespace entitable::dispatch
