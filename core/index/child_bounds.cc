#include "core/index/child_bounds.h"

#include <algorithm>

#include "core/base/check.h"

namespace entitable {

std::uint32_t ChildBounds::find(const KeyView& key) const {
  const SearchResult run = search_runs(runs_.data(), run_count(), partition_prefix_, key.partition,
                                       [this](std::uint32_t r) { return partition(r); });
  if (!run.found) return (run.index < run_count() ? runs_[run.index].first : children_) - 1;
  std::uint32_t first = runs_[run.index].first;
  if (rows_[first].bytes == 0) {
    if (key.row.empty()) return first;
    ++first;
  }
  const SearchResult position = search(
      first, run_end(run.index), runs_[run.index].prefix, key.row,
      [this](std::uint32_t i) { return heads_[i]; }, [this](std::uint32_t i) { return row(i); });
  return position.found ? position.index : position.index - 1;
}

ChildBounds::List ChildBounds::list() const {
  List all;
  for (std::uint32_t r = 0; r < run_count(); ++r) {
    for (std::uint32_t i = runs_[r].first; i < run_end(r); ++i) all[i] = {partition(r), row(i)};
  }
  return all;
}

std::uint64_t ChildBounds::memory_bytes() const {
  return sizeof(ChildBounds) + text_.size() + runs_.size() * sizeof(KeyRun);
}

// ---- Changes ---------------------------------------------------------------

void ChildBounds::assign(const List& bounds, std::uint32_t children) {
  ENTITABLE_CHECK(children <= inner_children_max);
  std::string text;
  std::size_t bytes = 0;
  for (std::uint32_t i = 1; i < children; ++i)
    bytes += bounds[i].partition.size() + bounds[i].row.size();
  text.reserve(bytes);
  std::vector<KeyRun> runs;
  std::array<Row, inner_children_max> rows{};
  for (std::uint32_t i = 1; i < children; ++i) {
    const auto& [partition_key, row_key] = bounds[i];
    ENTITABLE_CHECK(partition_key.size() <= 0xFFFF && row_key.size() <= 0xFFFF);
    if (i == 1 || partition_key != bounds[i - 1].partition) {
      runs.push_back({0, static_cast<std::uint32_t>(text.size()),
                      static_cast<std::uint16_t>(partition_key.size()), 0, i});
      text.append(partition_key);
    }
    rows[i] = {static_cast<std::uint32_t>(text.size()), static_cast<std::uint32_t>(row_key.size())};
    text.append(row_key);
  }
  children_ = children;
  rows_ = rows;
  runs_ = std::move(runs);
  text_ = std::move(text);
  set_heads();
}

void ChildBounds::insert(std::uint32_t i, const KeyView& bound) {
  if (insert_into_run(i, bound)) return;
  List all = list();
  std::copy_backward(all.begin() + i, all.begin() + children_, all.begin() + children_ + 1);
  all[i] = bound;
  assign(all, children_ + 1);
}

// Handles the usual case: the bound follows another bound of its partition and shares the prefix of
// their run. In all other cases, changes nothing and returns false.
bool ChildBounds::insert_into_run(std::uint32_t i, const KeyView& bound) {
  if (i == 1) return false;
  const std::uint32_t run = run_containing(runs_.data(), run_count(), i - 1);
  const std::string_view neighbour = row(i - 1);
  const std::size_t prefix = runs_[run].prefix;
  if (neighbour.empty() || partition(run) != bound.partition ||
      shared_prefix(neighbour, bound.row, prefix) != prefix) {
    return false;
  }
  const auto at = static_cast<std::uint32_t>(text_.size());
  text_.append(bound.row);
  std::copy_backward(rows_.begin() + i, rows_.begin() + children_, rows_.begin() + children_ + 1);
  std::copy_backward(heads_.begin() + i, heads_.begin() + children_,
                     heads_.begin() + children_ + 1);
  rows_[i] = {at, static_cast<std::uint32_t>(bound.row.size())};
  heads_[i] = head_of(bound.row, prefix);
  for (std::uint32_t r = run + 1; r < run_count(); ++r) ++runs_[r].first;
  ++children_;
  return true;
}

void ChildBounds::erase(std::uint32_t i) {
  List all = list();
  std::copy(all.begin() + i + 1, all.begin() + children_, all.begin() + i);
  assign(all, children_ - 1);
}

void ChildBounds::set_heads() {
  for (std::uint32_t r = 0; r < run_count(); ++r) set_row_heads(r);
  partition_prefix_ = 0;
  if (runs_.empty()) return;
  partition_prefix_ = static_cast<std::uint32_t>(
      shared_prefix(partition(0), partition(run_count() - 1), partition(0).size()));
  for (std::uint32_t r = 0; r < run_count(); ++r) {
    runs_[r].head = head_of(partition(r), partition_prefix_);
  }
}

void ChildBounds::set_row_heads(std::uint32_t run) {
  std::uint32_t first = runs_[run].first;
  if (row(first).empty()) heads_[first++] = 0;
  const std::uint32_t end = run_end(run);
  if (first == end) return;
  const std::size_t prefix = shared_prefix(row(first), row(end - 1), row(first).size());
  runs_[run].prefix = static_cast<std::uint16_t>(prefix);
  for (std::uint32_t i = first; i < end; ++i) heads_[i] = head_of(row(i), prefix);
}

std::string ChildBounds::verify() const {
  for (std::uint32_t r = 0; r < run_count(); ++r) {
    const KeyRun& run = runs_[r];
    if (run.first != (r == 0 ? 1 : run_end(r - 1)) || run_end(r) <= run.first) {
      return "inner node: runs do not tile the bounds";
    }
    if (!has_prefix(partition(r), partition(0), partition_prefix_)) return "inner node: prefix";
    if (run.head != head_of(partition(r), partition_prefix_)) return "inner node: head";
    for (std::uint32_t i = run.first; i < run_end(r); ++i) {
      if (i > 1 && compare((*this)[i - 1], (*this)[i]) >= 0) {
        return "inner node: bounds do not ascend";
      }
      if (i == run.first && row(i).empty()) continue;
      if (!has_prefix(row(i), row(run_end(r) - 1), run.prefix)) return "inner node: row prefix";
      if (heads_[i] != head_of(row(i), run.prefix)) return "inner node: row head";
    }
  }
  if (runs_.empty() != (children_ <= 1)) return "inner node: bounds outside runs";
  return "";
}

}  // namespace entitable
