#include "core/index/table_index.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/check.h"
#include "core/index/inner_node.h"
#include "core/index/leaf.h"
#include "core/index/leaf_split.h"
#include "core/index/tree_edit.h"

namespace entitable {

TableIndex::TableIndex() : root_(new Leaf()), schema_(make_ref<Schema>()) {}

const Leaf& TableIndex::find_leaf(const KeyView& key) const {
  const Node* node = root_.get();
  while (!node->is_leaf()) {
    const InnerNode& inner = inner_of(node);
    node = inner.child(inner.find(key)).get();
  }
  return static_cast<const Leaf&>(*node);
}

// A position in a loaded leaf: where a key is or would be inserted.
struct TableIndex::FoundSlot {
  const Leaf* leaf;
  Leaf::FindResult position;
};

TableIndex::Found TableIndex::to_found(const FoundSlot& target) const {
  const auto& [leaf, position] = target;
  if (!position.found) return {};
  const char* const base = leaf->row_base(position.slot);
  return {RowView(base, schema_->shape(row_layout::shape_id(base)), leaf->partition(position.run)),
          0};
}

TableIndex::Found TableIndex::find(const KeyView& key) const {
  const Leaf& leaf = find_leaf(key);
  if (leaf.is_unloaded()) return {std::nullopt, leaf.part()};
  leaf.mark_used();
  return to_found({&leaf, leaf.find(key)});
}

void TableIndex::find_many(std::span<const KeyView> keys, std::span<Found> found) const {
  ENTITABLE_CHECK(keys.size() == found.size());
  struct Lookup {
    const Leaf* leaf;
    Leaf::HeadSearch head_search;
  };
  constexpr std::size_t together = 16;
  std::array<Lookup, together> lookups;
  for (; !keys.empty(); keys = keys.subspan(std::min(together, keys.size()))) {
    const std::size_t count = std::min(together, keys.size());
    for (std::size_t i = 0; i < count; ++i) {
      lookups[i].leaf = &find_leaf(keys[i]);
      lookups[i].leaf->prefetch();
    }
    for (std::size_t i = 0; i < count; ++i) lookups[i].leaf->prefetch_directory();
    for (std::size_t i = 0; i < count; ++i) {
      auto& [leaf, head_search] = lookups[i];
      if (leaf->is_unloaded()) continue;
      head_search = leaf->find_by_heads(keys[i]);
      leaf->prefetch_row(head_search, keys[i]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto& [leaf, head_search] = lookups[i];
      found[i] = leaf->is_unloaded() ? Found{std::nullopt, leaf->part()}
                                     : to_found({leaf, leaf->finish_find(head_search, keys[i])});
      if (!leaf->is_unloaded()) leaf->mark_used();
    }
    found = found.subspan(count);
  }
}

TableIndex::Found TableIndex::find_unloaded(const Leaf& leaf, const KeyView& key,
                                            const TableIndex* base) const {
  if (leaf.overlay()) {
    if (const auto* change = leaf.overlay()->find(key)) {
      if (change->second.empty()) return {};
      const char* const row = change->second.data() + key.row.size();
      return {
          RowView(row, schema_->shape(row_layout::shape_id(row)), change->first.view().partition),
          0};
    }
  }
  if (base != nullptr && lacks_row(key, *base)) {
    const Leaf& loaded = base->find_leaf(key);
    return base->to_found({&loaded, loaded.find(key)});
  }
  return {std::nullopt, leaf.part()};
}

TableIndex::Found TableIndex::find_in_memory(const KeyView& key, const TableIndex* base) const {
  const Leaf& leaf = find_leaf(key);
  if (leaf.is_unloaded()) return find_unloaded(leaf, key, base);
  return to_found({&leaf, leaf.find(key)});
}

TableIndex::Found TableIndex::find_for_update(const KeyView& key, const TableIndex* base) const {
  FoundSlot target{};
  if (!find_on_last_path(key, target)) {
    const Node* node = root_.get();
    for (std::uint32_t level = 0; !node->is_leaf(); ++level) {
      const InnerNode& inner = inner_of(node);
      const std::uint32_t child = inner.find(key);
      last_path_.children[level] = static_cast<std::uint8_t>(child);
      node = inner.child(child).get();
    }
    target.leaf = static_cast<const Leaf*>(node);
    target.leaf->prefetch();  // like the row below: changing a row reads all of both
    if (target.leaf->is_unloaded()) {
      const Ref<Overlay>& overlay = target.leaf->overlay();
      if (overlay && overlay->is_full()) return {std::nullopt, target.leaf->part(), true};
      return find_unloaded(*target.leaf, key, base);
    }
    target.leaf->prefetch_directory();
    const Leaf::HeadSearch head_search = target.leaf->find_by_heads(key);
    target.leaf->prefetch_row(head_search, key);
    target.position = target.leaf->finish_find(head_search, key);
  }
  last_path_.run = target.position.run;
  last_path_.slot = target.position.slot;
  target.leaf->mark_used();
  return to_found(target);
}

// Returns whether last_path_ leads to the position of the key, or to where the key would be
// inserted. If so, sets `target`. Compares the key with neighbouring rows of the leaf. At the end
// of the leaf, compares it with the lower bound of the next leaf, which is in a node above.
bool TableIndex::find_on_last_path(const KeyView& key, FoundSlot& target) const {
  const Node* node = root_.get();
  const InnerNode* next_in = nullptr;  // the node that has the lower bound of the next leaf
  std::uint32_t next = 0;
  bool is_first = true;
  for (std::uint32_t level = 0; !node->is_leaf(); ++level) {
    const InnerNode& inner = inner_of(node);
    const std::uint32_t child = last_path_.children[level];
    if (child >= inner.size()) return false;
    if (child + 1 < inner.size()) {
      next_in = &inner;
      next = child + 1;
    }
    is_first = is_first && child == 0;
    node = inner.child(child).get();
  }
  const auto& leaf = static_cast<const Leaf&>(*node);
  const std::optional<Leaf::FindResult> position =
      leaf.find_at_hint(key, last_path_.run, last_path_.slot);
  if (!position) return false;
  if (!position->found) {
    if (position->slot == 0 && !is_first) return false;
    const bool at_end = position->slot == leaf.size() && next_in != nullptr;
    if (at_end && compare(key, next_in->lower(next)) >= 0) return false;
  }
  ENTITABLE_DCHECK(&leaf == &find_leaf(key) && *position == leaf.find(key));
  target = {&leaf, *position};
  return true;
}

Schema::Interned TableIndex::intern(std::span<const PropertyView> properties,
                                    ShapeHint shape_hint) {
  if (!owns_schema_ && !schema_->interns_without_growth(properties)) {
    schema_ = make_ref<Schema>(schema_);
    owns_schema_ = true;
  }
  return schema_->intern(properties, shape_hint);
}

void TableIndex::put(const Entity& entity) {
  std::vector<PropertyView>& properties = schema_->scratch().properties;
  properties.clear();
  for (const Property& property : entity.properties) {
    properties.push_back({property.name, property.value.view()});
  }
  put(entity.key.view(), entity.timestamp, properties);
}

namespace {

// A packed row, and the position in a leaf where it is to be written.
struct RowWrite {
  const std::string& packed;
  std::uint32_t key_bytes;
  Leaf::FindResult position;
  std::uint32_t bytes_needed;  // bytes that the row takes in the leaf
  std::uint32_t bytes_freed;   // bytes of the row that it replaces, or 0
  bool fits;                   // the leaf does not have to be split

  RowWrite(const Leaf& leaf, const Leaf::FindResult& position_there, const KeyView& key,
           const std::string& packed_row)
      : packed(packed_row),
        key_bytes(static_cast<std::uint32_t>(key.row.size())),
        position(position_there),
        bytes_needed(Leaf::buffer_bytes_for_row(static_cast<std::uint32_t>(packed.size()))),
        bytes_freed(0) {
    ENTITABLE_CHECK(!leaf.is_unloaded());
    if (!position.run_found) bytes_needed += Leaf::buffer_bytes_for_run(key.partition);
    if (position.found)
      bytes_freed =
          Leaf::buffer_bytes_for_row(row_layout::packed_bytes(leaf.row_base(position.slot)));
    const std::uint32_t rows = leaf.size() + (position.found ? 0 : 1);
    const bool in_order =
        !position.found && position.slot == leaf.size() && leaf.inserts_ascend(position);
    const std::uint32_t most = in_order ? leaf_bytes_filled : leaf_bytes_max;
    fits = rows <= 1 || leaf.used_bytes() + bytes_needed - bytes_freed <= most;
  }

  // Writes the row into the leaf of `edit`. Sets `path` to the position after the row, because the
  // next row is often written there.
  void apply_to(TreeEdit& edit, std::string_view partition, TreePath& path) const {
    const Totals before = edit.leaf().totals();
    Leaf& leaf = edit.mutable_leaf(bytes_needed);
    if (position.found) {
      leaf.replace(position.slot, packed, key_bytes);
    } else {
      leaf.insert(position, partition, packed, key_bytes);
    }
    edit.record_path(path);
    path.run = position.run;
    path.slot = position.slot + 1;
    edit.rebalance_after_change(before);
  }
};

RowWrite write_of(const TableIndex::PreparedPut& prepared, const TreeEdit& edit, const KeyView& key,
                  const std::string& packed) {
  const auto& [path, run_found, found] = prepared;
  return {edit.leaf(), {path.run, path.slot, run_found, found}, key, packed};
}

}  // namespace

const std::string& TableIndex::packed(const KeyView& key, Ticks timestamp,
                                      std::span<const PropertyView> properties,
                                      bool same_shape_as_previous, ShapeHint shape_hint) {
  const Schema::Interned interned =
      same_shape_as_previous ? schema_->last_interned(properties) : intern(properties, shape_hint);
  std::string& packed = schema_->scratch().row;
  pack_row(interned, key.row, timestamp, properties, packed);
  return packed;
}

void TableIndex::count_replaced(const TreeEdit& edit) {
  if (!edit.leaf_node().unique()) replaced_bytes_ += edit.leaf().totals().memory;
}

void TableIndex::put(const KeyView& key, Ticks timestamp, std::span<const PropertyView> properties,
                     bool same_shape_as_previous, ShapeHint shape_hint) {
  const std::string& row = packed(key, timestamp, properties, same_shape_as_previous, shape_hint);
  FoundSlot target{};
  const bool on_last_path = find_on_last_path(key, target);
  TreeEdit edit(root_);
  on_last_path ? edit.descend(last_path_) : edit.descend(key);
  count_replaced(edit);
  if (edit.leaf().is_unloaded()) {
    const Totals before = edit.leaf().totals();
    edit.mutable_leaf(0).put_in_overlay(key, row);
    edit.rebalance_after_change(before);
    return;
  }
  const RowWrite row_write(edit.leaf(), on_last_path ? target.position : edit.leaf().find(key), key,
                           row);
  if (!row_write.fits) {
    edit.replace_leaf(split_leaf(edit.leaf_node(), row_write.position, key, row));
    return;
  }
  row_write.apply_to(edit, key.partition, last_path_);
}

// If memory runs out, nothing has changed: a leaf that does not shrink allocates memory before it
// changes anything. This function therefore refuses rows that would make the leaf smaller.
bool TableIndex::try_put_in_place(const KeyView& key, Ticks timestamp,
                                  std::span<const PropertyView> properties, ShapeHint shape_hint) {
  FoundSlot target{};
  const bool on_last_path = find_on_last_path(key, target);
  TreeEdit edit(root_);
  const bool alone =
      on_last_path ? edit.descend_if_unshared(last_path_) : edit.descend_if_unshared(key);
  if (!alone || edit.leaf().is_unloaded()) return false;
  const std::string& row = packed(key, timestamp, properties, false, shape_hint);
  const RowWrite row_write(edit.leaf(), on_last_path ? target.position : edit.leaf().find(key), key,
                           row);
  if (!row_write.fits) {
    return edit.parent_has_room() &&
           edit.replace_leaf_in_parent(split_leaf(edit.leaf_node(), row_write.position, key, row));
  }
  if (row_write.bytes_needed < row_write.bytes_freed) return false;
  row_write.apply_to(edit, key.partition, last_path_);
  return true;
}

std::optional<TableIndex::PreparedPut> TableIndex::prepare_put(
    const KeyView& key, Ticks timestamp, std::span<const PropertyView> properties,
    ShapeHint shape_hint) {
  FoundSlot target{};
  const bool on_last_path = find_on_last_path(key, target);
  TreeEdit edit(root_);
  const bool alone =
      on_last_path ? edit.descend_if_unshared(last_path_) : edit.descend_if_unshared(key);
  if (!alone || edit.leaf().is_unloaded()) return std::nullopt;
  const std::string& row = packed(key, timestamp, properties, false, shape_hint);
  const Leaf::FindResult position = on_last_path ? target.position : edit.leaf().find(key);
  const RowWrite row_write(edit.leaf(), position, key, row);
  if (!row_write.fits || row_write.bytes_needed < row_write.bytes_freed) return std::nullopt;
  PreparedPut prepared{{}, position.run_found, position.found};
  edit.record_path(prepared.path);
  prepared.path.run = position.run;
  prepared.path.slot = position.slot;
  return prepared;
}

// The leaf is not shared, so no node on the path is cloned here, or by put_prepared().
void TableIndex::reserve_memory(const KeyView& key, const PreparedPut& prepared) {
  TreeEdit edit(root_);
  edit.descend(prepared.path);
  const Totals before = edit.leaf().totals();
  edit.mutable_leaf(0).reserve(write_of(prepared, edit, key, schema_->scratch().row).bytes_needed);
  edit.rebalance_after_change(before);
}

void TableIndex::put_prepared(const KeyView& key, const PreparedPut& prepared) {
  TreeEdit edit(root_);
  edit.descend(prepared.path);
  write_of(prepared, edit, key, schema_->scratch().row).apply_to(edit, key.partition, last_path_);
}

bool TableIndex::erase(const KeyView& key) {
  const Found found = find(key);
  if (!found.row && found.part_needed == 0) return false;  // before any node is cloned
  TreeEdit edit(root_);
  edit.descend(key);
  count_replaced(edit);
  const Totals before = edit.leaf().totals();
  if (edit.leaf().is_unloaded()) {
    edit.mutable_leaf(0).erase_in_overlay(key);
  } else {
    const Leaf::FindResult position = edit.leaf().find(key);
    edit.mutable_leaf(0).erase(position);
  }
  edit.rebalance_after_change(before);
  return true;
}

namespace {

// The number of rows below a key, and their bytes. If the key lies inside an unloaded leaf, the
// rows of this `straddling_leaf` are not counted.
struct RowsBelow {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  const Leaf* straddling_leaf = nullptr;
};

RowsBelow count_below(const Node* node, const KeyView& key) {
  RowsBelow below;
  KeyView lower;
  while (!node->is_leaf()) {
    const InnerNode& inner = inner_of(node);
    const std::uint32_t child = inner.find(key);
    for (std::uint32_t i = 0; i < child; ++i) {
      below.rows += inner.child(i)->totals().rows;
      below.bytes += inner.child(i)->totals().bytes;
    }
    if (child > 0) lower = inner.lower(child);
    node = inner.child(child).get();
  }
  const auto& leaf = static_cast<const Leaf&>(*node);
  if (leaf.is_unloaded()) {
    if (compare(lower, key) < 0) below.straddling_leaf = &leaf;
    return below;
  }
  const std::uint32_t slot = leaf.find(key).slot;
  below.rows += slot;
  for (std::uint32_t i = 0; i < slot; ++i) {
    below.bytes += row_layout::packed_bytes(leaf.row_base(i));
  }
  return below;
}

}  // namespace

RangeCount TableIndex::count_range(const KeyRange& range) const {
  if (range.empty()) return {};
  RowsBelow end{row_count(), bytes(), nullptr};
  if (range.upper) end = count_below(root_.get(), range.upper->view());
  const RowsBelow start = count_below(root_.get(), range.lower.view());
  RangeCount count{end.rows - start.rows, end.bytes - start.bytes,
                   end.straddling_leaf == nullptr && start.straddling_leaf == nullptr};
  if (end.straddling_leaf !=
      nullptr) {  // `end` lacks its rows; those of a leaf at the start only are in `end`
    count.rows += end.straddling_leaf->totals().rows;
    count.bytes += end.straddling_leaf->totals().bytes;
  }
  return count;
}

std::uint64_t TableIndex::memory_bytes() const {
  return root_->totals().memory + schema_->memory_bytes();
}

// Uses one edit for all parts, because each edit rebuilds the bounds of the nodes that it changes.
void TableIndex::add_unloaded(std::span<const UnloadedPart> parts) {
  TreeEdit edit(root_);
  edit.descend_to_last();
  // There are no rows between the parts or after the last part, so empty leaves cover these ranges.
  std::vector<Child> leaves;
  leaves.reserve(parts.size() + 2);
  std::optional<EntityKey> end(std::in_place, edit.lower().partition, edit.lower().row);
  if (edit.leaf().is_unloaded() || edit.leaf().size() > 0) {  // its range now ends at these parts
    const std::uint32_t rows = edit.leaf().size();
    const KeyView last = rows > 0 ? edit.leaf().key(rows - 1) : end->view();
    ENTITABLE_CHECK(!parts.empty() && compare(last, parts.front().range.lower.view()) < 0);
    leaves.push_back({*end, edit.leaf_node()});
    end = parts.front().range.lower;
  }
  const auto add_empty = [&] { leaves.push_back({*end, as_node(make_ref<Leaf>())}); };
  for (const auto& [range, part, rows, bytes] : parts) {
    ENTITABLE_CHECK(part != 0 && !range.empty() && end.has_value());
    const int order = compare(end->view(), range.lower.view());
    ENTITABLE_CHECK(order <= 0);
    if (order < 0) add_empty();
    leaves.push_back({range.lower, as_node(Leaf::make_unloaded(part, rows, bytes))});
    end = range.upper;
  }
  if (end) add_empty();
  edit.replace_leaf(std::move(leaves));
}

void TableIndex::add_unloaded(const KeyRange& range, PartId part, std::uint64_t rows,
                              std::uint64_t bytes) {
  const UnloadedPart one{range, part, rows, bytes};
  add_unloaded(std::span(&one, 1));
}

void TableIndex::set_part(const TableIndex& version, const KeyRange& range, PartId part) {
  ENTITABLE_CHECK(part != 0);
  std::vector<const Leaf*> leaves;
  for (LeafIterator walk(version, range.lower.view()); !walk.done(); walk.next()) {
    if (range.upper && compare(walk.lower(), range.upper->view()) >= 0) break;
    leaves.push_back(&walk.leaf());
  }
  for (const Leaf* leaf : leaves) {
    ENTITABLE_CHECK(!leaf->is_unloaded());
    leaf->set_part(part, static_cast<std::uint32_t>(leaves.size()));
  }
}

void TableIndex::clear_part(const TableIndex& version, const KeyRange& range) {
  for (LeafIterator walk(version, range.lower.view()); !walk.done(); walk.next()) {
    if (range.upper && compare(walk.lower(), range.upper->view()) >= 0) break;
    ENTITABLE_CHECK(!walk.leaf().is_unloaded());
    walk.leaf().set_part(0, 0);
  }
}

// ---- LeafIterator --------------------------------------------------------------

LeafIterator::LeafIterator(const TableIndex& index) : root_(index.root_) {
  descend(root_.get());
}

LeafIterator::LeafIterator(Ref<Node> root, const KeyView& key) : root_(std::move(root)) {
  const Node* node = root_.get();
  while (!node->is_leaf()) {
    const InnerNode& inner = inner_of(node);
    path_.push_back({&inner, inner.find(key)});
    node = inner.child(path_.back().child).get();
  }
  leaf_ = static_cast<const Leaf*>(node);
}

LeafIterator::LeafIterator(const TableIndex& index, const KeyView& from)
    : LeafIterator(index.root_, from) {
  if (compare(lower(), from) < 0) next();
}

LeafIterator LeafIterator::at(const TableIndex& index, const KeyView& key) {
  return LeafIterator(index.root_, key);
}

// Moves to the first leaf below `node`.
void LeafIterator::descend(const Node* node) {
  while (!node->is_leaf()) {
    const InnerNode& inner = inner_of(node);
    path_.push_back({&inner, 0});
    node = inner.child(0).get();
  }
  leaf_ = static_cast<const Leaf*>(node);
}

void LeafIterator::next() {
  ENTITABLE_DCHECK(!done());
  leaf_ = nullptr;
  while (!path_.empty()) {
    Step& step = path_.back();
    if (++step.child < step.node->size()) return descend(step.node->child(step.child).get());
    path_.pop_back();
  }
}

void LeafIterator::previous() {
  ENTITABLE_DCHECK(!done());
  leaf_ = nullptr;
  while (!path_.empty() && path_.back().child == 0) path_.pop_back();
  if (path_.empty()) return;
  const Node* node = path_.back().node->child(--path_.back().child).get();
  while (!node->is_leaf()) {
    const InnerNode& inner = inner_of(node);
    path_.push_back({&inner, inner.size() - 1});
    node = inner.child(inner.size() - 1).get();
  }
  leaf_ = static_cast<const Leaf*>(node);
}

KeyView LeafIterator::lower() const {
  for (std::size_t level = path_.size(); level-- > 0;) {
    if (path_[level].child > 0) return path_[level].node->lower(path_[level].child);
  }
  return {};
}

Ref<Node> LeafIterator::leaf_node() const {
  return path_.empty() ? root_ : path_.back().node->child(path_.back().child);
}

LeafInfo LeafIterator::leaf_info() const {
  const KeyView low = lower();
  return {EntityKey(low.partition, low.row),
          leaf_->part(),
          leaf_->is_unloaded(),
          static_cast<bool>(leaf_->overlay()),
          leaf_->totals().rows,
          leaf_->totals().bytes,
          leaf_->part_leaves()};
}

}  // namespace entitable
