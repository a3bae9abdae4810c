#include "core/index/inner.h"

#include <algorithm>

#include "core/base/check.h"

namespace entitable {

Inner::Inner() : Node(false) {
  totals_.memory = own_memory();
}

Ref<Inner> Inner::build(std::span<const Child> children) {
  ENTITABLE_CHECK(!children.empty() && children.size() <= inner_children_max);
  Ref<Inner> inner = make_ref<Inner>();
  Bounds bounds;
  for (const Child& child : children) {
    bounds[inner->size_] = child.lower.view();
    inner->children_[inner->size_++] = child.node;
    inner->totals_ += child.node->totals();
  }
  const std::uint64_t memory_before = inner->own_memory();
  inner->set_bounds(bounds);
  inner->totals_.memory += inner->own_memory() - memory_before;
  return inner;
}

std::uint32_t Inner::find(const KeyView& key) const {
  const Position run = search_runs(runs_.data(), run_count(), partition_prefix_, key.partition,
                                   [this](std::uint32_t r) { return partition(r); });
  if (!run.found) return (run.index < run_count() ? runs_[run.index].first : size_) - 1;
  std::uint32_t first = runs_[run.index].first;
  if (rows_[first].bytes == 0) {
    if (key.row.empty()) return first;
    ++first;
  }
  const Position position = search(
      first, run_end(run.index), runs_[run.index].prefix, key.row,
      [this](std::uint32_t i) { return heads_[i]; }, [this](std::uint32_t i) { return row(i); });
  return position.found ? position.index : position.index - 1;
}

std::vector<Child> Inner::children() const {
  const Bounds all = bounds();
  std::vector<Child> list;
  list.reserve(size_ + 1);  // one more is to come, mostly
  for (std::uint32_t i = 0; i < size_; ++i) {
    list.push_back({EntityKey(all[i].partition, all[i].row), children_[i]});
  }
  return list;
}

// ---- Changes ---------------------------------------------------------------

void Inner::replace(std::uint32_t i, const Totals& before, std::span<const Child> nodes) {
  ENTITABLE_DCHECK(!nodes.empty() && size_ - 1 + nodes.size() <= inner_children_max);
  const std::uint64_t memory_before = own_memory();
  totals_ -= before;
  children_[i] = nodes[0].node;
  totals_ += nodes[0].node->totals();
  for (std::size_t n = 1; n < nodes.size(); ++n) {
    insert(i + static_cast<std::uint32_t>(n), nodes[n].lower.view(), nodes[n].node);
    totals_ += nodes[n].node->totals();
  }
  totals_.memory += own_memory() - memory_before;
}

void Inner::insert(std::uint32_t i, const KeyView& lower_bound, const Ref<Node>& node) {
  if (!insert_into_run(i, lower_bound)) {
    Bounds all = bounds();
    std::copy_backward(all.begin() + i, all.begin() + size_, all.begin() + size_ + 1);
    all[i] = lower_bound;
    ++size_;
    set_bounds(all);
  }
  std::move_backward(children_.begin() + i, children_.begin() + size_ - 1,
                     children_.begin() + size_);
  children_[i] = node;
}

// The usual case: a bound behind another one of its partition, with the prefix of their run. False:
// it is not, and nothing has changed.
bool Inner::insert_into_run(std::uint32_t i, const KeyView& lower_bound) {
  if (i == 1) return false;
  const std::uint32_t run = run_holding(runs_.data(), run_count(), i - 1);
  const std::string_view neighbour = row(i - 1);
  const std::size_t prefix = runs_[run].prefix;
  if (neighbour.empty() || partition(run) != lower_bound.partition ||
      shared_prefix(neighbour, lower_bound.row, prefix) != prefix) {
    return false;
  }
  const auto at = static_cast<std::uint32_t>(text_.size());
  text_.append(lower_bound.row);
  std::copy_backward(rows_.begin() + i, rows_.begin() + size_, rows_.begin() + size_ + 1);
  std::copy_backward(heads_.begin() + i, heads_.begin() + size_, heads_.begin() + size_ + 1);
  rows_[i] = {at, static_cast<std::uint32_t>(lower_bound.row.size())};
  heads_[i] = head_of(lower_bound.row, prefix);
  for (std::uint32_t r = run + 1; r < run_count(); ++r) ++runs_[r].first;
  ++size_;
  return true;
}

void Inner::join(std::uint32_t i, Ref<Node> joined) {
  ENTITABLE_DCHECK(i + 1 < size_);
  const std::uint64_t memory_before = own_memory();
  Bounds all = bounds();
  std::copy(all.begin() + i + 2, all.begin() + size_, all.begin() + i + 1);
  totals_ -= children_[i]->totals();
  totals_ -= children_[i + 1]->totals();
  totals_ += joined->totals();
  children_[i] = std::move(joined);
  std::move(children_.begin() + i + 2, children_.begin() + size_, children_.begin() + i + 1);
  children_[--size_] = nullptr;
  set_bounds(all);
  totals_.memory += own_memory() - memory_before;
}

Inner::Bounds Inner::bounds() const {
  Bounds all;
  for (std::uint32_t r = 0; r < run_count(); ++r) {
    for (std::uint32_t i = runs_[r].first; i < run_end(r); ++i) all[i] = {partition(r), row(i)};
  }
  return all;
}

// Takes the first size_ bounds, which may look into text_.
void Inner::set_bounds(const Bounds& bounds) {
  std::string text;
  std::size_t bytes = 0;
  for (std::uint32_t i = 1; i < size_; ++i)
    bytes += bounds[i].partition.size() + bounds[i].row.size();
  text.reserve(bytes);
  runs_.clear();
  for (std::uint32_t i = 1; i < size_; ++i) {
    const auto& [partition_key, row_key] = bounds[i];
    ENTITABLE_CHECK(partition_key.size() <= 0xFFFF && row_key.size() <= 0xFFFF);
    if (i == 1 || partition_key != bounds[i - 1].partition) {
      runs_.push_back({0, static_cast<std::uint32_t>(text.size()),
                       static_cast<std::uint16_t>(partition_key.size()), 0, i});
      text.append(partition_key);
    }
    rows_[i] = {static_cast<std::uint32_t>(text.size()),
                static_cast<std::uint32_t>(row_key.size())};
    text.append(row_key);
  }
  text_ = std::move(text);

  for (std::uint32_t r = 0; r < run_count(); ++r) set_row_heads(r);
  partition_prefix_ = 0;
  if (runs_.empty()) return;
  partition_prefix_ = static_cast<std::uint32_t>(
      shared_prefix(partition(0), partition(run_count() - 1), partition(0).size()));
  for (std::uint32_t r = 0; r < run_count(); ++r) {
    runs_[r].head = head_of(partition(r), partition_prefix_);
  }
}

void Inner::set_row_heads(std::uint32_t run) {
  std::uint32_t first = runs_[run].first;
  if (row(first).empty()) heads_[first++] = 0;
  const std::uint32_t end = run_end(run);
  if (first == end) return;
  const std::size_t prefix = shared_prefix(row(first), row(end - 1), row(first).size());
  runs_[run].prefix = static_cast<std::uint16_t>(prefix);
  for (std::uint32_t i = first; i < end; ++i) heads_[i] = head_of(row(i), prefix);
}

std::uint64_t Inner::own_memory() const {
  return sizeof(Inner) + text_.size() + runs_.size() * sizeof(KeyRun) + 48;
}

std::string Inner::verify() const {
  if (size_ == 0 || size_ > inner_children_max) return "inner node: number of children";
  Totals sum{0, 0, own_memory()};
  for (std::uint32_t i = 0; i < inner_children_max; ++i) {
    if (static_cast<bool>(children_[i]) != (i < size_)) return "inner node: children";
    if (i < size_) sum += children_[i]->totals();
  }
  for (std::uint32_t r = 0; r < run_count(); ++r) {
    const KeyRun& run = runs_[r];
    if (run.first != (r == 0 ? 1 : run_end(r - 1)) || run_end(r) <= run.first) {
      return "inner node: runs do not tile the bounds";
    }
    if (!has_prefix(partition(r), partition(0), partition_prefix_)) return "inner node: prefix";
    if (run.head != head_of(partition(r), partition_prefix_)) return "inner node: head";
    for (std::uint32_t i = run.first; i < run_end(r); ++i) {
      if (i > 1 && compare(lower(i - 1), lower(i)) >= 0) return "inner node: bounds do not rise";
      if (i == run.first && row(i).empty()) continue;
      if (!has_prefix(row(i), row(run_end(r) - 1), run.prefix)) return "inner node: row prefix";
      if (heads_[i] != head_of(row(i), run.prefix)) return "inner node: row head";
    }
  }
  if (runs_.empty() != (size_ == 1)) return "inner node: bounds outside runs";
  return sum == totals_ ? "" : "inner node: sums";
}

}  // namespace entitable
