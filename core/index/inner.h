// An inner node: its children, and the lower bound of the range of each but the first. Internal to
// core/index.
//
// Bounds are short (tree_edit.h cuts them), lie in one text, and are searched by their heads
// (key_search.h).
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "core/index/node.h"
#include "core/model/key.h"

namespace entitable {

inline constexpr std::uint32_t inner_children_max = 64;

// A node on its way into an inner node, and where its range starts.
struct Child {
  EntityKey lower;
  Ref<Node> node;
};

class Inner : public Node {
 public:
  Inner();
  Inner(const Inner&) = default;
  // REQUIRES: 1 to inner_children_max children. The lower bound of the first is not kept.
  static Ref<Inner> build(std::span<const Child> children);

  std::uint32_t size() const { return size_; }
  const Ref<Node>& child(std::uint32_t i) const { return children_[i]; }
  KeyView lower(std::uint32_t i) const {  // REQUIRES: 1 <= i < size()
    const Bound& bound = bounds_[i];
    const char* const at = text_.data() + bound.at;
    return {{at, bound.partition_bytes}, {at + bound.partition_bytes, bound.row_bytes}};
  }
  // The child whose range holds the key.
  std::uint32_t find(const KeyView& key) const;
  // All children; the first one's lower bound is empty.
  std::vector<Child> children() const;

  // Changes. REQUIRES: this node is held once. Only those that take a node adjust the totals; for a
  // change inside a child the caller calls adjust().
  Ref<Node>& child_to_change(std::uint32_t i) { return children_[i]; }
  void adjust(const Totals& before, const Totals& after) {
    totals_ += after;
    totals_ -= before;
  }
  // Child i, which counted `before`, gives way to `nodes`; the first takes its lower bound.
  // REQUIRES: they fit.
  void replace(std::uint32_t i, const Totals& before, std::span<const Child> nodes);
  // Children i and i + 1 give way to one.
  void join(std::uint32_t i, Ref<Node> joined);

  // Empty: all well, as far as this node alone can tell.
  std::string verify() const;

 private:
  struct Bound {
    std::uint32_t at;  // in text_: partition, then row
    std::uint16_t partition_bytes;
    std::uint16_t row_bytes;
  };
  Bound add_text(const KeyView& key);
  void insert(std::uint32_t i, const KeyView& lower, const Ref<Node>& node);
  void compact_text();
  void set_heads();
  std::uint64_t own_memory() const;

  std::uint32_t size_ = 0;
  std::uint32_t prefix_ = 0;                               // bytes that all bounds share
  std::uint32_t garbage_ = 0;                              // bytes of text_ that no bound uses
  std::array<std::uint64_t, inner_children_max> heads_{};  // [0] unused, as in bounds_
  std::array<Ref<Node>, inner_children_max> children_;
  std::array<Bound, inner_children_max> bounds_{};
  std::string text_;
};

}  // namespace entitable
