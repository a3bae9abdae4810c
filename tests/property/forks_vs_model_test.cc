// Random writes, forks and rollbacks on a tree of forked stores, each with kept versions. Each
// store must agree with its own model. Its snapshot must also equal that of a store that was never
// forked and received the same calls. ENTITABLE_SEED replays one seed, ENTITABLE_STEPS sets the
// number of steps.
#include <algorithm>
#include <map>

#include "core/store/versions.h"
#include "tests/support/catch.h"
#include "tests/support/env_number.h"
#include "tests/support/generators.h"
#include "tests/support/model_store.h"
#include "tests/support/prng.h"
#include "tests/support/store_helpers.h"
#include "tests/support/test_host.h"

namespace entitable {
namespace {

using test::ModelStore;
using test::number_from_env;
using test::pick;
using test::Prng;

const std::vector<std::string> tables = {"people", "Orders"};
const std::vector<std::string> partitions = {"", "a", "b"};
constexpr std::size_t stores_max = 12;

struct Call {
  std::vector<WriteRequest> requests;
  Ticks now;
};

// The expected content of a store or kept version, and the calls that led to it.
struct Past {
  ModelStore model;
  std::vector<Call> calls;
};

struct Node {
  Store store;
  Past past;
  std::map<std::uint64_t, Past> kept;
};

class Forest {
 public:
  explicit Forest(std::uint64_t seed) : prng_(seed) {
    nodes_.reserve(stores_max);  // nodes do not move when fork() adds one
    nodes_.push_back({test::new_store(), {}, {}});
  }

  void step() {
    Node& node = nodes_[prng_.below(nodes_.size())];
    switch (prng_.below(20)) {
      case 0:
        return fork(node);
      case 1:
        return keep(node);
      case 2:
      case 3:
        return rollback(node);
      case 4:
        return forget(node);
      case 5:
        if (nodes_.size() > 1) nodes_.erase(nodes_.begin() + (&node - nodes_.data()));
        return;
      default:
        return write(node);
    }
  }

  void compare_everything() {
    for (Node& node : nodes_) compare(node);
  }

 private:
  WriteRequest random_request() {
    const std::string& table = pick(prng_, tables);
    if (prng_.chance(12)) return test::create(table);
    if (prng_.chance(60)) return test::drop(table);
    Operation operation{static_cast<OperationKind>(prng_.below(6)),
                        EntityKey(pick(prng_, partitions), "r" + std::to_string(prng_.below(200))),
                        {},
                        {}};
    if (operation.kind == OperationKind::remove || operation.kind == OperationKind::replace ||
        operation.kind == OperationKind::merge) {
      operation.if_match = IfMatch::any();
    }
    if (operation.kind != OperationKind::remove) {
      for (std::uint64_t i = prng_.below(4), name = prng_.below(25); i > 0; --i, name += 7) {
        operation.properties.push_back(
            {"name" + std::to_string(name % 29),
             prng_.chance(2) ? Value::of_int32(static_cast<std::int32_t>(prng_.below(5)))
                             : Value::of_string(std::string(prng_.below(200), 's'))});
      }
    }
    return test::write(table, std::move(operation));
  }

  void write(Node& node) {
    Call call{{}, 638'000'000'000'000'000 + static_cast<Ticks>(prng_.below(1'000))};
    for (std::uint64_t count = 1 + prng_.below(6); count > 0; --count) {
      call.requests.push_back(random_request());
    }
    ModelStore after = node.past.model;
    const StageResult staged = node.store.stage(call.requests, call.now);
    REQUIRE(staged.results.size() == call.requests.size());
    for (std::size_t i = 0; i < call.requests.size(); ++i) {
      const auto expected = after.check(call.requests[i]);
      const auto* done = std::get_if<WriteSuccess>(&staged.results[i]);
      REQUIRE(expected.has_value() == (done == nullptr));
      if (done != nullptr) after.apply(call.requests[i], done->timestamps);
    }
    if (!staged.changes) return;
    node.store.publish();
    if (prng_.chance(2)) node.store.mark_stored(node.store.seal()->sequence);
    node.past.model = std::move(after);
    node.past.calls.push_back(std::move(call));
  }

  void fork(Node& node) {
    if (nodes_.size() == stores_max) return;
    nodes_.push_back({Versions(node.store).fork_store(), node.past, {}});
  }
  void keep(Node& node) { node.kept[Versions(node.store).keep()] = node.past; }
  void rollback(Node& node) {
    if (node.kept.empty()) return;
    const auto at =
        std::next(node.kept.begin(), static_cast<std::ptrdiff_t>(prng_.below(node.kept.size())));
    Versions(node.store).rollback(at->first);
    node.past = at->second;
  }
  void forget(Node& node) {
    if (node.kept.empty()) return;
    Versions(node.store).release(node.kept.begin()->first);
    node.kept.erase(node.kept.begin());
  }

  static void compare(Node& node) {
    REQUIRE(node.store.verify().empty());
    REQUIRE(node.store.stats().tables.size() == node.past.model.tables().size());
    for (const auto& [folded, table] : node.past.model.tables()) {
      const auto answer = node.store.query(folded, Query{});
      const auto* page = std::get_if<Page>(&answer);
      REQUIRE(page != nullptr);
      const std::vector<Entity> expected = node.past.model.query(folded, Filter{});
      REQUIRE(page->rows.size() == expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        REQUIRE(test::sorted(page->rows[i].materialize()) == test::sorted(expected[i]));
      }
    }
    Store alone = test::new_store();
    for (const Call& call : node.past.calls) {
      alone.stage(call.requests, call.now);
      alone.publish();
    }
    test::TestHost host;
    REQUIRE(host.snapshot(node.store) == host.snapshot(alone));
  }

  Prng prng_;
  std::vector<Node> nodes_;
};

// A limit, because the run time grows with the square of the steps: each comparison repeats all
// calls.
constexpr std::uint64_t steps_max = 20'000;

}  // namespace

TEST_CASE(
    "each store of a tree of forks agrees with its model, and with a store that was never forked") {
  const std::uint64_t seed = number_from_env("ENTITABLE_SEED", 20261122);
  const std::uint64_t steps = std::min(number_from_env("ENTITABLE_STEPS", 3000), steps_max);
  INFO("replay with ENTITABLE_SEED=" << seed);
  Forest forest(seed);
  for (std::uint64_t step = 0; step < steps; ++step) {
    INFO("step " << step);
    forest.step();
    if (step % 500 == 499) forest.compare_everything();
  }
  forest.compare_everything();
}

}  // namespace entitable
