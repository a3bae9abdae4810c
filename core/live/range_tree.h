// Finds which of many key ranges hold a key: a balanced search tree (AVL) of ranges in order of
// their lower bounds. Each node also knows the greatest upper bound below it, so a search skips all
// subtrees whose ranges end before the key. Adding, removing and finding a range take O(log n).
//
// Points are ranges that hold one key (KeyRange::point), so no second structure is needed for them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/index/key_range.h"

namespace entitable {

class Watch;

class RangeTree {
 public:
  RangeTree();
  ~RangeTree();
  RangeTree(const RangeTree&) = delete;
  RangeTree& operator=(const RangeTree&) = delete;

  // Adds a range of the watch. Returns the range, which stays at its address until all watches of
  // an equal range are removed. REQUIRES: the range is not empty; the watch has no equal range.
  const KeyRange* add(const KeyRange& range, Watch* watch);
  // REQUIRES: `range` is the result of add() for the watch.
  void remove(const KeyRange* range, Watch* watch);
  bool empty() const { return root_ == nullptr; }
  // Returns whether a range holds the key.
  bool covers(const KeyView& key) const;
  // Appends the watches whose ranges hold the key.
  void find(const KeyView& key, std::vector<Watch*>& watches) const;

  // Returns the first violation of the invariants, or an empty text. For tests.
  std::string verify() const;

 private:
  struct Node;
  using Link = std::unique_ptr<Node>;
  static const KeyRange* add(Link& link, const KeyRange& range, Watch* watch);
  static void remove(Link& link, const KeyRange& range);
  static Link take_first(Link& link);
  static void rotate_left(Link& link);
  static void rotate_right(Link& link);
  static void rebalance(Link& link);
  static void update(Node& node);
  template <typename Visit>
  static bool visit_holders(const Node* node, const KeyView& key, Visit& visit);
  Node& node_of(const KeyRange& range) const;
  static std::string verify(const Node* node);

  Link root_;
};

}  // namespace entitable
