#include "core/index/leaf_split.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>

#include "core/base/check.h"
#include "core/index/key_search.h"

namespace entitable {

namespace {

std::string_view text_between(std::string_view below, std::string_view above) {
  std::size_t at = shared_prefix(below, above, above.size());
  // One more character is enough, unless `below` has a lone surrogate where `above` has a pair that
  // starts with the same surrogate.
  do {
    ENTITABLE_CHECK(at < above.size());
    next_code_point(above, at);
  } while (compare_utf16(below, above.substr(0, at)) >= 0);
  return above.substr(0, at);
}

KeyView key_of(const SourceRow& row) {
  return {row.partition, row_layout::row_key(row.base)};
}

std::uint64_t row_cost(const SourceRow& row) {
  return Leaf::buffer_bytes_for_row(row_layout::packed_bytes(row.base));
}

// Returns the position at which to split rows that do not fit into one leaf. Makes both sides as
// equal as possible, but prefers a cut between two partitions if neither side then gets more than
// three quarters. Rows are often appended to many partitions in turn; with such cuts, each
// partition gets leaves of its own.
std::size_t balanced_cut(std::span<const SourceRow> rows) {
  std::uint64_t total = 0;
  for (const SourceRow& row : rows) total += row_cost(row);
  struct Best {
    std::size_t cut = 1;
    std::uint64_t larger = std::numeric_limits<std::uint64_t>::max();
  };
  Best anywhere;
  Best between;
  std::uint64_t left = 0;
  for (std::size_t cut = 1; cut < rows.size(); ++cut) {
    left += row_cost(rows[cut - 1]);
    const std::uint64_t larger = std::max(left, total - left);
    if (larger < anywhere.larger) anywhere = {cut, larger};
    if (larger < between.larger && !same_text(rows[cut - 1].partition, rows[cut].partition)) {
      between = {cut, larger};
    }
  }
  return between.larger <= total / 4 * 3 ? between.cut : anywhere.cut;
}

// Returns the position of the first cut: after the new row if inserts ascend, before the new row if
// they descend, else in the middle.
std::size_t first_cut(std::span<const SourceRow> rows, const Leaf& leaf,
                      const Leaf::FindResult& position) {
  const std::size_t at = position.slot;
  if (!position.found && leaf.inserts_ascend(position)) {
    return Leaf::bytes_for(rows.first(at + 1)) <= leaf_bytes_max ? at + 1 : at;
  }
  if (!position.found && leaf.inserts_descend(position)) {
    return Leaf::bytes_for(rows.subspan(at)) <= leaf_bytes_max ? at : at + 1;
  }
  return balanced_cut(rows);
}

EntityKey lower_of(std::span<const SourceRow> rows, const SourceRow* before) {
  return before == nullptr ? EntityKey() : bound_between(key_of(*before), key_of(rows.front()));
}

// Builds the leaves: usually two, or three if a huge row lies between small rows. `waiting` is a
// stack of row ranges, the leftmost on top.
std::vector<Child> leaves_of(std::span<const SourceRow> rows, std::size_t cut, bool in_order) {
  std::vector<Child> leaves;
  leaves.reserve(3);
  std::vector<std::span<const SourceRow>> waiting = {rows.subspan(cut), rows.first(cut)};
  while (!waiting.empty()) {
    const std::span<const SourceRow> part = waiting.back();
    waiting.pop_back();
    const std::uint64_t bytes = Leaf::bytes_for(part);
    if (part.size() > 1 && bytes > leaf_bytes_max) {
      const std::size_t middle = balanced_cut(part);
      waiting.push_back(part.subspan(middle));
      waiting.push_back(part.first(middle));
      continue;
    }
    leaves.push_back({lower_of(part, part.data() == rows.data() ? nullptr : part.data() - 1),
                      as_node(in_order ? Leaf::build(part) : Leaf::build_with_slack(part, bytes))});
  }
  return leaves;
}

}  // namespace

EntityKey bound_between(const KeyView& below, const KeyView& above) {
  if (below.partition != above.partition) {
    return EntityKey(text_between(below.partition, above.partition), {});
  }
  return EntityKey(above.partition, text_between(below.row, above.row));
}

std::vector<Child> split_leaf(const Ref<Node>& leaf_node, const Leaf::FindResult& position,
                              const KeyView& key, std::string_view packed) {
  const auto& leaf = static_cast<const Leaf&>(*leaf_node);
  const SourceRow row{key.partition, packed.data() + key.row.size()};
  if (!position.found && position.slot == leaf.size()) {
    return {{EntityKey(), leaf_node},
            {bound_between(leaf.key(leaf.size() - 1), key), as_node(Leaf::build({&row, 1}))}};
  }
  if (!position.found && position.slot == 0) {
    return {{EntityKey(), as_node(Leaf::build({&row, 1}))},
            {bound_between(key, leaf.key(0)), leaf_node}};
  }

  std::vector<SourceRow> rows;
  rows.reserve(leaf.size() + 1);
  leaf.append_rows_to(rows);
  if (position.found) {
    rows[position.slot].base = row.base;
  } else {
    rows.insert(std::next(rows.begin(), static_cast<std::ptrdiff_t>(position.slot)), row);
  }

  const bool in_order =
      !position.found && (leaf.inserts_ascend(position) || leaf.inserts_descend(position));
  return leaves_of(rows, first_cut(rows, leaf, position), in_order);
}

}  // namespace entitable
