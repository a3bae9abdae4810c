// An inner node: its children, and the lower bound of the range of each but the first. Internal to
// core/index.
//
// Bounds are short (leaf_split.h cuts them), lie in one text, and are searched in two steps like
// the keys of a leaf (key_search.h): partition first, then row. Where a partition starts, the bound
// mostly has an empty row; it takes no part in its run's prefix.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "core/index/key_search.h"
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
    return {partition(run_holding(runs_.data(), run_count(), i)), row(i)};
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
  struct Row {
    std::uint32_t at;  // in text_
    std::uint32_t bytes;
  };
  // Bounds in order, [0] unused; those of a change look into the text that they replace.
  using Bounds = std::array<KeyView, inner_children_max>;

  std::uint32_t run_count() const { return static_cast<std::uint32_t>(runs_.size()); }
  std::uint32_t run_end(std::uint32_t r) const {
    return r + 1 < run_count() ? runs_[r + 1].first : size_;
  }
  std::string_view partition(std::uint32_t r) const {
    return {text_.data() + runs_[r].text, runs_[r].text_bytes};
  }
  std::string_view row(std::uint32_t i) const {
    return {text_.data() + rows_[i].at, rows_[i].bytes};
  }
  Bounds bounds() const;
  void set_bounds(const Bounds& bounds);
  void set_row_heads(std::uint32_t run);
  void insert(std::uint32_t i, const KeyView& lower, const Ref<Node>& node);
  bool insert_into_run(std::uint32_t i, const KeyView& lower);
  std::uint64_t own_memory() const;

  std::uint32_t size_ = 0;
  std::uint32_t partition_prefix_ = 0;                     // bytes that all partition keys share
  std::vector<KeyRun> runs_;                               // of bounds; the first starts at 1
  std::array<std::uint32_t, inner_children_max> heads_{};  // of row keys, [0] unused
  std::array<Row, inner_children_max> rows_{};             // likewise
  std::array<Ref<Node>, inner_children_max> children_;
  std::string text_;
};

}  // namespace entitable
