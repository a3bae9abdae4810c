// One table's rows: a reference-counted, copy-on-write tree in key order.
//
// A TableIndex is one version: a root pointer, O(1) to copy. Changing a copy leaves the other as it was; nodes held
// once are changed in place. Leaves own their packed rows; a leaf may be absent, when only its key range and the
// checkpoint part that holds its rows are known. Inner nodes sum rows and bytes below them, so that the rows of any
// key range are counted in O(log n).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/refcounted.h"
#include "core/index/key_range.h"
#include "core/index/row.h"
#include "core/index/shape.h"

namespace entitable {

// A checkpoint part (core/log). 0: none.
using PartId = std::uint64_t;

struct RangeCount {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;   // packed
  bool complete = true;      // false: an absent leaf reaches into the range and is counted whole
};

// A leaf seen from outside, for the checkpoint.
struct LeafSpan {
  EntityKey lower;           // first key of the leaf's range (the very first leaf: the empty key)
  PartId part;               // the part that holds exactly these rows, 0 if the leaf has changed since
  bool absent;
  std::uint64_t rows;
  std::uint64_t bytes;
};

class TableIndex {
 public:
  TableIndex();  // empty, with a schema of its own

  // The row, nothing, or the part to load first.
  struct Found {
    std::optional<RowView> row;
    PartId need_part = 0;
  };
  Found find(const KeyView& key) const;

  // Insert or replace by an after-image. REQUIRES: check_entity(entity).ok(); the leaf of the key is present.
  void put(const Entity& entity);
  // True if the row was there. REQUIRES: the leaf of the key is present.
  bool erase(const KeyView& key);

  RangeCount count(const KeyRange& range) const;
  std::uint64_t rows() const;
  std::uint64_t bytes() const;      // packed bytes of rows
  std::uint64_t memory_bytes() const;  // what the tree holds in memory, as good as it knows
  const Schema& schema() const;

  // Checkpoints and recovery.
  void add_absent(const KeyRange& range, PartId part, std::uint64_t rows, std::uint64_t bytes);  // in ascending order, on a fresh index
  // Fills an absent leaf with the rows of its part, in key order. REQUIRES: `part` is absent here.
  void load_part(PartId part, const std::vector<Entity>& rows);
  // All leaves in key order. Unchanged leaves remember the part that holds them.
  template <typename Visit>
  void for_each_leaf(Visit visit) const;
  // After a part was written from the leaves whose lower keys lie in `range` of `version` (pinned since): the leaves
  // that are still those very nodes remember it.
  static void set_part(const TableIndex& version, const KeyRange& range, PartId part);

  // All structural invariants (order, counts, sizes, absent spans); for tests and verify. Empty text: all well.
  std::string verify() const;
};

}  // namespace entitable
