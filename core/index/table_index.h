// One table's rows: a reference-counted, copy-on-write tree in key order.
//
// A TableIndex is one version: a root pointer, O(1) to copy. Changing one copy does not change the
// other; a node that is referenced once is changed in place. Leaves own their packed rows. Of an
// unloaded leaf, only the key range and the id of the checkpoint part with its rows are known.
// Changes to such a leaf are collected in its overlay (overlay.h) until the part is loaded. Inner
// nodes sum rows and bytes below them, so the rows of a key range are counted in O(log n). The
// count is exact unless the range has an unloaded leaf with an overlay.
//
// Invariants (verify() checks them):
//   1. The ranges of the leaves tile all keys: each starts where the one before ends.
//   2. Keys rise strictly from row to row, and lie in the range of their leaf.
//   3. All leaves are at the same depth; every node's sums are those of what is below it.
//   4. A leaf of more than one row takes at most leaf_bytes_max (leaf.h).
//
// Out of memory: put, erase, add_unloaded and load_part may throw std::bad_alloc. The copy being
// changed can then only be destroyed; all other copies are unchanged. put_in_place leaves its own
// copy unchanged, too.
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

// A part whose rows are not in memory.
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

// A part whose leaves are all in memory and unchanged apart from their overlay, so that the part
// may be unloaded.
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
  // Finds many keys, faster than one by one, because cache misses overlap. REQUIRES: found.size()
  // == keys.size().
  void find_many(std::span<const KeyView> keys, std::span<Found> found) const;
  // Finds a key that the caller is about to change. Remembers the path to the row, which speeds up
  // the change and the search for neighbouring keys.
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
  // Returns whether the row existed. In an unloaded leaf this is unknown, and erase() returns true.
  bool erase(const KeyView& key);

  RangeCount count(const KeyRange& range) const;
  std::uint64_t rows() const { return root_->totals().rows; }
  std::uint64_t bytes() const { return root_->totals().bytes; }  // packed bytes of rows
  // Returns the estimated memory of the tree and the schema in bytes; unloaded leaves take almost
  // none.
  std::uint64_t memory_bytes() const;
  const Schema& schema() const { return *schema_; }
  // Makes this version, and later copies of it, add new names and shapes to a schema of their own,
  // which other versions do not see. REQUIRES: fork_schema() is called on another version too
  // before that version is changed; no leaf is unloaded.
  void fork_schema() { owns_schema_ = false; }

  // Checkpoints and recovery.

  // In ascending order, on a fresh index or behind those added before. REQUIRES: bounds as LeafInfo
  // gives them (no U+0000 in them).
  void add_unloaded(std::span<const UnloadedPart> parts);
  void add_unloaded(const KeyRange& range, PartId part, std::uint64_t rows, std::uint64_t bytes);
  // Replaces an unloaded leaf by `rows`, the rows of its part in key order, and then applies the
  // overlay to them. REQUIRES: `part` is unloaded in this version.
  void load_part(PartId part, const std::vector<Entity>& rows);
  // Returns a key in the range of this part's unloaded leaf, or nothing if the part is not
  // unloaded. `range`: the part's range in the manifest.
  std::optional<EntityKey> find_unloaded(PartId part, const KeyRange& range = {}) const;
  // Unloaded parts with an overlay: those that must be loaded before a checkpoint of this version;
  // and those of them without which rows(), bytes() and count() are not exact. In key order.
  std::vector<PartId> parts_with_overlay() const;
  std::vector<PartId> parts_with_inexact_counts() const;
  // Packed bytes of the rows that a checkpoint would write: those of leaves that changed, or have
  // an overlay, and of the rest of their parts.
  std::uint64_t dirty_bytes() const;
  // Returns the parts that may be unloaded, in key order, and clears the used flag of every leaf.
  std::vector<ResidentPart> resident_parts() const;
  // Unloads these parts. REQUIRES: the parts are resident, and `parts` is in ascending order.
  void unload_parts(const std::vector<PartId>& parts);
  // All leaves in key order, visit(const LeafInfo&). Unchanged leaves remember the part that holds
  // them.
  template <typename Visit>
  void for_each_leaf(Visit visit) const;
  // After a part was written from the leaves whose lower keys lie in `range` of `version` (pinned
  // since): the leaves that are still those very nodes remember it.
  static void set_part(const TableIndex& version, const KeyRange& range, PartId part);

  // Checks all structural invariants, for tests and verify. Returns the first violation, or an
  // empty text.
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

// Loads an unloaded leaf row by row, without entities: call add() in ascending key order, then
// finish() once. The index changes in finish() only. A change in the leaf's overlay replaces the
// row with its key. REQUIRES: `part` is unloaded in `index`, which outlives the loader.
class PartLoader {
 public:
  PartLoader(TableIndex& index, PartId part);
  ~PartLoader();
  PartLoader(const PartLoader&) = delete;
  PartLoader& operator=(const PartLoader&) = delete;
  void add(const KeyView& key, Ticks timestamp, std::span<const PropertyView> properties);
  void finish();
  // Puts the loaded leaves into another version. REQUIRES: finish() was called; `part` is unloaded
  // in `version`, with the same overlay.
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
