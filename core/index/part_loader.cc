#include <optional>

#include "core/base/check.h"
#include "core/index/inner.h"
#include "core/index/leaf.h"
#include "core/index/leaf_split.h"
#include "core/index/table_index.h"
#include "core/index/tree_edit.h"

namespace entitable {

// Rows wait, packed, until they fill a leaf; finished leaves wait until the part is whole.
struct PartLoader::State {
  State(TableIndex& into, PartId id) : index(into), part(id) {}

  struct Waiting {
    std::size_t partition_at;
    std::size_t partition_bytes;
    std::size_t row_at;  // of the row's base
  };
  RowSource source(const Waiting& row) const {
    return {std::string_view(texts).substr(row.partition_at, row.partition_bytes),
            texts.data() + row.row_at};
  }
  void flush();
  void put_into(TableIndex& version) const;

  TableIndex& index;
  const PartId part;
  std::string texts;
  std::vector<Waiting> waiting;
  std::uint64_t waiting_bytes = 0;  // in the leaf to be
  EntityKey first;                  // of all rows
  std::vector<Child> leaves;
};

// Makes a leaf of the waiting rows.
void PartLoader::State::flush() {
  std::vector<RowSource> rows;
  rows.reserve(waiting.size());
  for (const Waiting& row : waiting) rows.push_back(source(row));
  EntityKey lower;
  if (!leaves.empty()) {
    const auto& before = static_cast<const Leaf&>(*leaves.back().node);
    lower = bound_between(before.key(before.size() - 1),
                          {rows[0].partition, row_layout::key(rows[0].base)});
  }
  leaves.push_back({std::move(lower), as_node(Leaf::build(rows))});
  texts.clear();
  waiting.clear();
  waiting_bytes = 0;
}

PartLoader::PartLoader(TableIndex& index, PartId part)
    : state_(std::make_unique<State>(index, part)) {}

PartLoader::~PartLoader() = default;

void PartLoader::add(const KeyView& key, Ticks timestamp,
                     std::span<const PropertyView> properties) {
  State& state = *state_;
  Schema& schema = *state.index.schema_;
  std::string& packed = schema.scratch().row;
  pack_row(schema.intern(properties), key.row, timestamp, properties, packed);

  const bool first = state.waiting.empty() && state.leaves.empty();
  if (first) state.first = EntityKey(key.partition, key.row);
  bool new_run = true;
  if (!state.waiting.empty()) {
    const RowSource last = state.source(state.waiting.back());
    ENTITABLE_CHECK(compare({last.partition, row_layout::key(last.base)}, key) < 0);
    new_run = last.partition != key.partition;
  }
  std::uint64_t bytes = Leaf::cost(static_cast<std::uint32_t>(packed.size()));
  if (new_run) bytes += Leaf::run_cost(key.partition);
  if (!state.waiting.empty() && state.waiting_bytes + bytes > leaf_bytes_max) {
    state.flush();
    if (!new_run) bytes += Leaf::run_cost(key.partition);
    new_run = true;
  }
  State::Waiting row{};
  if (new_run) {
    row.partition_at = state.texts.size();
    row.partition_bytes = key.partition.size();
    state.texts.append(key.partition);
  } else {
    row.partition_at = state.waiting.back().partition_at;
    row.partition_bytes = state.waiting.back().partition_bytes;
  }
  row.row_at = state.texts.size() + key.row.size();
  state.texts.append(packed);
  state.waiting.push_back(row);
  state.waiting_bytes += bytes;
}

void PartLoader::finish() {
  State& state = *state_;
  if (!state.waiting.empty()) state.flush();
  if (state.leaves.empty()) state.leaves.push_back({EntityKey(), as_node(make_ref<Leaf>())});
  for (const Child& leaf : state.leaves) {
    static_cast<const Leaf&>(*leaf.node)
        .set_part(state.part, static_cast<std::uint32_t>(state.leaves.size()));
  }
  state.put_into(state.index);
}

void PartLoader::finish_in(TableIndex& version) {
  ENTITABLE_CHECK(version.schema_.get() == state_->index.schema_.get());
  state_->put_into(version);
}

// In the place of the absent leaf.
void PartLoader::State::put_into(TableIndex& version) const {
  const auto& last = static_cast<const Leaf&>(*leaves.back().node);
  EntityKey lower = first;
  if (last.size() == 0) {  // a part without rows: where it is, only its leaf knows
    LeafWalk walk(version);
    while (!walk.done() && !(walk.leaf().is_absent() && walk.leaf().part() == part)) walk.next();
    ENTITABLE_CHECK(!walk.done());
    lower = EntityKey(walk.lower().partition, walk.lower().row);
  }
  TreeEdit edit(version.root_);
  edit.descend(lower.view());
  ENTITABLE_CHECK(edit.leaf().is_absent() && edit.leaf().part() == part);
  const std::optional<KeyView> upper = edit.upper();
  ENTITABLE_CHECK(!upper || last.size() == 0 || compare(last.key(last.size() - 1), *upper) < 0);
  edit.replace(leaves);
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
