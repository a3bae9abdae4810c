// One table's rows: a reference-counted, copy-on-write tree in key order.
//
// A TableIndex is one version of the rows: a root pointer, O(1) to copy. Changing one copy does not
// change the other. A node that is referenced once is changed in place; any other node is cloned.
//
// Leaves own their packed rows. An unloaded leaf has no rows in memory, only its key range and the
// id of the checkpoint part that stores the rows. Changes to its rows are collected in its overlay
// (overlay.h). Inner nodes store how many rows and bytes are below them, so the rows of a key range
// are counted in O(log n).
//
// Invariants (verify() checks them):
//   1. The ranges of the leaves cover all keys; each range starts where the one before ends.
//   2. Keys ascend strictly from row to row, and lie in the range of their leaf.
//   3. All leaves are at the same depth. The totals of a node are the sums of everything below it.
//   4. A leaf of more than one row uses at most leaf_bytes_max bytes (leaf.h).
//
// Out of memory: put, erase, add_unloaded and load_part may throw std::bad_alloc. The version being
// changed can then only be destroyed; all other versions are unchanged. If try_put_in_place()
// throws, the version being changed is unchanged, too.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/refcounted.h"
#include "core/index/key_range.h"
#include "core/index/node.h"
#include "core/index/row.h"
#include "core/index/schema.h"

namespace entitable {

class InnerNode;
class Leaf;
class Overlay;
class TreeEdit;

struct RangeCount {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  // packed
  bool exact = true;        // false: a bound of the range lies inside an unloaded leaf, which is
                            // counted whole
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
  EntityKey lower;  // where the leaf's range starts; a row with this key may not exist
  PartId part;      // the part that stores these rows; 0 if the rows have changed since
  bool unloaded;
  bool has_overlay;  // the rows are those of the part with the changes of an overlay
  std::uint64_t rows;
  std::uint64_t bytes;
  // The number of leaves that the part was written from or loaded into; 0 if `part` is 0. The part
  // is clean (a checkpoint keeps it) if this number of leaves still has it and none has an overlay.
  // The range of a clean part ends where the range of the next leaf starts.
  std::uint32_t part_leaves;
};

// A part that may be unloaded: all its leaves are in memory, and only the changes in its overlay
// have been made to them.
struct ResidentPart {
  PartId part;
  std::uint64_t memory;  // bytes that unloading the part frees, estimated
  bool recently_used;    // a row was searched for or read since the last sweep_resident_parts()
};

// The leaves of a version that another version does not have.
struct UnsharedLeaves {
  std::uint64_t memory = 0;      // estimated, in bytes
  std::vector<PartId> parts;     // those of the leaves' parts that may be unloaded, sorted by id
  std::uint64_t unloadable = 0;  // how much of the memory unloading these parts would free
};

class TableIndex {
 public:
  TableIndex();  // empty, with a new schema

  // The result of a search.
  struct Found {
    std::optional<RowView> row;  // nothing if there is no such row, or if a part is needed
    PartId part_needed = 0;      // not 0: the caller must load this part and search again
    // find_for_update(): no change of the row can be made without the part, because its overlay is
    // full. Otherwise, a change that does not depend on the present row can be made.
    bool needs_part_for_any_change = false;
  };
  Found find(const KeyView& key) const;
  // Finds many keys. Faster than many calls of find(), because cache misses overlap. REQUIRES:
  // found.size() == keys.size().
  void find_many(std::span<const KeyView> keys, std::span<Found> found) const;
  // Finds a row without loading its part: if the part is not in memory, looks the row up in the
  // overlay of the part, and then in `base` if it has the part in memory. `base`: null, or the
  // version from which this one was made. Always finds a row that was changed since a checkpoint
  // stored it.
  Found find_in_memory(const KeyView& key, const TableIndex* base = nullptr) const;
  // Finds a row that the caller is about to change, or that was changed not long ago. Remembers the
  // path to the row, which speeds up the change and later searches for neighbouring keys, and marks
  // the row's part as used.
  // If the part of the row is not in memory, the row is looked up in the overlay of the part, and
  // then in `base` if it has the part in memory. If the overlay is full, the part is needed, even
  // if the overlay has the row. `base`: null, or the version from which this one was made.
  Found find_for_update(const KeyView& key, const TableIndex* base = nullptr) const;

