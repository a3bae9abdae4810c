#include "core/store/checkpoint.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/index/cursor.h"
#include "core/log/part_codec.h"

namespace entitable {
// Finds the stored parts of one table by id.
class Checkpoint::StoredParts {
 public:
  explicit StoredParts(const ManifestTable* table) {
    if (table == nullptr) return;
    for (const ManifestPart& part : table->parts) parts_.push_back(&part);
    std::sort(parts_.begin(), parts_.end(),
              [](const ManifestPart* a, const ManifestPart* b) { return a->id < b->id; });
  }
  const ManifestPart* find(PartId id) const {
    const auto at =
        std::lower_bound(parts_.begin(), parts_.end(), id,
                         [](const ManifestPart* part, PartId wanted) { return part->id < wanted; });
    return at == parts_.end() || (*at)->id != id ? nullptr : *at;
  }

 private:
  std::vector<const ManifestPart*> parts_;
};

Checkpoint::Checkpoint(const StoreVersion& version, const CallWindow& window,
                       const Manifest& previous, std::uint64_t first_live_sequence,
                       std::uint64_t epoch)
    : catalog_(version.catalog) {
  manifest_.epoch = epoch;
  manifest_.first_live_sequence = first_live_sequence;
  manifest_.last_commit = version.last_commit;
  manifest_.last_timestamp = version.clock.last_issued();
  manifest_.next_table = version.next_table;
  manifest_.next_part = previous.next_part;
  manifest_.service_properties = catalog_.service_properties();
  manifest_.options = previous.options;
  manifest_.calls = window.calls();
  auto listed = previous.tables.begin();  // both lists are in ascending order of id
  for (const Ref<Table>& table : catalog_.tables()) {
    while (listed != previous.tables.end() && listed->id < table->id()) ++listed;
    const bool found = listed != previous.tables.end() && listed->id == table->id();
    plan_table(*table, StoredParts(found ? &*listed : nullptr));
  }
  collect_obsolete(previous);
}

void Checkpoint::plan_table(const Table& table, const StoredParts& stored) {
  manifest_.tables.push_back({table.id(), table.name(), table.acl, {}});
  std::vector<LeafInfo> leaves;
  table.index.for_each_leaf([&](const LeafInfo& leaf) { leaves.push_back(leaf); });
  const auto unloaded = [](const LeafInfo& leaf) { return leaf.unloaded; };
  // An empty part that is unloaded stays in the manifest, because readers still need to load it.
  if (table.index.row_count() == 0 && std::none_of(leaves.begin(), leaves.end(), unloaded)) return;

  std::uint64_t open_bytes = 0;  // size so far of the new part being planned; 0: there is none
  std::size_t next = 0;
  while (next < leaves.size()) {
    const std::size_t clean = clean_run(leaves, next, stored);
    if (clean > 0) {
      open_bytes = 0;
      ManifestPart kept = *stored.find(leaves[next].part);
      kept.lower = leaves[next].lower;
      manifest_.tables.back().parts.push_back(std::move(kept));
      next += clean;
      continue;
    }
    if (open_bytes == 0 || open_bytes + leaves[next].bytes > part_bytes_target) {
      manifest_.tables.back().parts.push_back({leaves[next].lower, manifest_.next_part++, 0, 0, 0});
      jobs_.push_back({manifest_.tables.size() - 1, manifest_.tables.back().parts.size() - 1, {}});
      open_bytes = 0;
    }
    open_bytes += std::max<std::uint64_t>(1, leaves[next].bytes);
    ++next;
  }
}

// Returns the number of leaves of the clean part that starts at `first`; 0 if that leaf is dirty.
std::size_t Checkpoint::clean_run(const std::vector<LeafInfo>& leaves, std::size_t first,
                                  const StoredParts& stored) {
  const LeafInfo& leaf = leaves[first];
  if (stored.find(leaf.part) == nullptr) return 0;
  ENTITABLE_CHECK(!leaf.unloaded || !leaf.has_overlay);
  if (leaf.has_overlay) return 0;
  if (leaf.unloaded) return 1;
  std::size_t run = 0;
  while (first + run < leaves.size() && leaves[first + run].part == leaf.part) ++run;
  return run == leaf.part_leaves ? run : 0;
}

void Checkpoint::collect_obsolete(const Manifest& previous) {
  std::vector<PartId> kept;
  for (const ManifestTable& table : manifest_.tables) {
    for (const ManifestPart& part : table.parts) kept.push_back(part.id);
  }
  std::sort(kept.begin(), kept.end());
  for (const ManifestTable& table : previous.tables) {
    for (const ManifestPart& part : table.parts) {
      if (!std::binary_search(kept.begin(), kept.end(), part.id)) obsolete_.push_back(part.id);
    }
  }
}

std::optional<CheckpointPart> Checkpoint::next_part() {
  if (next_job_ == jobs_.size()) return std::nullopt;
  Job& job = jobs_[next_job_++];
  ManifestTable& table = manifest_.tables[job.table];
  ManifestPart& part = table.parts[job.position];
  job.range.lower = part.lower;
  if (job.position + 1 < table.parts.size()) job.range.upper = table.parts[job.position + 1].lower;

  const std::optional<KeyView> upper =
      job.range.upper.has_value() ? std::optional<KeyView>(job.range.upper->view()) : std::nullopt;
  PartWriter writer(part.id, table.id, job.range.lower.view(), upper);
  for (Cursor cursor(catalog_.find(table.id)->index, job.range); cursor.valid(); cursor.next()) {
    const RowView row = cursor.row();
    writer.begin_row(row.partition(), row.row_key(), row.timestamp());
    row.for_each_property(
        [&](std::string_view name, const ValueView& value) { writer.add_property(name, value); });
    writer.end_row();
    ++part.rows;
    part.bytes += row.packed_bytes();
  }
  CheckpointPart written{part.id, std::move(writer).finish()};
  part.checksum = part_checksum(written.bytes);
  return written;
}

void Checkpoint::mark_stored() {
  for (const Job& job : jobs_) {
    const ManifestTable& table = manifest_.tables[job.table];
    TableIndex::set_part(catalog_.find(table.id)->index, job.range, table.parts[job.position].id);
  }
}

}  // namespace entitable
