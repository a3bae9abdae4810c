// One table's rows: a reference-counted, copy-on-write tree in key order.
//
// A TableIndex is one version: a root pointer, O(1) to copy. Changing a copy leaves the other as it
// was; nodes held once are changed in place. Leaves own their packed rows; a leaf may be absent,
// when only its key range and the checkpoint part that holds its rows are known. What is put there
// or erased waits beside it in an overlay (overlay.h) until it is loaded. Inner nodes sum rows and
// bytes below them, so that the rows of any key range are counted in O(log n); exactly, unless
// overlays wait in it whose rows nobody has seen.
//
// Invariants (verify() checks them):
//   1. The ranges of the leaves tile all keys: each starts where the one before ends.
//   2. Keys rise strictly from row to row, and lie in the range of their leaf.
//   3. All leaves are at the same depth; every node's sums are those of what is below it.
//   4. A leaf of more than one row takes at most leaf_bytes_max (leaf.h).
//
// Out of memory: put, erase, add_unloaded and load_part may throw std::bad_alloc. The copy being
// changed is then good for nothing but to be dropped; all other copies are as before. Only
// put_in_place leaves its own copy as it was, too.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/refcounted.h"
#include "core/index/key_range.h"
#include "core/index/node.h"
#include "core/index/row.h"
#include "core/index/shape.h"

namespace entitable {

class InnerNode;
class Leaf;

struct RangeCount {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  // packed
  bool exact =
      true;  // false: an unloaded leaf lies across a bound of the range and is counted whole
};

// A part whose rows are somewhere else.
struct UnloadedPart {
  KeyRange range;
  PartId part;
  std::uint64_t rows;
  std::uint64_t bytes;  // packed
};

// A leaf seen from outside, for the checkpoint.
struct LeafInfo {
  EntityKey lower;  // where the leaf's range starts, maybe no row's key (the very first leaf: the
                    // empty key)
  PartId part;      // the part that holds exactly these rows, 0 if the leaf has changed since
  bool unloaded;
  bool has_overlay;  // the part holds them but for what an overlay says: it is not clean
  std::uint64_t rows;
  std::uint64_t bytes;
  // Leaves that shared the part when it was written or loaded; 0 if part is 0. A part is clean if
  // that many leaves still name it. A clean part's range ends where the leaf after its last one
  // starts.
  std::uint32_t part_leaves;
};

// A part whose leaves are all present and unchanged, but for their overlay: it may be dropped from
// memory and loaded again.
struct ResidentPart {
  PartId part;
  std::uint64_t memory;  // that dropping it gives back, about
  bool recently_used;    // lately: a row of it was looked for, or read by a cursor
};

class TableIndex {
 public:
  TableIndex();  // empty, with a schema of its own

  // The row, nothing, or the part to load first.
  struct Found {
    std::optional<RowView> row;
    PartId part_needed = 0;
  };
  Found find(const KeyView& key) const;
  // The same of many keys, which takes less: memory is waited for once for several. REQUIRES:
  // `found` is as long.
  void find_many(std::span<const KeyView> keys, std::span<Found> found) const;
  // The same for whoever is going to change this key and then maybe those next to it: that takes
  // less if it was looked for so before.
  Found find_for_update(const KeyView& key) const;

  // Insert or replace by an after-image. REQUIRES: check_entity(entity).ok().
  void put(const Entity& entity);
  // The same from parts that may look into this very index. REQUIRES: those that are
  // `same_shape_as_previous` have the names and types, in the same order, of the row that was put
  // last; no other version was changed since, which may have the same schema. `shape_hint`: what
  // schema().find_hint() said of them.
  void put(const KeyView& key, Ticks timestamp, std::span<const PropertyView> properties,
           bool same_shape_as_previous = false, ShapeHint shape_hint = 0);
  // The same where it is least work: nothing on the way to the row is shared with another version,
  // and its leaf has room for it, or the node above for one leaf more. False: something else is the
  // case, and nothing was done. REQUIRES: as put().
  bool put_in_place(const KeyView& key, Ticks timestamp, std::span<const PropertyView> properties,
                    ShapeHint shape_hint = 0);
  // False: the row was not there. Of an unloaded leaf that is not known: true.
  bool erase(const KeyView& key);

  RangeCount count(const KeyRange& range) const;
  std::uint64_t rows() const { return root_->totals().rows; }
  std::uint64_t bytes() const { return root_->totals().bytes; }  // packed bytes of rows
  // What the tree and the schema hold in memory, as good as it knows; unloaded leaves hold next to
  // nothing.
  std::uint64_t memory_bytes() const;
  const Schema& schema() const { return *schema_; }
  // From now on what is new to the schema goes into one of this version's own, that it shares with
  // those copied from it: other versions don't see it, and what is new to them is not seen here.
  // REQUIRES: the others, if they are changed, are told the same first; no leaf is absent.
  void fork_schema() { owns_schema_ = false; }

