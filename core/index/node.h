// The base class of the tree's leaves and inner nodes, with their totals. Internal to core/index.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/refcounted.h"
#include "core/model/commit.h"

namespace entitable {

// The maximum depth. A deeper tree would not fit into memory.
inline constexpr std::uint32_t tree_depth_max = 16;

// A path from the root to a leaf and a slot in that leaf, stored as a hint for the next search. The
// hint is checked against the tree before use, so it may come from any version.
struct TreePath {
  // The index of the child at each level, from the root.
  std::array<std::uint8_t, tree_depth_max> children{};
  std::uint32_t run = 0;
  std::uint32_t slot = 0;
};

// Sums over a node and everything below it.
struct Totals {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;   // size of the packed rows
  std::uint64_t memory = 0;  // memory that the nodes hold, in bytes

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

// A Leaf or an InnerNode. A node may be changed in place if it and all nodes above it are
// referenced once. A shared node keeps its rows and keys. Only the mutable members of a shared leaf
// change: its part with the number of leaves and the overlay (Leaf::set_part), its used flag and
// its column cache.
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
