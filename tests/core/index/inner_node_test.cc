#include "core/index/inner_node.h"

#include "core/index/leaf.h"
#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"

namespace entitable {

using test::digits;
using test::Prng;

namespace {

Ref<Node> leaf_of(std::uint64_t rows) {
  return as_node(Leaf::make_unloaded(1, rows, rows * 10));
}

std::vector<Child> children(std::uint32_t count) {
  std::vector<Child> made;
  for (std::uint32_t i = 0; i < count; ++i) {
    made.push_back({i == 0 ? EntityKey() : EntityKey("p", digits(i)), leaf_of(i)});
  }
  return made;
}

std::string bounds(const InnerNode& inner) {
  std::string all;
  for (std::uint32_t i = 1; i < inner.size(); ++i) {
    all += std::string(inner.lower(i).partition) + "|" + std::string(inner.lower(i).row) + " ";
  }
  return all;
}

}  // namespace

TEST_CASE("an inner node finds the child whose range holds a key") {
  const Ref<InnerNode> inner =
      InnerNode::build(std::vector<Child>{{EntityKey(), leaf_of(1)},
                                          {EntityKey("b", ""), leaf_of(2)},
                                          {EntityKey("b", "5"), leaf_of(3)},
                                          {EntityKey("d", "1"), leaf_of(4)}});
  CHECK(inner->verify() == "");
  CHECK(inner->size() == 4);
  CHECK(inner->find({"", ""}) == 0);
  CHECK(inner->find({"a", "9"}) == 0);
  CHECK(inner->find({"b", ""}) == 1);
  CHECK(inner->find({"b", "4"}) == 1);
  CHECK(inner->find({"b", "5"}) == 2);
  CHECK(inner->find({std::string_view("b\0", 2), ""}) == 2);
  CHECK(inner->find({"c", "0"}) == 2);
  CHECK(inner->find({"d", "0"}) == 2);
  CHECK(inner->find({"d", "1"}) == 3);
  CHECK(inner->find({"e", ""}) == 3);
  CHECK(inner->totals().rows == 10);
  CHECK(inner->totals().bytes == 100);
}

TEST_CASE("an inner node of one child sends every key there") {
  const Ref<InnerNode> inner = InnerNode::build(children(1));
  CHECK(inner->verify() == "");
  CHECK(inner->find({"", ""}) == 0);
  CHECK(inner->find({"z", "z"}) == 0);
}

TEST_CASE("a child is replaced by several") {
  Ref<InnerNode> inner = InnerNode::build(children(3));
  const Totals before = inner->child(1)->totals();
  inner->replace_child(1, before,
                       std::vector<Child>{{EntityKey("ignored", ""), leaf_of(10)},
                                          {EntityKey("p", "000001+"), leaf_of(20)},
                                          {EntityKey("p", "000001-"), leaf_of(30)}});
  CHECK(inner->verify() == "");
  CHECK(bounds(*inner) == "p|000001 p|000001+ p|000001- p|000002 ");
  CHECK(inner->totals().rows == 0 + 10 + 20 + 30 + 2);
  // Adds a bound below all others that shares no prefix with them.
  inner->replace_child(
      0, inner->child(0)->totals(),
      std::vector<Child>{{EntityKey(), leaf_of(1)}, {EntityKey("a", ""), leaf_of(1)}});
  CHECK(inner->verify() == "");
  CHECK(bounds(*inner) == "a| p|000001 p|000001+ p|000001- p|000002 ");
  CHECK(inner->find({"b", ""}) == 1);
}

TEST_CASE("neighbours are merged") {
  Ref<InnerNode> inner = InnerNode::build(children(5));
  inner->replace_pair(1, leaf_of(100));
  CHECK(inner->verify() == "");
  CHECK(bounds(*inner) == "p|000001 p|000003 p|000004 ");
  CHECK(inner->totals().rows == 0 + 100 + 3 + 4);
  inner->replace_pair(0, leaf_of(7));
  inner->replace_pair(1, leaf_of(8));
  CHECK(inner->verify() == "");
  CHECK(bounds(*inner) == "p|000003 ");
  inner->replace_pair(0, leaf_of(9));
  CHECK(inner->verify() == "");
  CHECK(inner->size() == 1);
  CHECK(inner->totals().rows == 9);
}

TEST_CASE("children are listed with their bounds") {
  const Ref<InnerNode> inner = InnerNode::build(children(4));
  const std::vector<Child> all = inner->children();
  REQUIRE(all.size() == 4);
  CHECK(all[0].lower == EntityKey());
  CHECK(all[3].lower == EntityKey("p", digits(3)));
  CHECK(all[3].node == inner->child(3));
}

TEST_CASE("a copy is independent") {
  const Ref<InnerNode> inner = InnerNode::build(children(6));
  const Ref<InnerNode> copy(new InnerNode(*inner));
  copy->replace_pair(2, leaf_of(50));
  CHECK(copy->verify() == "");
  CHECK(inner->verify() == "");
  CHECK(inner->size() == 6);
  CHECK(copy->size() == 5);
}

TEST_CASE("random bounds are added and removed") {
  const std::uint64_t seed = 5;
  CAPTURE(seed);
  Prng random(seed);
  for (int round = 0; round < 20; ++round) {
    Ref<InnerNode> inner = InnerNode::build(children(1));
    std::map<EntityKey, int, test::KeyOrder> model;
    for (int step = 0; step < 300; ++step) {
      const EntityKey key(test::hard_text(random, 2), test::hard_text(random, 2));
      const std::uint32_t at = inner->find(key.view());
      const auto above = model.upper_bound(key);
      REQUIRE(at == static_cast<std::size_t>(std::distance(model.begin(), above)));
      if (inner->size() == inner_children_max || (inner->size() > 1 && random.chance(3))) {
        const auto i = static_cast<std::uint32_t>(random.below(inner->size() - 1));
        inner->replace_pair(i, leaf_of(step + 0u));
        model.erase(std::next(model.begin(), i));
      } else if (key != EntityKey() && model.emplace(key, 0).second) {
        inner->replace_child(at, inner->child(at)->totals(),
                             std::vector<Child>{{EntityKey(), leaf_of(1)}, {key, leaf_of(2)}});
      }
      REQUIRE(inner->verify() == "");
      REQUIRE(inner->size() == model.size() + 1);
    }
  }
}

}  // namespace entitable