  // Checkpoints and recovery.

  // In ascending order, on a fresh index or behind those added before. REQUIRES: bounds as LeafInfo
  // gives them (no U+0000 in them).
  void add_unloaded(std::span<const UnloadedPart> parts);
  void add_unloaded(const KeyRange& range, PartId part, std::uint64_t rows, std::uint64_t bytes);
  // Fills an unloaded leaf with the rows of its part, given in key order, and what its overlay
  // makes of them. REQUIRES: `part` is absent here.
  void load_part(PartId part, const std::vector<Entity>& rows);
  // A key in the range of the unloaded leaf of this part, which a manifest lists in `range`;
  // nothing: the part is not absent.
  std::optional<EntityKey> find_unloaded(PartId part, const KeyRange& range = {}) const;
  // Unloaded parts with an overlay: those that must be loaded before a checkpoint of this version;
  // and those of them without which rows(), bytes() and count() are not exact. In key order.
  std::vector<PartId> parts_with_overlay() const;
  std::vector<PartId> parts_with_inexact_counts() const;
  // Packed bytes of the rows that a checkpoint would write: those of leaves that changed, or have
  // an overlay, and of the rest of their parts.
  std::uint64_t dirty_bytes() const;
  // Parts that may be dropped, in key order; forgets of each that it was used.
  std::vector<ResidentPart> resident_parts() const;
  // Makes these parts absent. REQUIRES: they are resident, and `parts` is in ascending order.
  void unload_parts(const std::vector<PartId>& parts);
  // All leaves in key order, visit(const LeafInfo&). Unchanged leaves remember the part that holds
  // them.
  template <typename Visit>
  void for_each_leaf(Visit visit) const;
  // After a part was written from the leaves whose lower keys lie in `range` of `version` (pinned
  // since): the leaves that are still those very nodes remember it.
  static void set_part(const TableIndex& version, const KeyRange& range, PartId part);

  // All structural invariants (order, counts, sizes, absent spans); for tests and verify. Empty
  // text: all well.
  std::string verify() const;

 private:
  friend class Cursor;
  friend class LeafIterator;
  friend class PartLoader;
  struct FoundSlot;
  const Leaf& find_leaf(const KeyView& key) const;
  Found to_found(const FoundSlot& target) const;
  bool find_on_last_path(const KeyView& key, FoundSlot& target) const;
  // Valid until the next one.
  const std::string& packed(const KeyView& key, Ticks timestamp,
                            std::span<const PropertyView> properties, bool same_shape_as_previous,
                            ShapeHint shape_hint);

  Schema::Interned intern(std::span<const PropertyView> properties, ShapeHint shape_hint);

  Ref<Node> root_;
  Ref<Schema> schema_;
  bool owns_schema_ = true;     // and may grow
  mutable TreePath last_path_;  // to where rows were changed, or looked for to be changed
};

// Steps through the leaves of a version, which it holds.
class LeafIterator {
 public:
  explicit LeafIterator(const TableIndex& index);
  // From the first leaf whose range starts at `from` or above.
  LeafIterator(const TableIndex& index, const KeyView& from);

  bool done() const { return leaf_ == nullptr; }
  void next();            // REQUIRES: !done(), as for the rest
  KeyView lower() const;  // where the leaf's range starts
  LeafInfo info() const;
  const Leaf& leaf() const { return *leaf_; }
  Ref<Node> node() const;  // the leaf, held

 private:
  struct Step {
    const InnerNode* node;
    std::uint32_t child;
  };
  void descend(const Node* node);

  Ref<Node> root_;
  std::vector<Step> path_;
  const Leaf* leaf_ = nullptr;
};

// Fills an unloaded leaf row by row, without entities: add() in ascending order, then finish()
// once. Until then the index is as before. What the leaf's overlay has for a key goes in its place.
// REQUIRES: `part` is absent in `index`, which outlives the loader.
class PartLoader {
 public:
  PartLoader(TableIndex& index, PartId part);
  ~PartLoader();
  PartLoader(const PartLoader&) = delete;
  PartLoader& operator=(const PartLoader&) = delete;
  void add(const KeyView& key, Ticks timestamp, std::span<const PropertyView> properties);
  void finish();
  // The same leaves into another version. REQUIRES: finish() was called; `part` is absent in it,
  // with the same overlay.
  void install_in(TableIndex& version);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

template <typename Visit>
void TableIndex::for_each_leaf(Visit visit) const {
  for (LeafIterator walk(*this); !walk.done(); walk.next()) visit(walk.info());
}

}  // namespace entitable
