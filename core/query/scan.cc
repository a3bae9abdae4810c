#include "core/query/scan.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/query/parts_ahead.h"

namespace entitable {
namespace {

// Adds the parts of unloaded leaves, in key order, for the leaves that start in the range. Stops
// after leaves that hold `rows` rows. Reduces `rows` by the rows of the leaves.
void add_unloaded(const TableIndex& index, const KeyRange& range, std::uint64_t& rows,
                  PartsAhead& parts) {
  for (LeafIterator walk(index, range.lower.view()); !walk.done() && !parts.full() && rows > 0;
       walk.next()) {
    if (range.upper.has_value() && compare(walk.lower(), range.upper->view()) >= 0) return;
    const LeafInfo leaf = walk.leaf_info();
    if (leaf.unloaded) parts.add(leaf.part);
    rows -= std::min(rows, leaf.rows);
  }
}

}  // namespace

Scan::Scan(const TableIndex& index, const Filter& filter, const Plan& plan,
           const std::optional<Continuation>& from)
    : index_(index), plan_(plan), from_(from), filters_(filter, plan.implied) {
  if (!from_.has_value()) return;
  const auto first =
      std::partition_point(plan_.ranges.begin(), plan_.ranges.end(), [this](const KeyRange& range) {
        return range.upper.has_value() && compare(range.upper->view(), from_->next.view()) <= 0;
      });
  range_ = static_cast<std::size_t>(first - plan_.ranges.begin());
}

// Prefetches what testing the rows of the next leaves will read first, if these rows have the same
// shape as the row tested last. Returns for how many leaves no further prefetch is needed, at least
// 1.
std::size_t Scan::prefetch_leaves(const Cursor& cursor) const {
  if (!plan_.residual) return std::numeric_limits<std::size_t>::max();
  if (bound_ == nullptr) return 1;
  std::array<const Leaf*, 8> buffer;
  const std::span<const Leaf*> leaves(buffer.data(), cursor.current_and_next_leaves(buffer));
  for (const Leaf* leaf : leaves) leaf->prefetch();
  for (const Leaf* leaf : leaves) {
    if (leaf->size() != 0 && leaf->shape() == shape_->id()) bound_->prefetch_columns(*leaf);
  }
  return leaves.size();
}

KeyRange Scan::current_range() const {
  KeyRange range = plan_.ranges[range_];
  if (from_.has_value() && compare(range.lower.view(), from_->next.view()) < 0) {
    range.lower = from_->next;
  }
  return range;
}

std::vector<PartId> Scan::parts_to_load(std::uint64_t rows) const {
  ENTITABLE_CHECK(part_needed_ != 0);
  PartsAhead parts(part_needed_);
  KeyRange range = plan_.ranges[range_];
  range.lower = stopped_at_;
  std::uint64_t wanted = plan_.residual ? index_.row_count() : rows;
  add_unloaded(index_, range, wanted, parts);
  for (std::size_t i = range_ + 1; i < plan_.ranges.size() && !parts.full() && wanted > 0; ++i) {
    const Cursor start(index_, plan_.ranges[i]);
    if (start.part_needed() != 0) parts.add(start.part_needed());
    add_unloaded(index_, plan_.ranges[i], wanted, parts);
  }
  return parts.release_ids();
}

}  // namespace entitable