  // Inserts the row, or replaces the row with the same key. REQUIRES: check_entity(entity).ok().
  void put(const Entity& entity);
  // Does the same. `key` and `properties` may refer to rows of this index. `shape_hint`: the result
  // of schema().shape_hint_of(properties), or 0. REQUIRES: check_entity() accepts the row. If
  // `same_shape_as_previous`, `properties` have the same names and types, in the same order, as in
  // the previous call of put(), and no version with the same schema was changed in between.
  void put(const KeyView& key, Ticks timestamp, std::span<const PropertyView> properties,
           bool same_shape_as_previous = false, ShapeHint shape_hint = 0);
  // A put() for the simplest case: no node above the row is shared with another version, and either
  // the row fits into its leaf, or the leaf can be split into two without splitting its parent. In
  // all other cases it returns false and changes nothing. REQUIRES: as for put().
  bool try_put_in_place(const KeyView& key, Ticks timestamp,
                        std::span<const PropertyView> properties, ShapeHint shape_hint = 0);
  // try_put_in_place() in steps, for a commit that puts a row into each of several indexes. All
  // indexes take a step before one takes the next. prepare_put() packs the row, and returns nothing
  // if the put is not that simple, or would split the leaf. reserve_memory() may throw
  // std::bad_alloc; views of the leaf's rows are invalid then. put_prepared() cannot fail.
  // REQUIRES: the index is not used otherwise meanwhile; `key` is the same in all steps.
  struct PreparedPut {
    TreePath path;  // to the row, or to where it will be
    bool run_found = false;
    bool found = false;
  };
  std::optional<PreparedPut> prepare_put(const KeyView& key, Ticks timestamp,
                                         std::span<const PropertyView> properties,
                                         ShapeHint shape_hint);
  void reserve_memory(const KeyView& key, const PreparedPut& prepared);
  void put_prepared(const KeyView& key, const PreparedPut& prepared);
  // Erases the row with this key. Returns whether the row existed. If its leaf is unloaded, this is
  // unknown, and erase() returns true.
  bool erase(const KeyView& key);

  RangeCount count_range(const KeyRange& range) const;
  std::uint64_t row_count() const { return root_->totals().rows; }
  std::uint64_t bytes() const { return root_->totals().bytes; }  // packed bytes of rows
  // Returns the estimated memory of the tree and the schema in bytes; unloaded leaves take almost
  // none.
  std::uint64_t memory_bytes() const;
  const Schema& schema() const { return *schema_; }
  // Separates the schema of this version from the schema of other versions: this version, and later
  // copies of it, add new names and shapes to a new schema on top of the present one. REQUIRES:
  // before another version with the present schema is changed, fork_schema() is called on it, too;
  // no leaf is unloaded.
  void fork_schema() { owns_schema_ = false; }

  // Checkpoints and recovery.

