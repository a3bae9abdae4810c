// The lower bounds of an inner node's children, in the form that a search needs. Internal to
// core/index.
//
// Bounds are short (leaf_split.h cuts them) and share one buffer. As for the keys of a leaf, a
// search looks for the partition first, then for the row (key_search.h). The first bound of a
// partition usually has an empty row, which is left out of the prefix that the rows of the run
// share.
//
// Bounds change only when children are added or removed. Copies of an inner node therefore share
// them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/refcounted.h"
#include "core/index/key_search.h"
#include "core/model/key.h"

namespace entitable {

inline constexpr std::uint32_t inner_children_max = 64;

class ChildBounds : public RefCounted<ChildBounds> {
 public:
  // In key order. [0] is unused: the first child has no lower bound in this node.
  using List = std::array<KeyView, inner_children_max>;

  std::uint32_t child_count() const { return children_; }
  KeyView operator[](std::uint32_t i) const {  // REQUIRES: 1 <= i < children()
    return {partition(run_containing(runs_.data(), run_count(), i)), row(i)};
  }
  // Returns the index of the child whose range holds the key.
  std::uint32_t find(const KeyView& key) const;
  List list() const;
  std::uint64_t memory_bytes() const;

  // Changes. The arguments may point into these bounds. If memory runs out, nothing has changed.
  // REQUIRES: these bounds are referenced once.
  void assign(const List& bounds, std::uint32_t children);
  void insert(std::uint32_t i, const KeyView& bound);
  void erase(std::uint32_t i);

  // Returns an empty text if the invariants hold, else the first violation.
  std::string verify() const;

 private:
  struct Row {
    std::uint32_t at;  // start in text_
    std::uint32_t bytes;
  };

  std::uint32_t run_count() const { return static_cast<std::uint32_t>(runs_.size()); }
  std::uint32_t run_end(std::uint32_t r) const {
    return r + 1 < run_count() ? runs_[r + 1].first : children_;
  }
  std::string_view partition(std::uint32_t r) const {
    return {text_.data() + runs_[r].text, runs_[r].text_bytes};
  }
  std::string_view row(std::uint32_t i) const {
    return {text_.data() + rows_[i].at, rows_[i].bytes};
  }
  bool insert_into_run(std::uint32_t i, const KeyView& bound);
  void set_heads();
  void set_row_heads(std::uint32_t run);

  std::uint32_t children_ = 0;
  std::uint32_t partition_prefix_ = 0;  // bytes that all partition keys share
  std::vector<KeyRun> runs_;            // runs of bounds; the first run starts at bound 1
  std::array<std::uint32_t, inner_children_max> heads_{};  // heads of the row keys, [0] unused
  std::array<Row, inner_children_max> rows_{};             // row keys, [0] unused
  std::string text_;
};

}  // namespace entitable
