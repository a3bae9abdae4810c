// The lower bounds of an inner node's children, which a search goes through. Internal to
// core/index.
//
// Bounds are short (leaf_split.h cuts them), lie in one text, and are searched in two steps like
// the keys of a leaf (key_search.h): partition first, then row. Where a partition starts, the bound
// mostly has an empty row; it takes no part in its run's prefix.
//
// They change only when children come or go, so the copies that writes make of an inner node share
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

class Bounds : public RefCounted<Bounds> {
 public:
  // In order, [0] unused: the first child's range has no bound here.
  using List = std::array<KeyView, inner_children_max>;

  std::uint32_t children() const { return children_; }
  KeyView operator[](std::uint32_t i) const {  // REQUIRES: 1 <= i < children()
    return {partition(run_containing(runs_.data(), run_count(), i)), row(i)};
  }
  // The child whose range holds the key.
  std::uint32_t find(const KeyView& key) const;
  List list() const;
  std::uint64_t memory() const;

  // Changes. REQUIRES: these bounds are held once. What is given may look into them. Without memory
  // all is as before.
  void assign(const List& bounds, std::uint32_t children);
  void insert(std::uint32_t i, const KeyView& bound);
  void erase(std::uint32_t i);

  // Empty: all well.
  std::string verify() const;

 private:
  struct Row {
    std::uint32_t at;  // in text_
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
  std::uint32_t partition_prefix_ = 0;                     // bytes that all partition keys share
  std::vector<KeyRun> runs_;                               // of bounds; the first starts at 1
  std::array<std::uint32_t, inner_children_max> heads_{};  // of row keys, [0] unused
  std::array<Row, inner_children_max> rows_{};             // likewise
  std::string text_;
};

}  // namespace entitable
