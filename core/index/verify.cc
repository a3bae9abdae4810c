// Checks the invariants of the tree (table_index.h, leaf.h), for tests and the demo.
#include <optional>
#include <string>

#include "core/index/inner_node.h"
#include "core/index/key_search.h"
#include "core/index/leaf.h"
#include "core/index/table_index.h"

namespace entitable {

namespace {

// Checks a row against its shape: each text lies within the row, directly after the one before.
std::string verify_row(const char* base, const Schema& schema) {
  if (row_layout::shape_id(base) >= schema.shape_count()) return "row: unknown shape";
  const Shape& shape = schema.shape(row_layout::shape_id(base));
  const std::uint32_t end = row_layout::end(base);
  if (end < shape.fixed_bytes()) return "row: shorter than its columns";
  std::uint32_t text_end = end;
  std::uint32_t texts = shape.is_generic() ? 1 : 0;
  for (const Column& column : shape.columns()) {
    if (column.type == EdmType::string || column.type == EdmType::binary) ++texts;
  }
  for (std::uint32_t i = 0; i < texts; ++i) {
    const auto start = row_layout::load<std::uint32_t>(base + row_layout::columns_at + 4 * i);
    if (start > text_end || start < shape.fixed_bytes()) return "row: text out of place";
    text_end = start;
  }
  return text_end == shape.fixed_bytes() ? "" : "row: a gap before the texts";
}

struct NodeRange {
  KeyView lower;
  std::optional<KeyView> upper;
};

// Checks that the changes in an overlay lie in the range of its unloaded leaf. Not for loaded
// leaves: several of them may share an overlay.
std::string verify_overlay(const Overlay& overlay, const NodeRange& bounds) {
  if (overlay.changes().empty()) return "overlay: without changes";
  const KeyView first = overlay.changes().begin()->first.view();
  const KeyView last = overlay.changes().rbegin()->first.view();
  if (compare(first, bounds.lower) < 0) return "overlay: a change below its leaf";
  if (bounds.upper && compare(last, *bounds.upper) >= 0) return "overlay: a change above its leaf";
  return "";
}

// Checks a node and everything below it. Returns the first violation, or an empty text.
// `leaf_depth`: the depth of the first leaf found, 0 before a leaf is found. The recursion is as
// deep as the tree.
std::string verify_node(const Node& node, const NodeRange& bounds, const Schema& schema,
                        std::uint32_t depth, std::uint32_t& leaf_depth) {
  if (depth > tree_depth_max) return "tree: too deep";
  if (node.is_leaf()) {
    const auto& leaf = static_cast<const Leaf&>(node);
    if (leaf_depth == 0) leaf_depth = depth;
    if (leaf_depth != depth) return "tree: leaves at different depths";
    if (leaf.size() > 0) {
      if (compare(leaf.key(0), bounds.lower) < 0) return "tree: a row below its leaf";
      const KeyView last = leaf.key(leaf.size() - 1);
      if (bounds.upper && compare(last, *bounds.upper) >= 0) return "tree: a row above its leaf";
    }
    if (leaf.is_unloaded() && leaf.overlay()) {
      if (std::string fault = verify_overlay(*leaf.overlay(), bounds); !fault.empty()) return fault;
    }
    return leaf.verify(schema);
  }
  const auto& inner = static_cast<const InnerNode&>(node);
  std::string fault = inner.verify();
  for (std::uint32_t i = 0; i < inner.size() && fault.empty(); ++i) {
    NodeRange part = bounds;
    if (i > 0) part.lower = inner.lower(i);
    if (i + 1 < inner.size()) part.upper = inner.lower(i + 1);
    if (part.upper && compare(part.lower, *part.upper) >= 0) return "tree: an empty range";
    fault = verify_node(*inner.child(i), part, schema, depth + 1, leaf_depth);
  }
  return fault;
}

}  // namespace

std::string Leaf::verify(const Schema& schema) const {
  if (unloaded_) return part_ != 0 && capacity_ == 0 ? "" : "leaf: unloaded without a part";
  if (!has_exact_totals_ || (overlay_ && part_ == 0)) return "leaf: an overlay over no part";
  if ((part_ == 0) != (part_leaves_ == 0)) return "leaf: part and part_leaves disagree";
  if (static_cast<std::uint64_t>(directory_bytes()) + heap_ > capacity_) return "leaf: overflow";
  if (size_ > 1 && used_bytes() > leaf_bytes_max) return "leaf: too full";
  std::uint64_t live = 0;
  std::uint64_t texts = 0;
  Totals sum{0, 0, totals_.memory};
  for (std::uint32_t r = 0; r < runs_; ++r) {
    const KeyRun& run = run_table()[r];
    if (run.first != (r == 0 ? 0 : run_end(r - 1)) || run_end(r) <= run.first) {
      return "leaf: runs do not tile the rows";
    }
    if (!has_prefix(partition(r), partition(0), partition_prefix_)) return "leaf: prefix";
    if (run.head != head_of(partition(r), partition_prefix_)) return "leaf: head";
    if (r > 0 && compare_utf16(partition(r - 1), partition(r)) >= 0) return "leaf: partition order";
    texts += padded(partition(r));
    if (run.text + run.text_bytes > texts_) return "leaf: a partition key out of place";
    for (std::uint32_t i = run.first; i < run_end(r); ++i) {
      if (slots()[i].offset > heap_) return "leaf: a row outside the heap";
      const std::string_view key = row_key(i);
      if (!has_prefix(key, row_key(run.first), run.prefix)) return "leaf: row prefix";
      if (slots()[i].head != head_of(key, run.prefix)) return "leaf: row head";
      const bool ascends = i == run.first || compare_utf16(row_key(i - 1), key) < 0;
      if (!ascends) return "leaf: rows do not ascend";
      std::string fault = verify_row(row_base(i), schema);
      if (!fault.empty()) return fault;
      if (shape_ != many_shapes && row_layout::shape_id(row_base(i)) != shape_)
        return "leaf: shape";
      live += row_layout::packed_bytes(row_base(i));
      sum.bytes += row_layout::packed_bytes(row_base(i));
      ++sum.rows;
    }
  }
  if (sum.rows != size_ || (runs_ == 0) != (size_ == 0)) return "leaf: rows outside runs";
  if (live + garbage_ != heap_) return "leaf: garbage";
  if (texts != texts_) return "leaf: partition keys";
  return sum == totals_ ? "" : "leaf: sums";
}

std::string TableIndex::verify() const {
  std::uint32_t leaf_depth = 0;
  if (!root_->is_leaf() && static_cast<const InnerNode&>(*root_).size() < 2)
    return "tree: a lone root";
  return verify_node(*root_, {}, *schema_, 1, leaf_depth);
}

}  // namespace entitable