  // Adds unloaded leaves for `parts`, which must be in ascending order. REQUIRES: the rows and the
  // lower bounds of all leaves that the index holds are below these ranges; the bounds of the
  // ranges are those of LeafInfo (they contain no U+0000).
  void add_unloaded(std::span<const UnloadedPart> parts);
  void add_unloaded(const KeyRange& range, PartId part, std::uint64_t rows, std::uint64_t bytes);
  // Replaces the unloaded leaf of `part` with leaves that have `rows`, the rows of the part in key
  // order, and the changes of the leaf's overlay. REQUIRES: `part` is unloaded in this version.
  void load_part(PartId part, const std::vector<Entity>& rows);
  // Returns some key in the range of this part's unloaded leaf, or nothing if the part is not
  // unloaded. `range`: the part's range in the manifest (core/log/manifest_codec.h), which limits
  // the search.
  std::optional<EntityKey> any_key_in_unloaded_part(PartId part, const KeyRange& range = {}) const;
  // Returns the unloaded parts whose totals are not exact, in key order. While there are any,
  // rows(), bytes() and count_range() may be wrong.
  std::vector<PartId> parts_with_inexact_counts() const;
  // Returns the packed bytes of the rows that a checkpoint would write: all rows of parts that have
  // changed or have an overlay, and rows without a part.
  std::uint64_t bytes_to_checkpoint() const;
  // Returns the parts that may be unloaded, in key order. Resets ResidentPart::recently_used of all
  // parts to false.
  std::vector<ResidentPart> sweep_resident_parts() const;
  // Returns the memory that unloading all these parts would free.
  std::uint64_t unloadable_memory() const;
  // Returns the leaves that `other` does not have, whether or not further versions have them.
  // Visits every leaf of both, unless the trees are the same.
  UnsharedLeaves leaves_not_in(const TableIndex& other) const;
  // Returns the memory of all leaves that changes of this version, and of the versions from which
  // it was made, have replaced because other versions shared them.
  std::uint64_t replaced_bytes() const { return replaced_bytes_; }
  // Adds the parts of all leaves to `parts`, whether their rows are in memory or not.
  void add_parts_to(std::set<PartId>& parts) const;
  // Returns the parts that may be unloaded and that are not in memory in `other`, sorted by id.
  std::vector<PartId> resident_parts_unloaded_in(const TableIndex& other) const;
  // Unloads these parts. REQUIRES: sweep_resident_parts() would return them all; `parts` is sorted
  // by id.
  void unload_parts(const std::vector<PartId>& parts);
  // Returns the part that may be unloaded by unload_part_at(key), or 0 if there is none: the key's
  // part must be in memory without other changes than those of its overlay, in this version and,
  // unless it is not in memory there, in `published`; writes have not unloaded it often already;
  // its overlay is not full; and the key is not before or after all rows of the part. Rows that are
  // inserted there one after the other would soon fill the overlay.
  PartId part_to_unload_at(const KeyView& key, const TableIndex& published) const;
  // Unloads the part whose range includes `key`, so that changes of its rows are collected in its
  // overlay. Changes nothing if it throws std::bad_alloc. REQUIRES: part_to_unload_at(key, ...) is
  // not 0.
  void unload_part_at(const KeyView& key);
  // Copies the row with this key from `base` to the overlay of its unloaded part, so that a change
  // of the row keeps counts exact (Leaf::keep_in_overlay). REQUIRES: lacks_row(key, base).
  void keep_row(const KeyView& key, const TableIndex& base);
  // Returns whether the part of the row is unloaded, has no change of the row, and is in memory in
  // `base`, from which this version was made.
  bool lacks_row(const KeyView& key, const TableIndex& base) const;
  // Calls visit(const LeafInfo&) for all leaves, in key order.
  template <typename Visit>
  void for_each_leaf(Visit visit) const;
  // Sets the part of all leaves of `version` whose lower bounds lie in `range`. REQUIRES: `part`
  // was written from the rows of these leaves. Other versions share these leaf nodes, except where
  // they have changed rows since.
  static void set_part(const TableIndex& version, const KeyRange& range, PartId part);
  // Stores in these leaves that no part holds their rows.
  static void clear_part(const TableIndex& version, const KeyRange& range);
  // Refers to `parts` instead of `old`, whose rows in `range` were written to `parts` with the
  // changes of the overlay `written`. If `old` is unloaded, unloaded leaves of `parts` replace its
  // leaf, with an overlay of the changes made since. REQUIRES: the ranges of `parts` ascend and lie
  // in `range`. If `old` is unloaded: its overlay has a change of each row that `written` has a
  // change of, and the ranges of all parts but the first start inside the range of the leaf. Both
  // hold if this version was made from the one that was written, because only parts whose overlay
  // lies in the range of their leaves are unloaded.
  void replace_part(PartId old, const KeyRange& range, std::span<const UnloadedPart> parts,
                    const Overlay* written);
  // Stores in the leaves that are in memory that `old` no longer holds their rows. `range`: the key
  // range of `old`. Other versions share these leaf nodes, except where they differ.
  void forget_part(PartId old, const KeyRange& range) const;
  // Stores the same in the leaves of all parts of which a leaf has changed, or a new leaf lies
  // between two others.
  void forget_incomplete_parts() const;
  // Returns the overlay of an unloaded leaf; null if it has none. REQUIRES: `key` is in the range
  // of an unloaded leaf.
  const Overlay* unloaded_overlay(const EntityKey& key) const;

