#include "core/index/inner.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/index/key_search.h"

namespace entitable {

Inner::Inner() : Node(false) {
  totals_.memory = own_memory();
}

Ref<Inner> Inner::build(std::span<const Child> children) {
  ENTITABLE_CHECK(!children.empty() && children.size() <= inner_children_max);
  Ref<Inner> inner = make_ref<Inner>();
  std::size_t text_bytes = 0;
  for (const Child& child : children) {
    text_bytes += child.lower.partition.size() + child.lower.row.size();
  }
  inner->text_.reserve(text_bytes);
  for (const Child& child : children) {
    if (inner->size_ != 0) inner->bounds_[inner->size_] = inner->add_text(child.lower.view());
    inner->children_[inner->size_++] = child.node;
    inner->totals_ += child.node->totals();
  }
  inner->totals_.memory += inner->text_.size();
  inner->set_heads();
  return inner;
}

std::uint32_t Inner::find(const KeyView& key) const {
  const Position position = search<std::uint64_t>(
      1, size_, prefix_, key, [this](std::uint32_t i) { return heads_[i]; },
      [this](std::uint32_t i) { return lower(i); });
  return position.found ? position.index : position.index - 1;
}

std::vector<Child> Inner::children() const {
  std::vector<Child> all;
  all.reserve(size_ + 1);  // one more is to come, mostly
  for (std::uint32_t i = 0; i < size_; ++i) {
    all.push_back(
        {i == 0 ? EntityKey() : EntityKey(lower(i).partition, lower(i).row), children_[i]});
  }
  return all;
}

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
  const Bound bound = add_text(lower_bound);
  std::move_backward(children_.begin() + i, children_.begin() + size_,
                     children_.begin() + size_ + 1);
  std::copy_backward(bounds_.begin() + i, bounds_.begin() + size_, bounds_.begin() + size_ + 1);
  std::copy_backward(heads_.begin() + i, heads_.begin() + size_, heads_.begin() + size_ + 1);
  children_[i] = node;
  bounds_[i] = bound;
  ++size_;
  // Any other bound tells whether the shared prefix still holds.
  const KeyView other = lower(i == 1 && size_ > 2 ? 2 : 1);
  const std::size_t shared = size_ == 2 ? 0 : shared_prefix(other, lower(i), prefix_);
  if (size_ == 2 || shared != prefix_) {
    set_heads();
  } else {
    heads_[i] = head_of<std::uint64_t>(lower(i), prefix_);
  }
}

void Inner::join(std::uint32_t i, Ref<Node> joined) {
  ENTITABLE_DCHECK(i + 1 < size_);
  const std::uint64_t memory_before = own_memory();
  totals_ -= children_[i]->totals();
  totals_ -= children_[i + 1]->totals();
  totals_ += joined->totals();
  children_[i] = std::move(joined);
  garbage_ += bounds_[i + 1].partition_bytes + bounds_[i + 1].row_bytes;
  std::move(children_.begin() + i + 2, children_.begin() + size_, children_.begin() + i + 1);
  std::copy(bounds_.begin() + i + 2, bounds_.begin() + size_, bounds_.begin() + i + 1);
  std::copy(heads_.begin() + i + 2, heads_.begin() + size_, heads_.begin() + i + 1);
  children_[--size_] = nullptr;
  if (garbage_ > text_.size() / 2) compact_text();
  totals_.memory += own_memory() - memory_before;
}

Inner::Bound Inner::add_text(const KeyView& key) {
  ENTITABLE_CHECK(key.partition.size() <= 0xFFFF && key.row.size() <= 0xFFFF);
  const Bound bound{static_cast<std::uint32_t>(text_.size()),
                    static_cast<std::uint16_t>(key.partition.size()),
                    static_cast<std::uint16_t>(key.row.size())};
  text_.append(key.partition);
  text_.append(key.row);
  return bound;
}

void Inner::compact_text() {
  std::string old;
  old.reserve(text_.size() - garbage_);
  old.swap(text_);
  for (std::uint32_t i = 1; i < size_; ++i) {
    const char* const at = old.data() + bounds_[i].at;
    bounds_[i] = add_text({{at, bounds_[i].partition_bytes},
                           {at + bounds_[i].partition_bytes, bounds_[i].row_bytes}});
  }
  garbage_ = 0;
}

// The prefix that all bounds share is what the first and the last share.
void Inner::set_heads() {
  prefix_ = 0;
  if (size_ > 1) {
    prefix_ =
        static_cast<std::uint32_t>(shared_prefix(lower(1), lower(size_ - 1), std::string::npos));
  }
  for (std::uint32_t i = 1; i < size_; ++i) heads_[i] = head_of<std::uint64_t>(lower(i), prefix_);
}

std::uint64_t Inner::own_memory() const {
  return sizeof(Inner) + text_.size() + 32;
}

std::string Inner::verify() const {
  if (size_ == 0 || size_ > inner_children_max) return "inner node: number of children";
  Totals sum{0, 0, own_memory()};
  std::uint64_t text = garbage_;
  for (std::uint32_t i = 0; i < size_; ++i) {
    sum += children_[i]->totals();
    if (i == 0) continue;
    text += bounds_[i].partition_bytes + bounds_[i].row_bytes;
    if (i > 1 && compare(lower(i - 1), lower(i)) >= 0) return "inner node: bounds do not rise";
    if (!has_prefix(lower(i), lower(1), prefix_)) return "inner node: prefix";
    if (heads_[i] != head_of<std::uint64_t>(lower(i), prefix_)) return "inner node: head";
  }
  for (std::uint32_t i = size_; i < inner_children_max; ++i) {
    if (children_[i]) return "inner node: a child too many";
  }
  if (text != text_.size()) return "inner node: text";
  return sum == totals_ ? "" : "inner node: sums";
}

}  // namespace entitable
