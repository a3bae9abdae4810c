#include "core/index/tree_edit.h"

#include <algorithm>
#include <vector>

#include "tests/core/index/index_testing.h"
#include "tests/support/catch.h"

namespace entitable {

using test::digits;

namespace {

std::vector<Child> unloaded_leaves(std::uint32_t from, std::uint32_t to) {
  std::vector<Child> leaves;
  for (std::uint32_t i = from; i < to; ++i) {
    leaves.push_back({EntityKey("p", digits(i)), as_node(Leaf::make_unloaded(i + 1, 1, 10))});
  }
  return leaves;
}

}  // namespace

TEST_CASE("an edit of a lone leaf has no bounds") {
  Ref<Node> root = as_node(make_ref<Leaf>());
  TreeEdit edit(root);
  edit.descend({"p", "r"});
  CHECK(edit.leaf().size() == 0);
  CHECK(edit.lower().partition.empty());
  CHECK_FALSE(edit.upper());
}

TEST_CASE("any number of leaves may replace one") {
  for (const std::uint32_t count : {1u, 2u, 64u, 65u, 500u, 5'000u}) {
    CAPTURE(count);
    Ref<Node> root = as_node(make_ref<Leaf>());
    {
      TreeEdit edit(root);
      edit.descend({"p", ""});
      edit.replace_leaf(unloaded_leaves(0, count));
    }
    CHECK(root->totals().rows == count);
    {
      TreeEdit edit(root);
      edit.descend({"p", digits(count / 2)});
      CHECK(edit.leaf().part() == count / 2 + 1);
      const std::vector<Child> more = unloaded_leaves(10'000, 10'300);
      std::vector<Child> between = {{EntityKey(), edit.leaf_node()}};
      for (const Child& child : more) {
        between.push_back({EntityKey("p", digits(count / 2) + child.lower.row), child.node});
      }
      edit.replace_leaf(std::move(between));
    }
    CHECK(root->totals().rows == count + 300);
    TreeEdit edit(root);
    edit.descend({"p", digits(count / 2) + digits(10'150) + "x"});
    CHECK(edit.leaf().part() == 10'151);
    CHECK(edit.lower().row == digits(count / 2) + digits(10'150));
    REQUIRE(edit.upper());
    CHECK(edit.upper()->row == digits(count / 2) + digits(10'151));
  }
}

TEST_CASE("an edit clones shared nodes and nothing else") {
  Ref<Node> root = as_node(make_ref<Leaf>());
  {
    TreeEdit edit(root);
    edit.descend_to_last();
    edit.replace_leaf(unloaded_leaves(0, 100));
  }
  const Ref<Node> pinned = root;
  {
    TreeEdit edit(root);
    edit.descend({"p", digits(50)});
    edit.replace_leaf({{EntityKey(), as_node(make_ref<Leaf>())}});
  }
  CHECK_FALSE(root == pinned);
  CHECK(pinned->totals().rows == 100);
  CHECK(root->totals().rows == 99);
  const Node* const before = root.get();
  {
    TreeEdit edit(root);
    edit.descend({"p", digits(50)});
    const Leaf* const leaf = &edit.leaf();
    CHECK(&edit.mutable_leaf(0) == leaf);
  }
  CHECK(root.get() == before);
}

TEST_CASE("an edit follows the path of an earlier edit") {
  Ref<Node> root = as_node(make_ref<Leaf>());
  {
    TreeEdit edit(root);
    edit.descend_to_last();
    edit.replace_leaf(unloaded_leaves(0, 10'000));
  }
  TreePath path;
  const Leaf* leaf = nullptr;
  {
    TreeEdit edit(root);
    edit.descend({"p", digits(5'000)});
    leaf = &edit.leaf();
    edit.record_path(path);
  }
  TreeEdit along(root);
  along.descend(path);
  CHECK(&along.leaf() == leaf);
  TreeEdit alone(root);
  CHECK(alone.descend_if_unshared(path));
  CHECK(&alone.leaf() == leaf);
  const Ref<Node> pinned = root;
  TreeEdit shared(root);
  CHECK_FALSE(shared.descend_if_unshared(path));
}

namespace {

// Returns the nodes of the tree, by address, without its leaves.
void add_inner_nodes(const Ref<Node>& node, std::vector<const Node*>& nodes) {
  if (node->is_leaf()) return;
  nodes.push_back(node.get());
  const auto& inner = static_cast<const InnerNode&>(*node);
  for (std::uint32_t i = 0; i < inner.size(); ++i) add_inner_nodes(inner.child(i), nodes);
}

std::vector<const Node*> inner_nodes(const Ref<Node>& root) {
  std::vector<const Node*> nodes;
  add_inner_nodes(root, nodes);
  return nodes;
}

KeyRange from_to(std::uint32_t from, std::uint32_t to) {
  return {EntityKey("p", digits(from)), EntityKey("p", digits(to))};
}

}  // namespace

TEST_CASE("replacing adjacent leaves by one keeps all nodes that are not above them") {
  Ref<Node> root = as_node(make_ref<Leaf>());
  {
    TreeEdit edit(root);
    edit.descend({"p", ""});
    edit.replace_leaf(unloaded_leaves(0, 20'000));
  }
  const Ref<Node> before = root;
  const std::vector<const Node*> old = inner_nodes(before);
  REQUIRE(old.size() > 300);
  replace_leaves(root, from_to(7'000, 7'100), as_node(Leaf::make_unloaded(90'000, 5, 10)));
  CHECK(root->totals().rows == 20'000 - 100 + 5);
  CHECK(before->totals().rows == 20'000);
  const std::vector<const Node*> now = inner_nodes(root);
  const auto kept = std::count_if(now.begin(), now.end(), [&](const Node* node) {
    return std::find(old.begin(), old.end(), node) != old.end();
  });
  CHECK(now.size() - static_cast<std::size_t>(kept) < 10);
  TreeEdit edit(root);
  edit.descend({"p", digits(7'050)});
  CHECK(edit.leaf().part() == 90'000);
  CHECK(edit.lower().row == digits(7'000));
  REQUIRE(edit.upper());
  CHECK(edit.upper()->row == digits(7'100));
}

TEST_CASE("leaves can be replaced by one and split again at random") {
  test::Prng random(7);
  Ref<Node> root = as_node(make_ref<Leaf>());
  constexpr std::uint32_t width = 40;  // leaves of a part
  constexpr std::uint32_t parts = 300;
  std::vector<bool> joined(parts, false);
  {
    TreeEdit edit(root);
    edit.descend({"p", ""});
    edit.replace_leaf(unloaded_leaves(0, parts * width));
  }
  for (int step = 0; step < 3'000; ++step) {
    const auto part = static_cast<std::uint32_t>(random.below(parts));
    const std::uint32_t from = part * width;
    if (joined[part]) {
      TreeEdit edit(root);
      edit.descend({"p", digits(from)});
      edit.replace_leaf(unloaded_leaves(from, from + width));
    } else {
      KeyRange range = from_to(from, from + width);
      if (part == 0) range.lower = EntityKey();
      if (part == parts - 1) range.upper.reset();
      replace_leaves(root, range, as_node(Leaf::make_unloaded(100'000 + part, width, 10 * width)));
    }
    joined[part] = !joined[part];
    REQUIRE(root->totals().rows == parts * width);
    TreeEdit edit(root);
    edit.descend({"p", digits(random.below(parts * width))});
    const std::uint32_t found = edit.leaf().part() > 100'000 - 1
                                    ? static_cast<std::uint32_t>(edit.leaf().part()) - 100'000
                                    : static_cast<std::uint32_t>(edit.leaf().part() - 1) / width;
    REQUIRE(joined[found] == (edit.leaf().part() >= 100'000));
  }
  for (std::uint32_t part = 0; part < parts; ++part) {
    KeyRange range = from_to(part * width, part * width + width);
    if (part == 0) range.lower = EntityKey();
    if (part == parts - 1) range.upper.reset();
    if (!joined[part])
      replace_leaves(root, range, as_node(Leaf::make_unloaded(100'000 + part, width, 10)));
  }
  CHECK(inner_nodes(root).size() < 25);
  replace_leaves(root, KeyRange(), as_node(Leaf::make_unloaded(1, 3, 10)));
  CHECK(root->is_leaf());
  CHECK(root->totals().rows == 3);
}

}  // namespace entitable
