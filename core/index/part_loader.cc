#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/index/inner_node.h"
#include "core/index/leaf.h"
#include "core/index/leaf_split.h"
#include "core/index/table_index.h"
#include "core/index/tree_edit.h"

namespace entitable {

// Merges the rows of a part with the changes of its overlay, in key order. Buffers packed rows
// until they fill a leaf, and collects the finished leaves until the part is complete.
struct PartLoader::State {
  State(TableIndex& into, PartId id) : index(into), part(id) {}

  struct BufferedRow {
    std::size_t partition_at;
    std::size_t partition_bytes;
    std::size_t row_at;  // offset of the row's base in texts
  };
  SourceRow source(const BufferedRow& row) const {
    return {std::string_view(texts).substr(row.partition_at, row.partition_bytes),
            texts.data() + row.row_at};
  }
  void begin(const KeyView& key);
  void add_changes_before(const KeyView& key);
  void add_change();
  void push(const KeyView& key, std::string_view packed);
  void flush();
  EntityKey key_in_range(const TableIndex& version) const;
  void install_in(TableIndex& version) const;

  TableIndex& index;
  const PartId part;
  std::string texts;
  std::vector<BufferedRow> buffered_rows;
  std::uint64_t buffered_bytes = 0;  // size of the leaf that the buffered rows will form
  EntityKey first;                   // key of the first row of the part
  std::vector<Child> leaves;
  bool has_begun = false;
  Ref<Overlay> overlay;
  Overlay::Changes::const_iterator change;  // the next change; valid if there is an overlay
};

// Finds the overlay of the part. `key`: the key of the first row, or any key in the range of the
// unloaded leaf.
void PartLoader::State::begin(const KeyView& key) {
  has_begun = true;
  const Leaf& leaf = index.find_leaf(key);
  ENTITABLE_CHECK(leaf.is_unloaded() && leaf.part() == part);
  overlay = leaf.overlay();
  if (overlay) change = overlay->changes().begin();
}

void PartLoader::State::add_changes_before(const KeyView& key) {
  while (overlay && change != overlay->changes().end() && compare(change->first.view(), key) < 0) {
    add_change();
  }
}

void PartLoader::State::add_change() {
  if (!change->second.empty()) push(change->first.view(), change->second);
  ++change;
}

// Builds a leaf from the buffered rows.
void PartLoader::State::flush() {
  std::vector<SourceRow> rows;
  rows.reserve(buffered_rows.size());
  for (const BufferedRow& row : buffered_rows) rows.push_back(source(row));
  EntityKey lower;
  if (!leaves.empty()) {
    const auto& before = static_cast<const Leaf&>(*leaves.back().node);
    lower = bound_between(before.key(before.size() - 1),
                          {rows[0].partition, row_layout::row_key(rows[0].base)});
  }
  leaves.push_back({std::move(lower), as_node(Leaf::build(rows))});
  texts.clear();
  buffered_rows.clear();
  buffered_bytes = 0;
}

PartLoader::PartLoader(TableIndex& index, PartId part)
    : state_(std::make_unique<State>(index, part)) {}

PartLoader::~PartLoader() = default;

void PartLoader::add(const KeyView& key, Ticks timestamp,
                     std::span<const PropertyView> properties) {
  State& state = *state_;
  if (!state.has_begun) state.begin(key);
  if (state.overlay) {
    const auto end = state.overlay->changes().end();
    state.add_changes_before(key);
    if (state.change != end && compare(state.change->first.view(), key) == 0) {
      return state.add_change();
    }
  }
  Schema& schema = *state.index.schema_;
  std::string& packed = schema.scratch().row;
  pack_row(schema.intern(properties), key.row, timestamp, properties, packed);
  state.push(key, packed);
}

// Buffers a packed row. REQUIRES: `key` is above the keys of all rows added before.
void PartLoader::State::push(const KeyView& key, std::string_view packed) {
  const bool is_first = buffered_rows.empty() && leaves.empty();
  if (is_first) first = EntityKey(key.partition, key.row);
  bool new_run = true;
  if (!buffered_rows.empty()) {
    const SourceRow last = source(buffered_rows.back());
    ENTITABLE_CHECK(compare({last.partition, row_layout::row_key(last.base)}, key) < 0);
    new_run = last.partition != key.partition;
  }
  std::uint64_t bytes = Leaf::buffer_bytes_for_row(static_cast<std::uint32_t>(packed.size()));
  if (new_run) bytes += Leaf::buffer_bytes_for_run(key.partition);
  if (!buffered_rows.empty() && buffered_bytes + bytes > leaf_bytes_filled) {
    flush();
    if (!new_run) bytes += Leaf::buffer_bytes_for_run(key.partition);
    new_run = true;
  }
  BufferedRow row{};
  if (new_run) {
    row.partition_at = texts.size();
    row.partition_bytes = key.partition.size();
    texts.append(key.partition);
  } else {
    row.partition_at = buffered_rows.back().partition_at;
    row.partition_bytes = buffered_rows.back().partition_bytes;
  }
  row.row_at = texts.size() + key.row.size();
  texts.append(packed);
  buffered_rows.push_back(row);
  buffered_bytes += bytes;
}

void PartLoader::finish() {
  State& state = *state_;
  if (!state.has_begun) state.begin(state.key_in_range(state.index).view());
  while (state.overlay && state.change != state.overlay->changes().end()) state.add_change();
  if (!state.buffered_rows.empty()) state.flush();
  if (state.leaves.empty()) state.leaves.push_back({EntityKey(), as_node(make_ref<Leaf>())});
  for (const Child& leaf : state.leaves) {
    static_cast<const Leaf&>(*leaf.node)
        .set_part(state.part, static_cast<std::uint32_t>(state.leaves.size()), state.overlay);
  }
  state.install_in(state.index);
}

void PartLoader::install_in_other_version(TableIndex& version) {
  ENTITABLE_CHECK(version.schema_.get() == state_->index.schema_.get());
  state_->install_in(version);
}

// Returns some key in the range of the part's unloaded leaf, for parts that have no rows.
EntityKey PartLoader::State::key_in_range(const TableIndex& version) const {
  std::optional<EntityKey> key = version.any_key_in_unloaded_part(part);
  ENTITABLE_CHECK(key.has_value());
  return std::move(*key);
}

// Replaces the unloaded leaf of the part by the loaded leaves.
void PartLoader::State::install_in(TableIndex& version) const {
  const auto& last = static_cast<const Leaf&>(*leaves.back().node);
  TreeEdit edit(version.root_);
  edit.descend(last.size() == 0 ? key_in_range(version).view() : first.view());
  ENTITABLE_CHECK(edit.leaf().is_unloaded() && edit.leaf().part() == part);
  const std::optional<KeyView> upper = edit.upper();
  ENTITABLE_CHECK(!upper || last.size() == 0 || compare(last.key(last.size() - 1), *upper) < 0);
  edit.replace_leaf(leaves);
}

void TableIndex::load_part(PartId part, const std::vector<Entity>& rows) {
  PartLoader loader(*this, part);
  std::vector<PropertyView> properties;
  for (const Entity& row : rows) {
    properties.clear();
    for (const Property& property : row.properties) {
      properties.push_back({property.name, property.value.view()});
    }
    loader.add(row.key.view(), row.timestamp, properties);
  }
  loader.finish();
}

}  // namespace entitable
