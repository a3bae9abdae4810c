#include "core/index/tree_edit.h"

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

}  // namespace entitable
