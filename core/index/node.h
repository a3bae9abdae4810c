// What leaves and inner nodes of the tree have in common. Internal to core/index.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/refcounted.h"
#include "core/model/commit.h"

namespace entitable {

// A tree this deep would not fit into any memory.
inline constexpr std::uint32_t tree_depth_max = 16;

// A way down the tree and a place in the leaf at its end, where the next key may well be, too. Only
// numbers, which are held against the tree before they are believed: so they may be of any version
// and any age.
struct TreePath {
  std::array<std::uint8_t, tree_depth_max> children{};  // by level, the root's first
  std::uint32_t run = 0;
  std::uint32_t slot = 0;
};

// Sums over everything below a node, itself included.
struct Totals {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;   // packed rows
  std::uint64_t memory = 0;  // held by the nodes

  Totals& operator+=(const Totals& other) {
    rows += other.rows;
    bytes += other.bytes;
    memory += other.memory;
    return *this;
  }
  Totals& operator-=(const Totals& other) {
    rows -= other.rows;
    bytes -= other.bytes;
    memory -= other.memory;
    return *this;
  }
  friend bool operator==(const Totals&, const Totals&) = default;
};

// A Leaf or an InnerNode. Held once along the whole path from a root, it may be changed in place;
// else it is never changed, apart from the part that a leaf remembers, and that it was used.
class Node : public RefCounted<Node> {
 public:
  virtual ~Node() = default;
  bool is_leaf() const { return leaf_; }
  const Totals& totals() const { return totals_; }

 protected:
  explicit Node(bool leaf) : leaf_(leaf) {}
  Node(const Node&) = default;
  Totals totals_;

 private:
  const bool leaf_;
};

template <typename T>
Ref<Node> as_node(const Ref<T>& node) {
  return Ref<Node>(node.get());
}

}  // namespace entitable