  // Checks all structural invariants; used by Store::verify() and by tests. Returns the first
  // violation, or an empty text.
  std::string verify() const;

 private:
  friend class BackwardCursor;
  friend class Cursor;
  friend class LeafIterator;
  friend class PartLoader;
  struct FoundSlot;
  const Leaf& find_leaf(const KeyView& key) const;
  Found to_found(const FoundSlot& target) const;
  Found find_unloaded(const Leaf& leaf, const KeyView& key, const TableIndex* base) const;
  bool find_on_last_path(const KeyView& key, FoundSlot& target) const;
  // Returns the packed row, which is valid until the next call.
  const std::string& packed(const KeyView& key, Ticks timestamp,
                            std::span<const PropertyView> properties, bool same_shape_as_previous,
                            ShapeHint shape_hint);

  Schema::Interned intern(std::span<const PropertyView> properties, ShapeHint shape_hint);
  // Must be called before the leaf of `edit` is changed or replaced.
  void count_replaced(const TreeEdit& edit);

  Ref<Node> root_;
  Ref<Schema> schema_;
  bool owns_schema_ = true;  // false: schema_ must not grow, see fork_schema()
  std::uint64_t replaced_bytes_ = 0;
  mutable TreePath last_path_;  // of the last put() or find_for_update(); a hint
};

// Iterates over the leaves of a version in key order. Keeps the version alive.
class LeafIterator {
 public:
  explicit LeafIterator(const TableIndex& index);
  // Starts at the first leaf whose range starts at `from` or above.
  LeafIterator(const TableIndex& index, const KeyView& from);
  // Returns an iterator at the leaf whose range includes `key`.
  static LeafIterator at(const TableIndex& index, const KeyView& key);

  bool done() const { return leaf_ == nullptr; }
  // REQUIRES for the functions below: !done(). previous() at the first leaf makes done() true.
  void next();
  void previous();
  KeyView lower() const;  // where the leaf's range starts
  LeafInfo leaf_info() const;
  const Leaf& leaf() const { return *leaf_; }
  Ref<Node> leaf_node() const;  // a counted reference to the leaf

 private:
  struct Step {
    const InnerNode* node;
    std::uint32_t child;
  };
  LeafIterator(Ref<Node> root, const KeyView& key);
  void descend(const Node* node);

  Ref<Node> root_;
  std::vector<Step> path_;
  const Leaf* leaf_ = nullptr;
};

// Loads a part row by row: call add() in ascending key order, then finish() once. Only finish()
// changes the index. A row is skipped if the overlay of the unloaded leaf has a change of the row,
// because that change is newer. REQUIRES: `part` is unloaded in `index`, which outlives the loader.
class PartLoader {
 public:
  PartLoader(TableIndex& index, PartId part);
  ~PartLoader();
  PartLoader(const PartLoader&) = delete;
  PartLoader& operator=(const PartLoader&) = delete;
  void add(const KeyView& key, Ticks timestamp, std::span<const PropertyView> properties);
  void finish();
  // Replaces the unloaded leaf of the part in another version, too. REQUIRES: finish() was called;
  // `part` is unloaded in `version`, with the same overlay.
  void install_in_other_version(TableIndex& version);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

template <typename Visit>
void TableIndex::for_each_leaf(Visit visit) const {
  for (LeafIterator walk(*this); !walk.done(); walk.next()) visit(walk.leaf_info());
}

}  // namespace entitable
